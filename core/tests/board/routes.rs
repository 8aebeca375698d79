//! Who takes what: lanes that no pool takes, and names that are learned later.

use taskyard_core::board::Settings;
use taskyard_core::store::{Posted, Refusal, Request, RowState};

use crate::suite::rig::{A, B, LEASE, Rig, room};
use crate::suite::task::task;

fn strict() -> Rig {
    Rig::with(Settings { reject_unroutable: true, ..Settings::default() })
}

/// R4
#[test]
fn what_no_pool_takes_waits_and_lets_others_by() {
    let mut rig = Rig::new();
    rig.post_with(room(9, 9), [task(1).lane("c", "one"), task(2)]);
    assert_eq!(rig.states([1, 2]), [RowState::Ready, RowState::Claimed]);
    assert_eq!(rig.counts().unroutable, 1);
    assert!(rig.said().status.ready.is_empty(), "nobody is to ask for it");
}

/// R4
#[test]
fn what_no_pool_takes_is_refused_where_that_is_asked_for() {
    let mut rig = strict();
    let posted = rig.post([task(1).lane("c", "one"), task(2).lane("a.x", "three"), task(3)]);
    assert!(matches!(posted[0], Posted::Refused(Refusal::Unroutable)));
    assert!(matches!(posted[1], Posted::Refused(Refusal::Unroutable)), "its name is known to nobody");
    assert!(matches!(posted[2], Posted::Kept(_)));
    assert!(rig.view(1).is_none());
}

#[test]
fn what_another_live_owner_takes_is_not_refused() {
    let mut rig = strict();
    let (here, there) = (rig.owner(), rig.register_with(&["c.*", "d"]));
    let is_kept = |rig: &mut Rig, n, namespace| {
        matches!(rig.post([task(n).lane(namespace, "three")])[0], Posted::Kept(RowState::Ready))
    };
    assert!(is_kept(&mut rig, 1, "c.x"));
    assert!(!is_kept(&mut rig, 2, "c"));
    assert!(is_kept(&mut rig, 3, "d"));
    assert!(!is_kept(rig.as_owner(there), 4, "c.x"), "it is for its own pools, which do not know the name");
    rig.as_owner(here).pass_lease(LEASE / 2);
    rig.renew();
    rig.pass_lease(LEASE);
    assert!(!is_kept(&mut rig, 5, "c.x"), "its lease has ended");
    rig.as_owner(there).renew();
    assert!(is_kept(rig.as_owner(here), 6, "c.x"), "it is back");
    rig.as_owner(there).ask(Request::Release);
    assert!(!is_kept(rig.as_owner(here), 7, "c.x"), "it is gone");
    assert_eq!(rig.counts().unroutable, 3);
}

/// Which names go with them is known here.
#[test]
fn patterns_that_pools_here_have_as_well_do_not_count() {
    let mut rig = strict();
    rig.register();
    rig.register_with(&["a.#"]);
    assert!(matches!(rig.post([task(1).lane("a.x", "three")])[0], Posted::Refused(Refusal::Unroutable)));
    rig.register_with(&["a.x"]);
    assert!(matches!(rig.post([task(1).lane("a.x", "three")])[0], Posted::Kept(_)));
}

#[test]
fn what_a_fenced_owner_took_is_refused() {
    let mut rig = strict();
    let (here, there) = (rig.owner(), rig.register_with(&["c"]));
    rig.post([task(1)]);
    assert_eq!(rig.as_owner(there).claim(A, 1), [1]);
    rig.as_owner(here).pass_lease(2 * LEASE);
    rig.renew();
    rig.take_over(0);
    assert!(matches!(rig.post([task(2).lane("c", "one")])[0], Posted::Refused(Refusal::Unroutable)));
}

/// R13
#[test]
fn a_name_that_is_learned_later_lets_go_what_waited_for_it() {
    let mut rig = Rig::new();
    rig.post([
        task(1).lane("a.x", "three"),
        task(2).lane("b", "three"),
        task(3).lane("a.x", "three").due_at(500),
    ]);
    assert_eq!((rig.claim(A, 9), rig.claim(B, 9)), (vec![], vec![]));
    rig.learn(A, "three");
    assert!(rig.said().status.ready.contains(A));
    assert_eq!((rig.claim(A, 9), rig.preload(A, 2_000, 9)), (vec![1], vec![3]));
    rig.learn(B, "three");
    assert_eq!(rig.claim(B, 9), [2]);
}

/// R5
#[test]
fn a_lane_of_two_pools_is_taken_by_either() {
    let mut rig = Rig::new();
    let shared = |n| task(n).lane("a.shared", "one");
    rig.post([shared(1), shared(2), shared(3)]);
    assert_eq!((rig.claim(A, 1), rig.claim(B, 9)), (vec![1], vec![2, 3]));
}
