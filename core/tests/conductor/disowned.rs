//! A yard that loses its registration.

use taskyard_core::conductor::{CancelAnswer, Event, RescheduleResult};
use taskyard_core::dispatch::{Cancel, End, Outcome, Reason, Return};
use taskyard_core::store::{Answer, Claimed, Settle, Settled, Status, StoreError};
use taskyard_core::task::DueAt;

use crate::shared::{settings, yard};
use crate::yard::{Yard, delayed, failure, only, success, task};

const ASK: u64 = 10;

fn cancels(yard: &mut Yard) -> Vec<(u64, Reason)> {
    let told = std::mem::take(&mut yard.cancels);
    told.iter().map(|cancel: &Cancel| (cancel.id().0 as u64, cancel.reason)).collect()
}

fn back() -> End {
    End::Returned(Return::Drain)
}

/// B5
#[test]
fn all_that_is_in_the_yard_is_stopped_and_none_of_it_is_settled() {
    let mut yard = yard(3);
    yard.submit([task(1), task(2), task(3), delayed(4, 60_000)]);
    yard.dispatches[&1].live.start(1, yard.now.mono);
    let other = yard.lose_lease();
    assert_eq!(cancels(&mut yard), [1, 2, 3].map(|n| (n, Reason::Disowned)));
    assert_eq!(yard.claim_all(other), [(1, 2), (2, 2), (3, 2)]);
    yard.end(1, success());
    yard.end(2, back());
    yard.end(3, End::Cancelled);
    assert!(yard.outcomes().is_empty());
    yard.register();
    assert_eq!((yard.conductor.live(), yard.asks.len()), (0, 0));
    yard.settle_elsewhere(other, 1, 2, Settle::Done(Outcome::Succeeded("2".into())));
    yard.pass(1_000);
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("2".into()))], "the other's result stands");
}

/// B5
#[test]
fn what_was_not_recorded_in_time_is_dropped_and_counted_as_stale() {
    let mut yard = yard(2);
    yard.submit([task(1), task(2)]);
    yard.board_is_up = false;
    yard.end(1, success());
    let other = yard.lapse();
    yard.script(Err(StoreError::Fenced), Status::default());
    yard.end(2, success());
    yard.tell(Event::Disowned);
    assert_eq!((yard.conductor.stale_writes(), yard.conductor.live()), (2, 0));
    yard.asks.clear();
    yard.board_is_up = true;
    yard.register();
    assert_eq!(yard.claim_all(other), [], "this yard was quicker");
    assert_eq!(yard.live(), [1, 2]);
    assert!(yard.dispatches.values().all(|dispatch| dispatch.epoch() == 2 && dispatch.live.suspect));
}

#[test]
fn what_was_not_recorded_holds_nothing_up_under_the_next_registration() {
    const MANY: usize = 10_001;
    let mut yard = yard(MANY);
    yard.submit_many((1..=MANY as u64).map(task));
    yard.board_is_up = false;
    yard.end_first(MANY, &success());
    yard.asks.clear();
    yard.lose_lease();
    yard.board_is_up = true;
    yard.register();
    assert_eq!(yard.conductor.live(), 1_000, "what the other gave back by then");
}

/// Another pass was quicker to be recorded, or this one's record was not heard of.
#[test]
fn whoever_waited_for_what_is_refused_as_stale_learns_the_result_that_stands() {
    let mut yard = yard(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    let ask = yard.asks[0].clone();
    assert!(yard.execute_one().is_some());
    yard.asks.push_back(ask);
    let stale = Settled { id: crate::yard::id(1), epoch: 1, accepted: false };
    yard.script(Ok(Answer::Settled(vec![stale])), Status::default());
    assert_eq!((yard.conductor.stale_writes(), yard.conductor.live()), (1, 0));
    assert!(yard.outcomes().is_empty());
    while yard.answer_one() {}
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into()))]);
}

