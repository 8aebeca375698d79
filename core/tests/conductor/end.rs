//! How tasks end: what is recorded, who is told and what follows.

use taskyard_core::conductor::{Answer, Effect, Event, Happened, Settings};
use taskyard_core::dispatch::{End, Outcome, Return};

use crate::yard::{Yard, delayed, failure, id, success, task, with_follow_ups};

const ASK: u64 = 10;

#[test]
fn an_outcome_is_told_once_and_only_when_it_is_recorded() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    assert!(yard.outcomes().is_empty());
    while yard.answer_one() {}
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("null".into()))]);
}

/// B8
#[test]
fn a_task_that_always_fails_runs_as_often_as_it_may_and_is_trashed_once() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.end(1, failure());
    assert!(yard.live().is_empty() && yard.outcomes().is_empty());
    yard.pass(10_000);
    assert_eq!((yard.dispatches[&1].epoch(), yard.dispatches[&1].live.attempt), (2, 2));
    yard.end(1, failure());
    assert!(matches!(yard.outcomes()[..], [(1, Outcome::Trashed(_))]));
}

#[test]
fn what_is_not_counted_runs_again_as_the_same_attempt() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    for epoch in 2..5 {
        yard.end(1, End::Returned(Return::Setback));
        yard.pass(60_000);
        assert_eq!((yard.dispatches[&1].epoch(), yard.dispatches[&1].live.attempt), (epoch, 1));
    }
}

#[test]
fn callbacks_follow_success_and_errbacks_the_trash_under_derived_ids() {
    let child = |n, label: &str| id(n).derived(label.as_bytes()).0 as u64;
    let mut yard = Yard::new(2);
    yard.submit([with_follow_ups(1), with_follow_ups(2)]);
    yard.end(1, success());
    assert_eq!(yard.live(), [2, child(1, "callback 1 0")]);
    yard.end(child(1, "callback 1 0"), success());
    yard.end(2, failure());
    assert!(yard.live().is_empty(), "never per attempt");
    yard.pass(10_000).end(2, failure());
    assert_eq!(yard.live(), [child(2, "errback 2 0")]);
}

#[test]
fn whoever_watches_is_told_wherever_the_task_is() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), task(2)]);
    let watch = |yard: &mut Yard, n, reply| yard.tell(Event::Watch { id: id(n), reply });
    watch(&mut yard, 1, ASK);
    watch(&mut yard, 2, ASK + 1);
    watch(&mut yard, 3, ASK + 2);
    assert!(matches!(yard.answer(ASK + 2), Answer::Unknown(unknown) if unknown == id(3)));
    yard.end(1, success());
    assert!(matches!(yard.answer(ASK), Answer::Outcome(..)));
    watch(&mut yard, 1, ASK);
    assert!(matches!(yard.answer(ASK), Answer::Outcome(..)), "one who comes late");
    assert!(yard.is_silent(ASK + 1));
    yard.end(2, success());
    assert!(matches!(yard.answer(ASK + 1), Answer::Outcome(..)));
}

/// The board had it recorded when it was asked, and the record's own answer came first.
#[test]
fn whoever_watches_while_the_end_is_being_recorded_is_told_once() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.end(1, success());
    yard.tell(Event::Watch { id: id(1), reply: ASK });
    while yard.answer_one() {}
    assert!(matches!(yard.answer(ASK), Answer::Outcome(..)));
}

#[test]
fn an_end_of_an_earlier_pass_is_dropped() {
    let mut yard = Yard::new(1);
    yard.submit([task(1)]);
    let first = yard.dispatches[&1].name();
    yard.end(1, failure());
    yard.pass(10_000);
    yard.tell(Event::Blocked(first));
    yard.submit([task(2)]);
    assert_eq!(yard.live(), [1], "it counts as before");
}

#[test]
fn an_observer_sees_each_attempt_and_one_end() {
    let mut yard = Yard::with(1, Settings { observed: true, ..Settings::default() });
    yard.submit([task(1), delayed(2, 60_000)]);
    yard.end(1, failure());
    yard.pass(10_000).end(1, success());
    yard.cancel(ASK, crate::yard::only(&[2]));
    let seen = yard.said.iter().map(|effect| match effect {
        Effect::Happened(Happened::AttemptEnded { task, again, .. }) => (task.id, again.is_some(), false),
        Effect::Happened(Happened::TaskEnded { task, .. }) => (task.id, false, true),
        other => panic!("{other:?}"),
    });
    let expected = [(id(1), true, false), (id(1), false, false), (id(1), false, true), (id(2), false, true)];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    yard.tell(Event::Sum { reply: ASK + 1 });
    assert!(
        matches!(yard.answer(ASK + 1), Answer::Totals(totals) if totals.succeeded == 1 && totals.sum() == 2)
    );
}
