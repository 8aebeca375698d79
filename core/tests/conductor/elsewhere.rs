//! Tasks that are waited for and end elsewhere, and what somebody elsewhere wants of tasks that are here.

use CancelAnswer::{Cancelled, Running};
use taskyard_core::conductor::{Answer, CancelAnswer, Event};
use taskyard_core::dispatch::{Outcome, Reason};
use taskyard_core::store::{self, Asker, Filter, Request, Settle, Status};
use taskyard_core::task::Task;

use crate::shared::yard;
use crate::yard::{Yard, delayed, id, only, success, task};

const ASK: u64 = 10;

fn done() -> Settle {
    Settle::Done(Outcome::Succeeded("elsewhere".into()))
}

fn outcomes_asked(yard: &Yard) -> Vec<usize> {
    let count = |ask: &store::Ask| match &*ask.request {
        Request::Outcomes(ids) => Some(ids.len()),
        _ => None,
    };
    yard.asks.iter().filter_map(count).collect()
}

#[test]
fn whoever_waits_learns_of_an_end_elsewhere_within_a_second() {
    let mut yard = yard(0);
    yard.submit([task(1), task(2)]);
    let other = yard.other();
    assert_eq!(yard.claim_all(other), [(1, 1), (2, 1)]);
    yard.settle_elsewhere(other, 1, 1, done());
    yard.pass(1_000);
    assert_eq!(yard.outcomes(), [(1, Outcome::Succeeded("elsewhere".into()))]);
    yard.settle_elsewhere(other, 2, 1, done());
    yard.pass(1_000);
    assert_eq!(yard.outcomes().len(), 1);
}

#[test]
fn what_is_here_is_not_asked_about() {
    let mut yard = yard(1);
    yard.submit([task(1)]);
    yard.tell(Event::Watch { id: id(1), reply: ASK });
    yard.board_is_up = false;
    yard.pass(1_000);
    assert!(outcomes_asked(&yard).is_empty());
}

#[test]
fn many_are_asked_about_in_turns_of_a_thousand() {
    let mut yard = yard(0);
    yard.submit_many((1..=2_500).map(task));
    yard.board_is_up = false;
    yard.tell_all((1..=2_500).map(|n| Event::Watch { id: id(n), reply: ASK }).collect());
    yard.asks.clear();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        yard.pass(1_000);
        assert_eq!(outcomes_asked(&yard), [1_000]);
        yard.pass(1_000);
        assert_eq!(outcomes_asked(&yard), [1_000], "one question at a time");
        for ask in yard.asks.drain(..).collect::<Vec<_>>() {
            if let Request::Outcomes(ids) = &*ask.request {
                seen.extend(ids.iter().copied());
                yard.asks.push_front(ask);
            }
        }
        yard.script(Ok(store::Answer::Outcomes(Vec::new())), Status::default());
    }
    assert_eq!(seen.len(), 2_500);
}

#[test]
fn whoever_waits_for_a_task_that_is_forgotten_is_told_so() {
    let mut yard = yard(0);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.pass(1_000);
    assert_eq!(outcomes_asked(&yard), [1]);
    yard.asks.retain(|ask| matches!(*ask.request, Request::Outcomes(_)));
    yard.script(Ok(store::Answer::Outcomes(vec![(id(1), None)])), Status::default());
    assert!(matches!(yard.answer(crate::yard::WATCH), Answer::Unknown(unknown) if unknown == id(1)));
}

#[test]
fn whoever_stops_waiting_is_told_nothing_and_keeps_nothing() {
    let mut yard = yard(1);
    yard.submit([task(1), task(2)]);
    for n in [1, 2] {
        yard.tell(Event::Watch { id: id(n), reply: ASK + n });
        yard.tell(Event::Unwatch { id: id(n), reply: ASK + n });
        yard.tell(Event::Unwatch { id: id(n), reply: crate::yard::WATCH });
    }
    yard.tell(Event::Watch { id: id(2), reply: ASK });
    yard.tell(Event::Unwatch { id: id(2), reply: ASK + 9 });
    yard.end(1, success());
    yard.end(2, success());
    assert!(yard.outcomes().is_empty());
    assert!(yard.is_silent(ASK + 1) && yard.is_silent(ASK + 2));
    assert!(matches!(yard.answer(ASK), Answer::Outcome(..)), "others go on waiting");
}

