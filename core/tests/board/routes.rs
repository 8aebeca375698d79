//! Who takes what: lanes that no pool takes, and names that are learned later.

use taskyard_core::board::Settings;
use taskyard_core::store::{Posted, Refusal, RowState};

use crate::suite::rig::{A, B, Rig, room};
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
