//! The end of a yard.

use std::time::Duration;

use taskyard_core::conductor::{Answer, Effect, Event};
use taskyard_core::dispatch::{End, Return};
use taskyard_core::store::{Counts, StoreError};

use crate::yard::{POOL, Yard, delayed, success, task};

const ASK: u64 = 10;

fn left(answer: Answer) -> Vec<u64> {
    match answer {
        Answer::Drained { left, .. } => left.into_iter().map(|id| id.0 as u64).collect(),
        other => panic!("{other:?}"),
    }
}

fn counted(answer: Answer) -> Option<Counts> {
    match answer {
        Answer::Drained { counts, .. } => counts,
        other => panic!("{other:?}"),
    }
}

/// P18
#[test]
fn a_drain_ends_when_all_is_settled_and_lists_what_is_left() {
    let mut yard = Yard::new(3);
    yard.submit([task(1), task(2), delayed(3, 500), task(4), task(5), delayed(6, 60_000)]);
    assert_eq!(yard.live(), [1, 2, 3, 4]);
    yard.tell(Event::Drain { reply: ASK });
    yard.tell(Event::Drain { reply: ASK + 1 });
    assert!(matches!(yard.said[..], [Effect::Drain]), "one mark, whoever asks for it");
    yard.end(3, End::Returned(Return::Drain));
    yard.end(2, End::Returned(Return::Drain));
    yard.end(4, End::Returned(Return::Drain));
    yard.tell(Event::Drained(POOL));
    assert!(yard.is_silent(ASK), "one still runs");
    yard.end(1, success());
    assert_eq!(left(yard.answer(ASK)), [2, 3, 4, 5, 6], "in order of arrival");
    assert_eq!(left(yard.answer(ASK + 1)), [2, 3, 4, 5, 6]);
    yard.tell(Event::Drain { reply: ASK });
    assert_eq!(left(yard.answer(ASK)).len(), 5, "and again to whoever asks later");
    yard.tell(Event::Drain { reply: ASK });
    let counts = Counts { ready: 3, parked: 2, ..Counts::default() };
    assert_eq!(counted(yard.answer(ASK)), Some(counts));
}

/// D18
#[test]
fn nothing_starts_once_the_yard_drains() {
    let mut yard = Yard::new(2);
    yard.submit([delayed(1, 60_000), task(2)]);
    yard.tell(Event::Drain { reply: ASK });
    yard.end(2, End::Returned(Return::Drain));
    yard.pass(60_000);
    assert!(yard.live().is_empty());
    yard.tell(Event::Drained(POOL));
    assert_eq!(left(yard.answer(ASK)), [1, 2]);
}

#[test]
fn what_a_late_answer_brings_goes_back_at_once() {
    let mut yard = Yard::new(0);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.tell(Event::Capacity { pool: POOL, slots: 1 });
    yard.tell(Event::Drain { reply: ASK });
    yard.tell(Event::Drained(POOL));
    while yard.answer_one() {}
    assert!(yard.live().is_empty());
    assert_eq!(left(yard.answer(ASK)), [1]);
}

fn releases(yard: &Yard) -> usize {
    yard.said.iter().filter(|effect| matches!(effect, Effect::Release)).count()
}

/// B11
#[test]
fn on_a_shared_board_a_drain_ends_with_the_registration_and_leaves_the_rest_to_others() {
    let mut yard = crate::shared::yard(2);
    yard.submit([task(1), task(2), task(3), delayed(4, 60_000)]);
    yard.tell(Event::Drain { reply: ASK });
    yard.end(2, End::Returned(Return::Drain));
    yard.tell(Event::Drained(POOL));
    yard.board_is_up = false;
    yard.end(1, success());
    assert_eq!(releases(&yard), 0, "its end is not recorded");
    while yard.answer_one() {}
    assert_eq!((releases(&yard), yard.is_silent(ASK)), (1, true));
    yard.tell(Event::Released);
    let counts = Counts { ready: 2, parked: 1, ..Counts::default() };
    assert_eq!(counted(yard.answer(ASK)), Some(counts), "none is listed");
    yard.pulses();
    yard.pass(10_000);
    assert_eq!((releases(&yard), yard.pulses(), yard.asks.len()), (1, 0, 0));
    let other = yard.other();
    assert_eq!(yard.claim_all(other), [(2, 2), (3, 1)], "at once, not when a lease ends");
}

#[test]
fn a_registration_that_is_lost_while_it_is_counted_what_remains_holds_nothing_up() {
    let mut yard = crate::shared::yard(2);
    yard.submit([delayed(1, 60_000)]);
    yard.board_is_up = false;
    yard.tell(Event::Drain { reply: ASK });
    yard.tell(Event::Drained(POOL));
    assert_eq!(releases(&yard), 0, "the board is asked how many there are");
    yard.tell(Event::Disowned);
    assert_eq!(releases(&yard), 1);
    yard.tell(Event::Released);
    assert_eq!(counted(yard.answer(ASK)), None);
}

