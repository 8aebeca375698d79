//! What the board does not keep.

use taskyard_core::board::Settings;
use taskyard_core::store::{Posted, Refusal, RowState};

use crate::suite::rig::{A, Rig, done, room};
use crate::suite::task::task;

fn refusal(posted: &Posted) -> Option<Refusal> {
    match posted {
        Posted::Refused(refusal) => Some(*refusal),
        _ => None,
    }
}

fn small() -> Settings {
    Settings { board_max: 2, lanes_max: 2, ..Settings::default() }
}

#[test]
fn a_full_board_refuses_until_something_ends() {
    let mut rig = Rig::with(small());
    let posted = rig.post_with(room(1, 0), [task(1), task(2).due_at(900), task(3)]);
    assert_eq!(posted.iter().map(refusal).collect::<Vec<_>>(), [None, None, Some(Refusal::Full)]);
    assert!(rig.view(3).is_none());
    assert!(matches!(rig.post([task(1)])[0], Posted::Known(_)), "what is known is not refused");
    rig.settle(1, 1, done());
    assert_eq!(refusal(&rig.post([task(3)])[0]), None);
}

#[test]
fn callbacks_are_kept_on_a_full_board() {
    let mut rig = Rig::with(small());
    rig.post_with(room(1, 0), [task(1), task(2)]);
    let callbacks = vec![task(3).exempt(), task(4).exempt(), task(5).exempt().lane("b", "two")];
    rig.settle_posting(1, 1, done(), callbacks);
    assert_eq!(rig.states([3, 4, 5]), [RowState::Ready; 3]);
    assert_eq!(refusal(&rig.post([task(6)])[0]), Some(Refusal::Full));
}

#[test]
fn so_many_lanes_may_have_unfinished_tasks() {
    let mut rig = Rig::with(Settings { board_max: 100, ..small() });
    rig.post([task(1), task(2).lane("a.y", "one")]);
    let posted = rig.post([task(3).lane("a.z", "one"), task(4).lane("a.y", "one")]);
    assert_eq!(posted.iter().map(refusal).collect::<Vec<_>>(), [Some(Refusal::TooManyLanes), None]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    assert_eq!(refusal(&rig.post([task(3).lane("a.z", "one")])[0]), None, "a lane is free again");
}

/// Such a callback was lost once, without a word.
#[test]
fn callbacks_are_kept_in_however_many_lanes() {
    let mut rig = Rig::with(Settings { board_max: 100, lanes_max: 1, ..small() });
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.settle_posting(
        1,
        1,
        done(),
        vec![task(2).lane("a.y", "one").exempt(), task(3).lane("a.z", "one").exempt()],
    );
    assert_eq!(rig.states([2, 3]), [RowState::Ready; 2]);
}
