//! What the Conductor does when the store fails, is late or loses something.

use std::time::Duration;

use taskyard_core::conductor::{Answer, Event, Settings};
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Filter, StoreError};

use crate::yard::{Yard, failure, success, task};

fn down() -> Yard {
    let mut yard = Yard::new(1);
    yard.board_is_up = false;
    yard
}

/// B17
#[test]
fn a_request_that_failed_is_repeated_under_its_number_after_a_growing_pause() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    let no = yard.asks[0].no;
    for pause in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
        yard.fail_one();
        yard.pass(pause - 1);
        assert!(yard.asks.is_empty(), "not before {pause} ms");
        yard.pass(1);
        assert_eq!(yard.asks.iter().map(|ask| ask.no).collect::<Vec<_>>(), [no]);
    }
    assert!(yard.outcomes().is_empty());
    while yard.answer_one() {}
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into()))]);
}

/// B17
#[test]
fn a_request_without_an_answer_is_repeated_after_five_seconds() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    assert!(yard.execute_one().is_some(), "and the answer is lost");
    yard.pass(4_999);
    assert!(yard.asks.is_empty());
    yard.pass(1);
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1], "what was claimed for the lost answer is adopted");
}

/// B17
#[test]
fn a_settlement_is_kept_until_it_is_recorded() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), task(2)]);
    yard.board_is_up = false;
    yard.end(1, success());
    yard.fail_one();
    assert_eq!(yard.conductor.live(), 1, "its end is not recorded");
    yard.pass(100);
    yard.board_is_up = true;
    while yard.answer_one() {}
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into()))]);
    assert_eq!(yard.live(), [2]);
}

#[test]
fn a_lost_answer_to_a_settlement_ends_the_task_once() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    yard.execute_one();
    yard.pass(5_000);
    while yard.answer_one() {}
    assert_eq!(yard.outcomes().len(), 1);
    assert_eq!((yard.conductor.live(), yard.conductor.stale_writes()), (0, 0));
}

#[test]
fn a_task_that_is_claimed_anew_was_settled_though_nobody_heard() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, failure());
    yard.execute_one();
    yard.board_is_up = true;
    yard.submit([task(2)]);
    yard.pass(10_000).end(2, success());
    assert_eq!(yard.live(), [1]);
    assert_eq!(yard.dispatches[&1].epoch(), 2);
    yard.pass(5_000).end(1, success());
    assert_eq!(yard.outcomes().len(), 2);
    assert_eq!(yard.conductor.live(), 0);
}

#[test]
fn the_second_of_two_answers_is_ignored() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    yard.pass(5_000);
    assert_eq!(yard.asks.len(), 2, "the first was only late");
    while yard.answer_one() {}
    assert!(!yard.is_silent(1));
    assert_eq!(yard.live(), [1]);
}

/// It ended on the board by the second of two questions, of whose answer nobody took notice.
#[test]
fn nobody_waits_for_ever_for_what_a_late_cancel_ended() {
    let mut yard = down();
    yard.cancel(9, Filter { all: true, ..Filter::default() });
    yard.submit_as([task(1), task(2)], false);
    yard.pass(5_000);
    assert_eq!(yard.asks.iter().map(|ask| ask.no).collect::<Vec<_>>(), [1, 2, 1, 2]);
    yard.board_is_up = true;
    while yard.answer_one() {}
    assert_eq!(yard.cancelled(9), [], "when it was asked there was nothing");
    for n in [1, 2] {
        yard.end(n, success());
    }
    assert_eq!(yard.outcomes().len(), 2);
}

/// Seen in the simulation: a submit that was given up had been carried out, and the same task was submitted again.
#[test]
fn what_was_claimed_for_a_submit_that_was_given_up_does_not_come_in_beyond_the_bound() {
    let patience = Duration::from_secs(1);
    let mut yard = Yard::with(9, Settings { live_max: 1, submit_patience: patience, ..Settings::default() });
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    yard.execute_one();
    yard.tell(Event::StoreDown(StoreError::Unavailable("the disk is on fire".into())));
    yard.pass(5_000);
    assert!(matches!(yard.answer(1), Answer::Submitted(results) if results[0].is_err()), "given up");
    yard.board_is_up = true;
    yard.asks.clear();
    yard.submit([task(2)]);
    assert_eq!(yard.live(), [2]);
    yard.submit([task(1)]);
    assert_eq!((yard.live(), yard.conductor.live()), (vec![2], 1));
    yard.end(2, success());
    yard.pass(5_000);
    assert_eq!(yard.live(), [1], "it was given back and claimed anew");
}