#[test]
fn a_yard_that_never_registered_drains_too() {
    let mut yard = Yard::with(2, crate::shared::settings());
    yard.submit_as([task(1)], false);
    yard.tell(Event::Learned { pool: POOL, names: Vec::new() });
    yard.tell(Event::Drain { reply: ASK });
    yard.tell(Event::Drained(POOL));
    assert_eq!(releases(&yard), 0, "somebody waits for an answer");
    yard.pass(10_000);
    assert!(!yard.is_silent(1), "the submit is refused");
    assert_eq!(releases(&yard), 1);
    yard.tell(Event::Released);
    assert_eq!(left(yard.answer(ASK)), [0; 0]);
}

/// Its file was deleted, or its disk stays full: nobody else need look at it for the lease to end.
#[test]
fn a_drain_waits_for_a_store_that_fails_as_long_as_a_submit_does() {
    let full = || Event::StoreDown(StoreError::Unwritable("disk full".into()));
    let mut yard = crate::shared::yard(2);
    yard.submit([task(1), delayed(2, 60_000)]);
    yard.board_is_up = false;
    yard.tell(full());
    yard.pass(60_000);
    yard.tell(Event::Drain { reply: ASK });
    yard.end(1, success());
    yard.pass(60_000);
    assert_eq!(releases(&yard), 0, "its pool is still there");
    yard.tell(Event::Drained(POOL));
    yard.pass(9_000);
    yard.tell(full());
    assert_eq!(releases(&yard), 0);
    yard.pass(1_000);
    assert_eq!(releases(&yard), 1);
    yard.tell(Event::Released);
    assert_eq!(counted(yard.answer(ASK)), None);
}

#[test]
fn a_drain_waits_for_a_store_that_is_slow_and_for_one_that_answers_again() {
    let mut yard = crate::shared::yard(2);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.tell(Event::Drain { reply: ASK });
    yard.end(1, success());
    yard.tell(Event::Drained(POOL));
    yard.pass(60_000);
    yard.tell(Event::StoreDown(StoreError::Unavailable("locked".into())));
    yard.pass(5_000);
    yard.tell(Event::StoreUp);
    yard.pass(60_000);
    assert_eq!(releases(&yard), 0);
    while yard.answer_one() {}
    assert_eq!(releases(&yard), 1);
}

/// B5, while it drains
#[test]
fn a_drain_does_not_wait_for_what_is_anothers() {
    let mut yard = crate::shared::yard(2);
    yard.submit([task(1), task(2)]);
    yard.board_is_up = false;
    yard.end(1, success());
    yard.tell(Event::Drain { reply: ASK });
    yard.lose_lease();
    yard.tell(Event::Drained(POOL));
    assert_eq!(releases(&yard), 0, "one still runs");
    yard.end(2, End::Cancelled);
    assert_eq!(releases(&yard), 1);
}

/// D18
#[test]
fn near_ones_are_parked_again_at_once_when_the_yard_drains() {
    let mut yard = crate::shared::yard(2);
    yard.submit([delayed(1, 1_000), delayed(2, 60_000)]);
    yard.tell(Event::Drain { reply: ASK });
    yard.end(1, End::Returned(Return::Drain));
    yard.tell(Event::Drained(POOL));
    assert_eq!(releases(&yard), 1);
    yard.pass(1_000);
    assert!(yard.live().is_empty(), "nothing that falls due during the drain starts");
    let other = yard.other();
    assert_eq!(yard.claim_all(other), []);
}

#[test]
fn a_second_signal_reaches_every_pool() {
    let mut yard = Yard::new(1);
    yard.tell(Event::Drain { reply: ASK });
    yard.tell(Event::Force);
    assert!(matches!(yard.said[..], [Effect::Drain, Effect::Force(POOL)]));
    assert!(yard.is_silent(ASK), "until the pool says that it is gone");
}

/// B11
#[test]
fn a_stop_drains_and_forces_what_outlasts_the_shortest_grace() {
    let mut yard = Yard::new(1);
    let stop = |grace, reply| Event::Stop { grace: Duration::from_secs(grace), reply };
    yard.tell(stop(5, ASK));
    yard.tell(stop(3, ASK + 1));
    assert!(matches!(yard.said[..], [Effect::Drain]), "one mark");
    yard.pass(2_999);
    assert!(matches!(yard.said[..], [Effect::Drain]), "the grace is not over");
    yard.pass(1);
    yard.pass(10_000);
    assert!(matches!(yard.said[..], [Effect::Drain, Effect::Force(POOL)]), "{:?}", yard.said);
    yard.tell(Event::Drained(POOL));
    assert!(left(yard.answer(ASK)).is_empty());
    assert!(left(yard.answer(ASK + 1)).is_empty());
}

/// B11
#[test]
fn a_stop_without_grace_forces_at_once() {
    let mut yard = Yard::new(1);
    yard.tell(Event::Stop { grace: Duration::ZERO, reply: ASK });
    assert!(matches!(yard.said[..], [Effect::Drain, Effect::Force(POOL)]), "{:?}", yard.said);
}
