//! The table "what each end counts", row by row, and the pauses.

use std::sync::Arc;
use std::time::Duration;

use super::{Case, crashed, judge, later, pause};
use crate::TaskId;
use crate::conductor::ledger::After;
use crate::dispatch::{Dispatch, End, Failure, Loss, Outcome, Reason, Return, TaskError, Trash};
use crate::keys::fixture;
use crate::live::Live;
use crate::store::Settle;
use crate::task::{DueAt, KeyLimits, Retry};
use crate::time::{Instant64, Now, Timestamp};

const NOW: Now = Now { mono: Instant64(7), wall: Timestamp(1_000_000) };
/// Without jitter, so that pauses can be told.
const RETRY: Retry = Retry {
    max_attempts: 3,
    initial: Duration::from_secs(1),
    factor: 2.0,
    max: Duration::from_mins(1),
    jitter: 0.0,
};

fn attempt(attempt: u32) -> Dispatch {
    let dispatch = fixture::dispatch(1, None, KeyLimits::PARALLEL);
    let task = Arc::clone(&dispatch.live.task);
    Dispatch { live: Arc::new(Live::new(task, 1, Timestamp(0), attempt, attempt)), ..dispatch }
}

/// Judged as the end of attempt `n` that nobody wants cancelled.
fn ended(n: u32, end: End) -> (After, Settle) {
    judge(NOW, &Case { dispatch: &attempt(n), retry: RETRY, setbacks: 0, wish: None }, end)
}

fn error(retry: bool) -> Failure {
    Failure::Error(Box::new(TaskError { kind: "Bad".into(), message: String::new(), trace: None, retry }))
}

fn lost() -> Failure {
    Failure::Lost(Box::new(Loss { status: "signal 9".into(), output: String::new() }))
}

fn after(seconds: u64) -> Timestamp {
    NOW.wall + Duration::from_secs(seconds)
}

fn finished(outcome: Outcome) -> (After, Settle) {
    (After::Finished(outcome.clone()), Settle::Done(outcome))
}

fn given_back(due: DueAt, setback: bool, renew: bool, started: bool) -> Settle {
    Settle::GiveBack { due: Some(due), setback, renew, started }
}

#[test]
fn what_ended_for_good_is_done() {
    let lost_to = TaskId(9);
    for (end, outcome) in [
        (End::Succeeded("1".into()), Outcome::Succeeded("1".into())),
        (End::Cancelled, Outcome::Cancelled),
        (End::Expired, Outcome::Expired),
        (End::Discarded { lost_to }, Outcome::Discarded { lost_to }),
    ] {
        assert_eq!(ended(1, end), finished(outcome));
    }
}

/// B6
#[test]
fn errors_time_outs_and_losses_are_counted_and_tried_again_after_a_growing_pause() {
    for failure in [error(true), Failure::TimedOut, lost()] {
        for (n, seconds) in [(1, 1), (2, 2)] {
            let due = after(seconds);
            let expected = (After::Again(due), Settle::Retry { due, error: failure.clone() });
            assert_eq!(ended(n, End::Failed(failure.clone())), expected);
        }
    }
}

/// B8
#[test]
fn the_last_attempt_goes_to_the_trash() {
    for failure in [error(true), Failure::TimedOut, lost()] {
        let outcome = Outcome::Trashed(Trash::Exhausted { attempts: 3, last: failure.clone() });
        let expected = (After::Finished(outcome.clone()), Settle::Trash(outcome));
        assert_eq!(ended(3, End::Failed(failure)), expected);
    }
}

#[test]
fn an_error_that_will_not_go_away_goes_to_the_trash_at_once() {
    let outcome = Outcome::Trashed(Trash::Refused(error(false)));
    assert_eq!(
        ended(1, End::Failed(error(false))),
        (After::Finished(outcome.clone()), Settle::Trash(outcome))
    );
}

/// B6
#[test]
fn a_setback_is_not_counted_and_pauses_up_to_a_minute() {
    for (setbacks, seconds) in [(0, 1), (1, 2), (2, 4), (5, 32), (6, 60), (7, 60), (u32::MAX, 60)] {
        let case = Case { dispatch: &attempt(3), retry: RETRY, setbacks, wish: None };
        let due = after(seconds);
        let expected = (After::Again(due), given_back(DueAt::Wall(due), true, false, false));
        assert_eq!(judge(NOW, &case, End::Returned(Return::Setback)), expected);
    }
}

/// B9
#[test]
fn what_is_given_back_says_whether_it_had_started() {
    for returned in [Return::Drain, Return::Setback] {
        for has_started in [false, true] {
            let dispatch = attempt(1);
            if has_started {
                dispatch.live.start(4, NOW.mono);
            }
            let case = Case { dispatch: &dispatch, retry: RETRY, setbacks: 0, wish: None };
            let (_, settle) = judge(NOW, &case, End::Returned(returned));
            assert!(matches!(settle, Settle::GiveBack { started, .. } if started == has_started));
        }
    }
}

