//! Another due time for what waits here.

use taskyard_core::store::{Answer, Request, RescheduleAnswer, RowState};
use taskyard_core::task::DueAt;

use crate::suite::rig::{A, NONE, Rig, done};
use crate::suite::task::{at, id, task};

/// D9
#[test]
fn a_parked_task_runs_at_its_new_time_and_not_at_the_old() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500), task(2).due_at(1_000)]);
    assert_eq!(rig.reschedule(2, 100), RescheduleAnswer::Done);
    assert_eq!(rig.said().status.next_due, Some(at(100)), "it is the first now");
    assert_eq!(rig.reschedule(1, 2_000), RescheduleAnswer::Done);
    rig.pass(100).promote();
    assert_eq!(rig.claim(A, 9), [2]);
    rig.pass(1_800).promote();
    assert_eq!(rig.claim(A, 9), NONE);
    rig.pass(100).promote();
    assert_eq!(rig.claim(A, 9), [1]);
}

#[test]
fn a_ready_task_is_parked_anew_and_a_parked_one_made_ready() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).due_at(500)]);
    rig.reschedule(1, 500);
    rig.reschedule(2, 0);
    assert_eq!(rig.states([1, 2]), [RowState::Parked, RowState::Ready]);
}

#[test]
fn a_time_that_was_said_is_taken_as_it_stands_and_one_that_has_passed_is_now() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.pass(100);
    for (n, ms, state, due) in [(1, 500, RowState::Parked, 500), (2, 50, RowState::Ready, 100)] {
        let request = Request::Reschedule { id: id(n), due: DueAt::Said(at(ms)) };
        assert!(matches!(rig.ask(request), Answer::Rescheduled(RescheduleAnswer::Done)));
        let view = rig.view(n).unwrap();
        assert_eq!((view.state, view.due), (state, Some(at(due))));
    }
}

#[test]
fn another_due_time_is_another_place_in_the_order() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.pass(10).reschedule(1, 0);
    assert_eq!(rig.claim(A, 2), [2, 1]);
}

#[test]
fn what_is_claimed_has_ended_or_is_unknown_is_left_alone() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 2);
    rig.settle(2, 1, done());
    let answers = [1, 2, 3].map(|n| rig.reschedule(n, 500));
    assert_eq!(answers, [RescheduleAnswer::Claimed, RescheduleAnswer::Ended, RescheduleAnswer::Absent]);
    assert_eq!(rig.states([1, 2]), [RowState::Claimed, RowState::Ended]);
}

#[test]
fn what_another_has_is_elsewhere() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.post([task(1)]);
    rig.claim(A, 1);
    assert_eq!(rig.as_owner(other).reschedule(1, 500), RescheduleAnswer::Elsewhere);
}
