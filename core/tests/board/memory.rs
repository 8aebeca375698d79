//! What only the memory board promises: it remembers so many ended tasks without being asked to prune, and serves one owner
//! that never registers.

use taskyard_core::board::Settings;
use taskyard_core::store::{OwnerId, Request, RowState};

use crate::rig::{A, LEASE, Rig, done, trash};
use crate::task::task;

#[test]
fn so_many_ended_tasks_are_remembered() {
    let mut rig = Rig::with(Settings { remembered: 2, ..Settings::default() });
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 3);
    for n in 1..=3 {
        rig.settle(n, 1, done());
    }
    assert_eq!([1, 2, 3].map(|n| rig.outcome(n).is_some()), [false, true, true]);
}

#[test]
fn so_many_in_the_trash_are_remembered_beside() {
    let mut rig = Rig::with(Settings { remembered: 2, ..Settings::default() });
    rig.post([task(1), task(2), task(3), task(4)]);
    rig.claim(A, 4);
    for n in 1..=3 {
        rig.settle(n, 1, trash());
    }
    rig.settle(4, 1, done());
    assert_eq!([1, 2, 3, 4].map(|n| rig.outcome(n).is_some()), [false, true, true, true]);
    assert_eq!(rig.counts().trashed, 2);
}

/// A board that is not shared: nobody registers.
fn sole() -> Rig {
    let mut rig = Rig::new();
    rig.as_owner(OwnerId::SOLE);
    rig
}

#[test]
fn who_never_registered_works_alone() {
    let mut rig = sole();
    rig.post([task(1), task(2)]);
    assert_eq!(rig.claim(A, 2), [1, 2]);
    assert!(rig.settle(1, 1, done()));
    assert_eq!(rig.view(2).unwrap().owner, Some(OwnerId::SOLE));
    assert_eq!(rig.held(), [(2, 1)]);
}

#[test]
fn who_never_registered_is_never_fenced() {
    let mut rig = sole();
    rig.post([task(1)]);
    rig.claim(A, 1);
    let other = rig.register();
    rig.pass_lease(100 * LEASE).as_owner(other).ask(Request::TakeOver { up_to: 9 });
    rig.as_owner(OwnerId::SOLE);
    assert_eq!(rig.states([1]), [RowState::Claimed]);
    assert!(rig.settle(1, 1, done()));
}