#[test]
fn nothing_is_claimed_without_a_registration() {
    let mut yard = yard(1);
    yard.submit([task(1), task(2), delayed(3, 100)]);
    yard.lose_lease();
    yard.end(1, back());
    yard.end(3, back());
    yard.board_is_up = false;
    yard.pass(60_000);
    assert!(yard.asks.is_empty() && yard.live().is_empty());
}

/// At most once at a time in one yard: the slot and the worker may not be free yet.
#[test]
fn a_task_that_is_claimed_anew_waits_until_its_old_dispatch_has_ended() {
    let mut yard = yard(2);
    yard.submit([task(1)]);
    yard.lose_lease();
    yard.register();
    assert_eq!((yard.dispatches[&1].epoch(), yard.conductor.live()), (1, 1));
    yard.end(1, End::Failed(taskyard_core::dispatch::Failure::TimedOut));
    assert_eq!(yard.dispatches[&1].epoch(), 2);
    yard.end(1, success());
    yard.pass(1_000);
    assert_eq!(yard.outcomes().len(), 1);
}

/// Its registration was taken and given back before anybody here heard of it, or a backup was put in the store's place.
#[test]
fn a_board_that_gives_a_running_task_anew_has_it_stopped_first() {
    let mut yard = yard(2);
    yard.submit([task(1)]);
    let name = yard.dispatches[&1].name();
    yard.board_is_up = false;
    yard.tell(Event::Hint(Status { ready: [crate::yard::POOL].into_iter().collect(), ..Status::default() }));
    let claimed = claimed_again(&mut yard);
    yard.script(Ok(Answer::Claimed { rows: vec![claimed], expired: vec![] }), Status::default());
    assert_eq!(cancels(&mut yard), [(1, Reason::Disowned)]);
    assert_eq!(yard.dispatches[&1].name(), name);
    yard.end(1, End::Cancelled);
    assert_eq!((yard.dispatches[&1].epoch(), yard.conductor.live()), (2, 1));
}

fn claimed_again(yard: &mut Yard) -> Claimed {
    let dispatch = &yard.dispatches[&1];
    Claimed {
        task: std::sync::Arc::clone(&dispatch.live.task),
        pool: crate::yard::POOL,
        order: dispatch.order,
        epoch: 2,
        attempts: 0,
        setbacks: 0,
        crash_marks: 0,
        due: DueAt::Now,
        expires: None,
        judged: false,
        unjudged: false,
        posted: yard.now.wall,
    }
}

#[test]
fn what_waits_for_its_old_dispatch_can_be_cancelled() {
    let mut yard = yard(2);
    yard.submit([task(1)]);
    yard.lose_lease();
    yard.register();
    cancels(&mut yard);
    yard.cancel(ASK, only(&[1]));
    assert!(yard.is_silent(ASK));
    yard.end(1, back());
    yard.meet_cancel();
    assert_eq!(yard.cancelled(ASK), [(1, CancelAnswer::Cancelled)]);
}

/// Its lease ends a second time before the first loss is over.
#[test]
fn a_second_loss_drops_what_waited_and_stops_nothing_twice() {
    let mut yard = yard(2);
    yard.submit([task(1)]);
    yard.lose_lease();
    yard.register();
    assert_eq!(cancels(&mut yard), [(1, Reason::Disowned)]);
    let other = yard.lose_lease();
    assert_eq!(cancels(&mut yard), []);
    assert_eq!(yard.claim_all(other), [(1, 3)]);
    yard.end(1, back());
    assert_eq!(yard.conductor.live(), 0);
}

