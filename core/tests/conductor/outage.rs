//! A store that fails: who is told so and when, what is kept, and what is looked after once it answers again.

use taskyard_core::conductor::{Answer, Event, SubmitRefusal};
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Filter, Request, Settle, Status, StoreError};

use crate::shared::yard;
use crate::yard::{Yard, delayed, id, success, task};

const ASK: u64 = 10;

fn unavailable() -> StoreError {
    StoreError::Unavailable("locked".into())
}

fn unknown() -> StoreError {
    StoreError::Unknown("the connection broke".into())
}

/// A yard with one slot, whose store answers nothing by itself.
fn down() -> Yard {
    let mut yard = yard(1);
    yard.board_is_up = false;
    yard
}

fn fail_all(yard: &mut Yard, error: &StoreError) {
    for _ in 0..yard.asks.len() {
        yard.script(Err(error.clone()), Status::default());
    }
}

/// Every tenth of a second all that is asked fails.
fn fail_for(yard: &mut Yard, ms: u64, error: &StoreError) {
    for _ in 0..ms / 100 {
        fail_all(yard, error);
        yard.pass(100);
    }
}

fn refused(yard: &mut Yard) -> SubmitRefusal {
    match yard.answer(1) {
        Answer::Submitted(results) => results[0].clone().unwrap_err(),
        other => panic!("{other:?}"),
    }
}

/// B23
#[test]
fn a_submit_to_a_store_that_refuses_to_write_fails_at_once() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    let full = StoreError::Unwritable("disk full".into());
    yard.script(Err(full.clone()), Status::default());
    assert_eq!(refused(&mut yard), SubmitRefusal::Store(full));
    yard.board_is_up = true;
    yard.pass(60_000);
    assert_eq!(yard.live(), [0; 0], "it is not tried again");
}

/// B23
#[test]
fn a_submit_waits_ten_seconds_for_a_store_that_cannot_be_reached() {
    let mut yard = down();
    yard.submit_as([task(1), task(2)], false);
    fail_for(&mut yard, 9_900, &unavailable());
    assert!(yard.is_silent(1));
    fail_for(&mut yard, 100, &unavailable());
    assert_eq!(refused(&mut yard), SubmitRefusal::Store(unavailable()));
    yard.board_is_up = true;
    yard.submit([task(3)]);
    assert_eq!(yard.live(), [3], "what was reserved is free again");
}

/// It was told that nothing had been done, and could not know.
#[test]
fn a_submit_of_which_an_answer_was_lost_is_not_said_to_be_undone() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    yard.asks.clear();
    yard.pass(5_000);
    fail_for(&mut yard, 5_000, &unavailable());
    assert_eq!(refused(&mut yard), SubmitRefusal::Store(StoreError::Unknown("locked".into())));
}

#[test]
fn a_submit_before_the_registration_is_refused_in_time_too() {
    let mut yard = Yard::with(1, crate::shared::settings());
    yard.tell(Event::StoreDown(unavailable()));
    yard.submit_as([task(1)], false);
    yard.pass(9_999);
    assert!(yard.is_silent(1));
    yard.pass(1);
    assert_eq!(refused(&mut yard), SubmitRefusal::Store(unavailable()));
}

#[test]
fn questions_are_answered_with_the_error_after_ten_seconds() {
    let mut yard = down();
    yard.tell(Event::Query { request: Box::new(Request::Count), reply: ASK });
    yard.tell(Event::Watch { id: id(1), reply: ASK + 1 });
    yard.tell(Event::Query {
        request: Box::new(Request::Purge { filter: Filter::default(), up_to: 1 }),
        reply: ASK + 2,
    });
    let full = StoreError::Unwritable("disk full".into());
    let last = yard.asks.pop_back().unwrap();
    yard.asks.push_front(last);
    yard.script(Err(full), Status::default());
    assert!(matches!(yard.answer(ASK + 2), Answer::Board(answer) if answer.is_err()));
    fail_for(&mut yard, 9_900, &unavailable());
    assert!(yard.is_silent(ASK) && yard.is_silent(ASK + 1));
    fail_for(&mut yard, 100, &unavailable());
    for token in [ASK, ASK + 1] {
        assert!(
            matches!(yard.answer(token), Answer::Board(answer) if matches!(*answer, Err(StoreError::Unavailable(_))))
        );
    }
}

/// B17
#[test]
fn an_outage_loses_no_end_and_runs_nothing_twice() {
    let mut yard = yard(2);
    yard.submit([task(1), task(2)]);
    yard.board_is_up = false;
    yard.tell(Event::StoreDown(unavailable()));
    yard.end(1, success());
    fail_for(&mut yard, 60_000, &unavailable());
    assert!(yard.outcomes().is_empty());
    yard.asks.clear();
    yard.board_is_up = true;
    yard.tell(Event::StoreUp);
    assert_eq!(yard.outcomes(), [], "it is woken for that");
    yard.pass(0);
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into()))], "at once, not after the pause");
    yard.end(2, success());
    assert_eq!((yard.outcomes().len(), yard.conductor.stale_writes()), (1, 0));
}

