//! Cancel, expiry and reschedule, wherever the task is.

use std::time::Duration;

use CancelAnswer::{Absent, Cancelled, Finished, Running};
use taskyard_core::conductor::{Answer, CancelAnswer, EmptyFilter, Event, RescheduleResult};
use taskyard_core::dispatch::{Cancel, Outcome, Reason};
use taskyard_core::store::Filter;
use taskyard_core::task::{Due, Task};

use crate::yard::{POOL, Yard, delayed, failure, only, success, task};

const ASK: u64 = 10;
const ASK_TOO: u64 = 11;

/// P28
#[test]
fn an_empty_filter_is_refused_and_cancels_nothing() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), task(2)]);
    yard.cancel(ASK, Filter::default());
    assert!(matches!(yard.answer(ASK), Answer::Cancelled(Err(EmptyFilter))));
    assert!(yard.cancels.is_empty() && yard.outcomes().is_empty());
}

/// D8
#[test]
fn the_answer_says_where_each_task_was() {
    let mut yard = Yard::new(2);
    yard.submit([task(1), task(2), task(3), delayed(4, 60_000)]);
    yard.end(2, success());
    yard.outcomes();
    yard.cancel(ASK, only(&[2, 4, 5]));
    assert_eq!(yard.cancelled(ASK), [(2, Finished), (4, Cancelled), (5, Absent)]);
    assert_eq!(yard.outcomes(), [(4, Outcome::Cancelled)]);
}

/// P1
#[test]
fn one_running_and_four_waiting_are_all_cancelled_by_name() {
    let mut yard = Yard::new(2);
    yard.submit([task(1), task(2), task(3), task(4), task(5)]);
    yard.cancel(ASK, Filter { task: Some("one".parse().unwrap()), ..Filter::default() });
    assert!(yard.is_silent(ASK), "two are still to be met");
    yard.meet_running();
    yard.meet_cancel();
    let answers = yard.cancelled(ASK);
    assert_eq!(answers, [(1, Running), (2, Cancelled), (3, Cancelled), (4, Cancelled), (5, Cancelled)]);
    yard.end(1, taskyard_core::dispatch::End::Cancelled);
    assert_eq!(yard.conductor.live(), 0);
    assert_eq!(yard.outcomes().len(), 5);
}

#[test]
fn a_told_task_may_succeed_but_is_never_tried_again() {
    let mut yard = Yard::new(2);
    yard.submit([task(1), task(2)]);
    yard.cancel(ASK, only(&[1, 2]));
    for cancel in std::mem::take(&mut yard.cancels) {
        yard.tell(Event::Told(cancel));
    }
    assert_eq!(yard.cancelled(ASK), [(1, Running), (2, Running)]);
    yard.end(1, success());
    yard.end(2, failure());
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into())), (2, Outcome::Cancelled)]);
}

#[test]
fn a_cancel_that_meets_nobody_is_repeated_while_the_dispatch_lives() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.cancel(ASK, only(&[1]));
    yard.tell(Event::Missed(yard.cancels[0].clone()));
    assert_eq!(yard.cancels.len(), 2);
    let late = yard.cancels.remove(0);
    yard.meet_cancel();
    yard.tell(Event::Missed(late));
    assert!(yard.cancels.is_empty());
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)]);
}

#[test]
fn a_cancel_while_the_end_is_being_recorded_is_answered_by_that_end() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    yard.cancel(ASK, only(&[1]));
    assert!(yard.is_silent(ASK) && yard.outcomes().is_empty(), "nothing is told before it is recorded");
    while yard.answer_one() {}
    assert_eq!(yard.cancelled(ASK), [(1, Finished)]);
    assert!(yard.cancels.is_empty());
}