#[test]
fn what_was_asked_is_asked_again_under_the_next_registration() {
    let mut yard = yard(1);
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    yard.cancel(ASK, only(&[9]));
    yard.reschedule(ASK + 1, 8, 60_000);
    let before: Vec<_> = yard.asks.drain(..).map(|ask| ask.no).collect();
    yard.tell(Event::Disowned);
    assert!(yard.asks.is_empty());
    let owner = yard.register();
    assert_eq!(yard.asked(), ["post", "cancel", "reschedule", "promote"]);
    assert!(yard.asks.iter().all(|ask| ask.owner == owner && !before.contains(&ask.no)), "a new owner's own");
    yard.board_is_up = true;
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1]);
    assert_eq!(yard.cancelled(ASK), [(9, CancelAnswer::Absent)]);
    assert_eq!(yard.rescheduled(ASK + 1), RescheduleResult::Absent);
}

/// It was given to the owner that was: the task is another's by now.
#[test]
fn a_late_answer_to_the_lost_registration_begins_nothing() {
    let mut yard = yard(1);
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    let late = yard.execute_one().unwrap();
    yard.lose_lease();
    yard.tell(Event::Reply(Box::new(late)));
    assert!(yard.live().is_empty() && yard.is_silent(1));
    yard.board_is_up = true;
    yard.register();
    assert_eq!(yard.dispatches[&1].epoch(), 2, "given back, and claimed by its new owner");
    assert!(!yard.is_silent(1));
}

/// Nobody had heard yet that the lease was lost.
#[test]
fn a_request_that_is_refused_as_stale_waits_for_the_news() {
    let mut yard = yard(1);
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    yard.script(Err(StoreError::Fenced), Status::default());
    yard.pass(4_999);
    assert!(yard.asks.is_empty() && yard.is_silent(1));
    yard.tell(Event::Disowned);
    yard.register();
    assert!(yard.asked().contains(&"post"));
}

/// What a person wants is wanted whoever has the task.
#[test]
fn the_wishes_of_people_outlive_the_registration() {
    let mut yard = yard(3);
    yard.submit([task(1), task(2), task(3)]);
    yard.cancel(ASK, only(&[1]));
    yard.cancel(ASK + 1, only(&[2]));
    yard.reschedule(ASK + 2, 3, 600_000);
    let told = yard.cancels.remove(0);
    yard.tell(Event::Told(told));
    assert_eq!(yard.cancelled(ASK), [(1, CancelAnswer::Running)]);
    yard.lose_lease();
    (1..=3).for_each(|n| yard.end(n, back()));
    yard.register();
    assert_eq!(yard.outcomes(), [(1, Outcome::Cancelled), (2, Outcome::Cancelled)]);
    assert_eq!(yard.cancelled(ASK + 1), [(2, CancelAnswer::Cancelled)]);
    assert_eq!(yard.rescheduled(ASK + 2), RescheduleResult::Done);
    assert!(yard.live().is_empty());
}

#[test]
fn a_wish_to_stop_is_repeated_while_the_dispatch_is_between_two_places() {
    let mut yard = yard(1);
    yard.submit([task(1)]);
    yard.lose_lease();
    let missed = yard.cancels.remove(0);
    yard.tell(Event::Missed(missed));
    assert_eq!(yard.cancels[0].reason, Reason::Disowned);
    let told = yard.cancels.remove(0);
    yard.tell(Event::Told(told));
    yard.end(1, failure());
    assert_eq!(yard.conductor.live(), 0, "and what it says at its end counts for nothing");
}

#[test]
fn a_claim_on_its_way_keeps_no_room_when_its_owner_is_gone() {
    let mut yard = Yard::with(1, settings());
    let other = yard.other();
    yard.post_elsewhere(other, [task(1)]);
    yard.register();
    yard.end(1, success());
    yard.post_elsewhere(other, [task(2)]);
    yard.board_is_up = false;
    yard.pass(5_000);
    while yard.asked().first().is_some_and(|asked| *asked != "claim") {
        yard.answer_one();
    }
    assert_eq!(yard.asked(), ["claim"]);
    yard.execute_one();
    yard.board_is_up = true;
    yard.lose_lease();
    yard.register();
    assert_eq!(yard.live(), [2]);
}