/// B9
#[test]
fn what_nobody_survives_goes_to_the_trash() {
    let outcome = Outcome::Trashed(Trash::Crashed { deliveries: 5 });
    assert_eq!(crashed(5), (After::Finished(outcome.clone()), Settle::Trash(outcome)));
}

#[test]
fn what_must_wait_goes_back_for_a_second_but_never_to_before_it_is_due() {
    for (due, expected) in [(DueAt::Now, 1), (DueAt::Wall(after(0)), 1), (DueAt::Wall(after(2)), 2)] {
        let (again, settle) = later(NOW, &Dispatch { due, ..attempt(1) });
        assert_eq!(again, After::Again(after(expected)));
        assert_eq!(settle, given_back(DueAt::Wall(after(expected)), false, false, false));
    }
}

/// B11
#[test]
fn what_a_drain_gives_back_keeps_due_time_and_place() {
    let kept_here = DueAt::Mono(Instant64(99));
    for (due, given) in [(kept_here, Some(kept_here)), (DueAt::Wall(after(99)), None)] {
        let dispatch = Dispatch { due, ..attempt(3) };
        let case = Case { dispatch: &dispatch, retry: RETRY, setbacks: 4, wish: None };
        let (after, settle) = judge(NOW, &case, End::Returned(Return::Drain));
        assert!(matches!(after, After::Again(_)));
        let expected = Settle::GiveBack { due: given, setback: false, renew: false, started: false };
        assert_eq!(settle, expected);
    }
}

#[test]
fn a_snooze_is_not_counted_and_takes_a_new_place() {
    let due = after(60);
    let expected = (After::Again(due), given_back(DueAt::Wall(due), false, true, true));
    assert_eq!(ended(3, End::Snoozed(Duration::from_mins(1))), expected);
}

/// D9
#[test]
fn a_reschedule_gives_another_time_and_place() {
    let due = DueAt::Mono(Instant64(99));
    let expected = || (After::Rescheduled, given_back(due, false, true, false));
    assert_eq!(ended(3, End::Rescheduled(due)), expected());
    let wish = Some(Reason::Reschedule(due));
    let overtaken = Case { dispatch: &attempt(3), retry: RETRY, setbacks: 0, wish };
    assert_eq!(judge(NOW, &overtaken, End::Returned(Return::Drain)), expected(), "whoever took it out first");
}

#[test]
fn what_a_user_gave_up_is_not_tried_again_and_may_still_succeed() {
    let (first, last) = (attempt(1), attempt(3));
    let case = |dispatch| Case { dispatch, retry: RETRY, setbacks: 0, wish: Some(Reason::User) };
    for end in [
        End::Failed(error(true)),
        End::Failed(lost()),
        End::Snoozed(Duration::ZERO),
        End::Rescheduled(DueAt::Now),
        End::Returned(Return::Drain),
        End::Returned(Return::Setback),
    ] {
        assert_eq!(judge(NOW, &case(&first), end.clone()), finished(Outcome::Cancelled), "{end:?}");
        assert_eq!(judge(NOW, &case(&last), end), finished(Outcome::Cancelled));
    }
    let value: Arc<str> = "1".into();
    let succeeded = judge(NOW, &case(&first), End::Succeeded(Arc::clone(&value)));
    assert_eq!(succeeded, finished(Outcome::Succeeded(value)));
}

#[test]
fn a_pause_grows_up_to_its_bound_whatever_the_numbers() {
    let pause_of = |retry: &Retry, attempts| pause(retry, attempts, TaskId(1), 1);
    let seconds = [1, 2, 5, 6, 7, 100, u32::MAX].map(|attempts| pause_of(&RETRY, attempts).as_secs());
    assert_eq!(seconds, [1, 2, 16, 32, 60, 60, 60]);
    let none = Retry { initial: Duration::ZERO, factor: 1_000.0, ..RETRY };
    assert_eq!(pause_of(&none, u32::MAX), Duration::ZERO, "nothing grows from nothing");
}

/// D17
#[test]
fn jitter_spreads_the_pauses_of_tasks_and_passes_evenly_within_its_part() {
    let retry = Retry { initial: Duration::from_secs(10), jitter: 0.2, ..RETRY };
    let ids = (0..1_000_u128).map(|n| TaskId(n << 64 | 7));
    let mut pauses: Vec<_> = ids.map(|id| pause(&retry, 1, id, 1).as_secs_f64()).collect();
    assert!(pauses.iter().all(|seconds| (8.0..=12.0).contains(seconds)));
    for tenth in 0..10 {
        let from = 8.0 + f64::from(tenth) * 0.4;
        let there = pauses.iter().filter(|seconds| (from..from + 0.4).contains(*seconds)).count();
        assert!((60..140).contains(&there), "{there} of 1000 pauses from {from} s");
    }
    pauses.dedup();
    assert_eq!(pauses.len(), 1_000);
    assert_ne!(pause(&retry, 1, TaskId(1), 1), pause(&retry, 1, TaskId(1), 2));
    assert_eq!(pause(&retry, 1, TaskId(1), 1), pause(&retry, 1, TaskId(1), 1), "a replay gives the same");
}