#[test]
fn a_task_that_goes_back_while_a_cancel_looks_for_it_is_met_on_the_board() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.cancel(ASK, only(&[1]));
    yard.end(1, taskyard_core::dispatch::End::Snoozed(Duration::from_secs(9)));
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)], "what a user gave up does not go back");

    yard.submit([task(2)]);
    yard.board_is_up = false;
    yard.end(2, failure());
    yard.cancel(ASK_TOO, only(&[2]));
    while yard.answer_one() {}
    assert_eq!(yard.cancelled(ASK_TOO), [(2, Cancelled)]);
    assert_eq!(yard.outcomes(), [(1, Outcome::Cancelled), (2, Outcome::Cancelled)]);
}

/// The board looked while the task was in the yard, and the yard when it was back on the board: it went on to run.
#[test]
fn a_cancel_whose_answer_is_lost_finds_what_came_back_meanwhile() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.cancel(ASK, only(&[1]));
    assert!(yard.execute_one().is_some(), "and the answer is lost");
    yard.end(1, failure());
    while yard.answer_one() {}
    yard.board_is_up = true;
    yard.pass(6_000);
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)]);
    assert_eq!(yard.outcomes(), [(1, Outcome::Cancelled)]);
}

#[test]
fn what_a_claim_brings_while_a_cancel_is_under_way_is_cancelled_too() {
    let mut yard = Yard::new(0);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.tell(Event::Capacity { pool: POOL, slots: 1 });
    yard.cancel(ASK, only(&[1]));
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1]);
    yard.board_is_up = true;
    yard.meet_cancel();
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)]);
}

/// D13
#[test]
fn what_expires_in_the_yard_is_taken_out_unless_it_runs() {
    let mut yard = Yard::new(2);
    let expires = Some(Due::In(Duration::from_millis(500)));
    yard.submit([Task { expires, ..task(1) }, Task { expires, ..task(2) }]);
    yard.pass(499);
    assert!(yard.cancels.is_empty());
    yard.pass(1);
    assert!(yard.cancels.iter().all(|cancel| cancel.reason == Reason::Expired));
    yard.meet_cancel();
    yard.meet_running();
    yard.end(2, success());
    assert_eq!(yard.outcomes(), [(1, Outcome::Expired), (2, Outcome::Succeeded("null".into()))]);
}

/// D9
#[test]
fn a_task_in_the_yard_is_given_another_time_before_it_starts() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.reschedule(ASK, 1, 60_000);
    assert!(yard.is_silent(ASK));
    yard.meet_cancel();
    assert_eq!(yard.rescheduled(ASK), RescheduleResult::Done);
    assert!(yard.live().is_empty());
    yard.pass(59_000);
    assert_eq!(yard.live(), [1]);
}

#[test]
fn a_reschedule_says_where_the_task_is_when_it_is_too_late() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), delayed(2, 60_000)]);
    yard.reschedule(ASK, 1, 60_000);
    yard.meet_running();
    assert_eq!(yard.rescheduled(ASK), RescheduleResult::Running);
    yard.end(1, success());
    let results = [1, 2, 3].map(|n| {
        yard.reschedule(ASK, n, 70_000);
        yard.rescheduled(ASK)
    });
    assert_eq!(results, [RescheduleResult::Finished, RescheduleResult::Done, RescheduleResult::Absent]);
}

/// It was answered only when the task ended for good, which may be after days of back-off.
#[test]
fn a_reschedule_that_meets_a_failed_run_is_answered_at_once() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.reschedule(ASK, 1, 60_000);
    let late: Cancel = yard.cancels.remove(0);
    yard.end(1, failure());
    yard.tell(Event::Missed(late));
    assert_eq!(yard.rescheduled(ASK), RescheduleResult::Running);
}

#[test]
fn a_cancel_spares_what_is_submitted_after_it_and_ends() {
    let mut yard = Yard::new(100);
    yard.submit([task(1)]);
    yard.cancel(ASK, Filter { task: Some("one".parse().unwrap()), ..Filter::default() });
    yard.submit([task(2)]);
    yard.meet_cancel();
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)], "it waits for nothing that came later");
    assert!(yard.outcomes().iter().all(|(id, _)| *id != 2));
}