/// Claims task 1 by a request whose answer is lost and which nobody repeats.
fn with_a_stray(error: &StoreError) -> Yard {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    yard.execute_one();
    yard.pass(5_000);
    fail_for(&mut yard, 5_000, error);
    assert!(matches!(refused(&mut yard), SubmitRefusal::Store(StoreError::Unknown(_))));
    fail_all(&mut yard, error);
    yard.asks.clear();
    yard
}

#[test]
fn what_a_lost_post_claimed_is_found_and_given_back() {
    let mut yard = with_a_stray(&unknown());
    assert!(yard.live().is_empty());
    yard.board_is_up = true;
    yard.tell(Event::StoreUp);
    yard.pass(5_000);
    assert_eq!(yard.live(), [1], "given back, and claimed as it should be");
    let dispatch = &yard.dispatches[&1];
    assert!(dispatch.epoch() == 2 && !dispatch.live.suspect, "it had not started");
}

/// It would have started early.
#[test]
fn what_is_given_back_keeps_its_due_time() {
    let mut yard = down();
    yard.submit_as([delayed(1, 1_900)], false);
    yard.execute_one();
    yard.asks.clear();
    yard.tell(Event::StoreDown(unknown()));
    (yard.now.mono, yard.now.wall) = (
        yard.now.mono + std::time::Duration::from_millis(10),
        yard.now.wall + std::time::Duration::from_millis(10),
    );
    assert!(yard.live().is_empty());
    let settle = held_and_listed(&mut yard);
    assert_eq!(settle, Settle::GiveBack { due: None, started: false, setback: false, renew: false });
}

/// The post is given up, and the yard looks for what it may have claimed. How that is settled.
fn held_and_listed(yard: &mut Yard) -> Settle {
    yard.pass(9_990);
    assert!(matches!(refused(yard), SubmitRefusal::Store(StoreError::Unknown(_))));
    yard.asks.retain(|ask| matches!(*ask.request, Request::Held));
    assert_eq!(yard.asked(), ["held"]);
    yard.answer_one();
    yard.asks.retain(|ask| matches!(*ask.request, Request::List { .. }));
    yard.answer_one();
    let settles = yard.asks.iter().find_map(|ask| match &*ask.request {
        Request::Settle(items) => Some(items[0].settle.clone()),
        _ => None,
    });
    settles.expect("it is given back")
}

/// It would have run here while the board has it free for others.
#[test]
fn what_is_on_its_way_back_does_not_begin_when_it_is_submitted_again() {
    let mut yard = with_a_stray(&unknown());
    yard.tell(Event::StoreUp);
    yard.pass(0);
    for asked in ["held", "list"] {
        yard.asks.retain(|ask| matches!(*ask.request, Request::Held | Request::List { .. }));
        assert_eq!(yard.asked(), [asked]);
        yard.answer_one();
    }
    let settle = yard.asks.iter().position(|ask| matches!(*ask.request, Request::Settle(_))).unwrap();
    let settle = yard.asks.remove(settle).unwrap();
    yard.submit_as([task(1)], false);
    while yard.answer_one() {}
    assert!(matches!(yard.answer(1), Answer::Submitted(results) if results[0].is_ok()));
    assert!(yard.live().is_empty());
    yard.asks.push_back(settle);
    while yard.answer_one() {}
    assert_eq!(yard.dispatches[&1].epoch(), 2);
    yard.board_is_up = true;
    yard.end(1, success());
    assert_eq!(yard.outcomes().len(), 1);
}

/// The answer is only late, or the claim is about to be repeated.
#[test]
fn what_an_answer_on_its_way_brings_is_not_given_back() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    yard.execute_one();
    yard.tell(Event::StoreDown(unknown()));
    yard.tell(Event::StoreUp);
    yard.pass(0);
    while yard.answer_one() {}
    assert!(yard.asked().is_empty() && yard.live().is_empty(), "it waits for the post");
    yard.pass(5_000);
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1]);
    assert_eq!(yard.dispatches[&1].epoch(), 1);
    yard.end(1, success());
    yard.board_is_up = true;
    yard.pass(1);
    while yard.answer_one() {}
    assert_eq!(yard.conductor.live(), 0);
}

/// Its answer came when nobody waited for it any more.
#[test]
fn what_a_late_answer_brings_is_given_back() {
    let mut yard = down();
    yard.submit_as([task(1)], false);
    let late = yard.asks[0].clone();
    fail_for(&mut yard, 10_000, &unavailable());
    assert!(matches!(refused(&mut yard), SubmitRefusal::Store(_)));
    yard.asks.clear();
    yard.asks.push_back(late);
    yard.board_is_up = true;
    while yard.answer_one() {}
    yard.pass(5_000);
    assert_eq!(yard.dispatches[&1].epoch(), 2);
}

#[test]
fn nothing_new_starts_while_more_than_ten_thousand_ends_are_not_recorded() {
    for (ends, may_start) in [(10_000, true), (10_001, false)] {
        let mut yard = yard(ends);
        yard.submit_many((1..=ends as u64 + 1).map(task));
        yard.board_is_up = false;
        yard.end_first(ends, &success());
        assert_eq!(yard.asked().contains(&"claim"), may_start);
        yard.board_is_up = true;
        while yard.answer_one() {}
        assert_eq!(yard.live(), [ends as u64 + 1]);
    }
}
