//! What the Router says of lanes.

use super::*;

const A: PoolId = PoolId(0);
const B: PoolId = PoolId(1);
const C: PoolId = PoolId(2);

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn name(text: &str) -> TaskName {
    text.parse().unwrap()
}

fn lane(namespace: &str) -> Lane {
    Lane { namespace: namespace.parse().unwrap(), name: name("run") }
}

/// A router whose pools all know `run`.
fn router(pools: &[(PoolId, &[&str])]) -> Router {
    let mut router = Router::default();
    for (pool, texts) in pools {
        router.bind(*pool, &patterns(texts), Some(&[name("run")]));
    }
    router
}

fn pools(expected: &[PoolId]) -> Route {
    Route::Pools(expected.into())
}

/// R3
#[test]
fn a_tail_takes_the_bare_prefix_and_a_star_does_not() {
    let router = router(&[(A, &["datashare.nlp.#"]), (B, &["datashare.nlp.*"])]);
    assert_eq!(router.route(&lane("datashare.nlp")), pools(&[A]));
    assert_eq!(router.route(&lane("datashare.nlpx")), Route::Unroutable);
    assert_eq!(router.route(&lane("datashare.nlp.java")), pools(&[B, A]));
}

#[test]
fn one_pattern_alone_matches_as_in_the_router() {
    let matches =
        |pattern: &str, namespace: &str| matches(&pattern.parse().unwrap(), &namespace.parse().unwrap());
    assert!(matches("datashare.#", "datashare") && matches("*.nlp", "datashare.nlp"));
    assert!(!matches("*", "datashare.nlp"));
}

#[test]
fn the_most_specific_pattern_comes_first_and_ties_go_by_pool() {
    let router = router(&[(C, &["a.*"]), (A, &["#", "a.b"]), (B, &["a.*"])]);
    assert_eq!(router.route(&lane("a.b")), pools(&[A, B, C]));
    assert_eq!(router.route(&lane("a.c")), pools(&[B, C, A]));
}

/// R10
#[test]
fn a_route_stays_until_its_last_binding_is_gone() {
    let mut router = router(&[(A, &["a.#"]), (A, &["a.#"])]);
    router.unbind(A, &patterns(&["a.#"]));
    assert_eq!(router.route(&lane("a.b")), pools(&[A]));
    router.unbind(A, &patterns(&["b.#"]));
    router.unbind(B, &patterns(&["a.#"]));
    assert_eq!(router.route(&lane("a.b")), pools(&[A]));
    router.unbind(A, &patterns(&["a.#"]));
    assert_eq!(router.route(&lane("a.b")), Route::Unroutable);
    assert!(router.patterns.is_empty() && router.pools.is_empty());
}

#[test]
fn a_pool_whose_names_are_not_known_makes_a_lane_unlearned() {
    let mut router = Router::default();
    router.bind(A, &patterns(&["a.#"]), None);
    assert_eq!(router.route(&lane("a")), Route::Unlearned);
    assert_eq!(router.route(&lane("b")), Route::Unroutable);
    router.bind(B, &patterns(&["#"]), Some(&[name("run")]));
    assert_eq!(router.route(&lane("a")), pools(&[B]), "a pool that is known to take it is enough");
    router.learn(A, &[name("other")]);
    assert_eq!(router.route(&lane("a")), pools(&[B]));
    router.learn(A, &[name("run")]);
    assert_eq!(router.route(&lane("a")), pools(&[A, B]));
    let other = Lane { name: name("other"), ..lane("a") };
    assert_eq!(router.route(&other), pools(&[A]), "names add up");
}

#[test]
fn a_pool_that_knows_no_name_takes_nothing() {
    let mut router = Router::default();
    router.bind(A, &patterns(&["#"]), Some(&[]));
    assert_eq!(router.route(&lane("a")), Route::Unroutable);
}

#[test]
fn nothing_is_kept_of_a_pool_without_bindings() {
    let mut router = Router::default();
    router.bind(A, &[], Some(&[name("run")]));
    router.learn(B, &[name("run")]);
    assert!(router.pools.is_empty());
}

/// R18
#[test]
fn a_task_without_a_namespace_is_routed_by_its_name() {
    let mut router = Router::default();
    let task = name("datashare.index.copy");
    router.bind(A, &patterns(&["datashare.index.#"]), Some(std::slice::from_ref(&task)));
    router.bind(B, &patterns(&["datashare.nlp.#"]), Some(std::slice::from_ref(&task)));
    let lane = Lane { namespace: Namespace::of_task(&task).unwrap(), name: task };
    assert_eq!(lane.namespace.as_str(), "datashare.index.copy");
    assert_eq!(router.route(&lane), pools(&[A]));
}