#[test]
fn a_mark_of_somebody_elsewhere_is_a_wish_like_any_other() {
    let mut yard = yard(2);
    yard.submit([task(1), task(2), task(3)]);
    let other = yard.other();
    let marked = yard.as_owner(other, Asker::Conductor, Request::Cancel { filter: only(&[1, 2]), after: 0 });
    assert!(matches!(marked, Ok(store::Answer::Cancelled { elsewhere, .. }) if elsewhere.len() == 2));
    for _ in 0..3 {
        yard.tell(Event::Marked(vec![id(1), id(2), id(9)]));
    }
    let wanted: Vec<_> = yard.cancels.iter().map(|cancel| (cancel.id(), cancel.reason)).collect();
    assert_eq!(
        wanted,
        [(id(1), Reason::User), (id(2), Reason::User)],
        "said once, however often it is heard"
    );
    yard.meet_cancel();
    yard.meet_running();
    yard.end(2, success());
    assert_eq!(yard.outcomes(), [(1, Outcome::Cancelled), (2, Outcome::Succeeded("null".into()))]);
}

/// D8
#[test]
fn a_cancel_of_what_runs_elsewhere_is_answered_running_and_reaches_it() {
    let mut yard = yard(0);
    yard.submit([task(1)]);
    let other = yard.other();
    yard.claim_all(other);
    yard.cancel(ASK, only(&[1]));
    assert_eq!(yard.cancelled(ASK), [(1, Running)]);
    let renewed = yard.as_owner(other, Asker::Lease, Request::Renew);
    assert!(matches!(renewed, Ok(store::Answer::Renewed(renewal)) if renewal.marked == [id(1)]));
}

/// A board looks at a bounded number of rows for one answer.
#[test]
fn a_cancel_goes_on_until_the_board_has_looked_at_all() {
    let mut yard = yard(1);
    yard.submit([task(1)]);
    yard.board_is_up = false;
    yard.cancel(ASK, Filter { all: true, ..Filter::default() });
    let page = |tasks: &[Task], elsewhere: &[u64], more| store::Answer::Cancelled {
        tasks: tasks.iter().cloned().map(std::sync::Arc::new).collect(),
        elsewhere: elsewhere.iter().map(|n| id(*n)).collect(),
        ended: Vec::new(),
        more,
    };
    yard.script(Ok(page(&[task(2), task(3)], &[], Some(40))), Status::default());
    yard.script(Ok(page(&[], &[4], Some(90))), Status::default());
    let cursors = yard.asks.iter().map(|ask| match &*ask.request {
        Request::Cancel { after, filter } => (*after, filter.all),
        other => panic!("{other:?}"),
    });
    assert_eq!(cursors.collect::<Vec<_>>(), [(90, true)]);
    assert!(yard.cancels.is_empty(), "the yard is looked at last");
    yard.script(Ok(page(&[task(5)], &[], None)), Status::default());
    yard.meet_running();
    assert_eq!(
        yard.cancelled(ASK),
        [(1, Running), (2, Cancelled), (3, Cancelled), (4, Running), (5, Cancelled)]
    );
}

/// Between two steps of a cancel it left the board for the yard.
#[test]
fn what_is_claimed_between_two_steps_of_a_cancel_is_met_in_the_yard() {
    let mut yard = yard(1);
    yard.submit([task(1), task(2)]);
    yard.board_is_up = false;
    yard.cancel(ASK, Filter { all: true, ..Filter::default() });
    let nothing =
        |more| store::Answer::Cancelled { tasks: Vec::new(), elsewhere: Vec::new(), ended: Vec::new(), more };
    yard.script(Ok(nothing(Some(1))), Status::default());
    yard.end(1, success());
    let cancel = yard.asks.pop_front().unwrap();
    assert!(yard.answer_one(), "the settlement");
    assert_eq!(yard.asked(), ["claim"]);
    yard.asks.push_front(cancel);
    yard.script(Ok(nothing(None)), Status::default());
    assert!(yard.is_silent(ASK), "a claim is on its way");
    yard.board_is_up = true;
    while yard.answer_one() {}
    yard.meet_cancel();
    assert_eq!(yard.cancelled(ASK), [(2, Cancelled)]);
}

#[test]
fn a_parked_task_is_cancelled_wherever_it_was_submitted() {
    let mut yard = yard(1);
    let other = yard.other();
    yard.post_elsewhere(other, [delayed(1, 60_000)]);
    yard.cancel(ASK, only(&[1]));
    assert_eq!(yard.cancelled(ASK), [(1, Cancelled)]);
}
