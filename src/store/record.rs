//! The words of a board as numbers and texts: how states, outcomes, failures and limits look outside memory. The numbers
//! stand in databases: they are never given another meaning.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use taskyard_core::dispatch::{Failure, Loss, Outcome, Trash};
#[cfg(feature = "sqlite")]
use taskyard_core::names::Pattern;
use taskyard_core::store::{AttemptEnd, RowState};
use taskyard_core::task::{KeyLimits, Overflow, Priority};

/// The number of a state.
pub(crate) fn state_code(state: RowState) -> i16 {
    match state {
        RowState::Parked => 0,
        RowState::Behind => 1,
        RowState::Unjudged => 2,
        RowState::Ready => 3,
        RowState::Claimed => 4,
        RowState::Ended => 5,
    }
}

/// The state of a number; of one that nobody wrote: ended.
pub(crate) fn state(code: i16) -> RowState {
    match code {
        0 => RowState::Parked,
        1 => RowState::Behind,
        2 => RowState::Unjudged,
        3 => RowState::Ready,
        4 => RowState::Claimed,
        _ => RowState::Ended,
    }
}

pub(crate) const SUCCEEDED: i16 = 1;
const CANCELLED: i16 = 2;
const EXPIRED: i16 = 3;
const DISCARDED: i16 = 4;
pub(crate) const TRASHED: i16 = 5;

/// The number of an outcome, and what else is kept of it: the value (if it is not too large), whom it lost to, or why it
/// is in the trash.
pub(crate) fn outcome_columns(outcome: &Outcome, result_max: usize) -> (i16, Option<Cow<'_, str>>) {
    match outcome {
        Outcome::Succeeded(value) => {
            (SUCCEEDED, (value.len() <= result_max).then(|| Cow::Borrowed(value.as_ref())))
        }
        Outcome::ValueGone => (SUCCEEDED, None),
        Outcome::Cancelled => (CANCELLED, None),
        Outcome::Expired => (EXPIRED, None),
        Outcome::Discarded { lost_to } => (DISCARDED, Some(Cow::Owned(lost_to.to_string()))),
        Outcome::Trashed(trash) => (TRASHED, Some(Cow::Owned(json(trash)))),
    }
}

/// The outcome of such columns; what can't be understood reads as trashed for that reason.
pub(crate) fn outcome(code: i16, detail: Option<&str>) -> Outcome {
    match (code, detail) {
        (SUCCEEDED, Some(value)) => Outcome::Succeeded(value.into()),
        (SUCCEEDED, None) => Outcome::ValueGone,
        (CANCELLED, _) => Outcome::Cancelled,
        (EXPIRED, _) => Outcome::Expired,
        (DISCARDED, Some(id)) => match id.parse() {
            Ok(lost_to) => Outcome::Discarded { lost_to },
            Err(bad) => unreadable(&bad.to_string()),
        },
        (TRASHED, Some(trash)) => read(trash).map_or_else(|why| unreadable(&why), Outcome::Trashed),
        _ => unreadable(&format!("an outcome of number {code} is not known")),
    }
}

fn unreadable(why: &str) -> Outcome {
    Outcome::Trashed(Trash::Unreadable(format!("the record of its end: {why}")))
}

/// A failure, as JSON.
#[cfg(any(test, feature = "postgres"))]
pub(crate) fn failure_text(failure: &Failure) -> String {
    json(failure)
}

/// The failure of such a text; what can't be understood reads as a loss that says so.
pub(crate) fn failure(text: &str) -> Failure {
    read(text).unwrap_or_else(|why| {
        Failure::Lost(Box::new(Loss { status: format!("cannot be read: {why}"), output: String::new() }))
    })
}

/// How a pass ended, as JSON.
pub(crate) fn attempt_text(end: &AttemptEnd) -> String {
    json(end)
}

/// How a pass ended, of such a text; what can't be understood reads as a failure that says so.
pub(crate) fn attempt_end(text: &str) -> AttemptEnd {
    read(text).unwrap_or_else(|_| AttemptEnd::Failed(failure(text)))
}

/// The limits of a key: how many may run and wait (`None`: no bound), and who is dropped.
pub(crate) fn limit_columns(limits: KeyLimits) -> (Option<u32>, Option<u32>, i16) {
    let bound = |limit| (limit != KeyLimits::UNLIMITED).then_some(limit);
    (bound(limits.running), bound(limits.waiting), i16::from(limits.overflow == Overflow::DropWaiting))
}

/// The limits of such columns.
pub(crate) fn limits(running: Option<u32>, waiting: Option<u32>, overflow: i16) -> KeyLimits {
    let overflow = if overflow == 0 { Overflow::DropNew } else { Overflow::DropWaiting };
    let unlimited = KeyLimits::UNLIMITED;
    KeyLimits::new(running.unwrap_or(unlimited), waiting.unwrap_or(unlimited), overflow)
}

/// A priority; one that is out of range is the usual one.
pub(crate) fn priority(code: i16) -> Priority {
    u8::try_from(code).ok().and_then(Priority::new).unwrap_or_default()
}

fn json(record: &impl Serialize) -> String {
    // These are strings, numbers and names of our own: nothing that JSON could not hold.
    serde_json::to_string(record).unwrap_or_default()
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Patterns as a JSON array.
#[cfg(feature = "sqlite")]
pub(crate) fn patterns_text(patterns: &[Pattern]) -> String {
    json(&patterns)
}

/// The patterns of such an array; those that can't be understood are left out.
#[cfg(feature = "sqlite")]
pub(crate) fn patterns(text: &str) -> Vec<Pattern> {
    let texts: Vec<String> = read(text).unwrap_or_default();
    texts.iter().filter_map(|pattern| pattern.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use taskyard_core::TaskId;
    use taskyard_core::dispatch::TaskError;

    use super::*;

    const STATES: [RowState; 6] = [
        RowState::Parked,
        RowState::Behind,
        RowState::Unjudged,
        RowState::Ready,
        RowState::Claimed,
        RowState::Ended,
    ];

    fn error() -> Failure {
        let error = TaskError {
            kind: "Broken".into(),
            message: "\"quoted\"\n🦀".into(),
            trace: Some("line 1".into()),
            retry: false,
        };
        Failure::Error(Box::new(error))
    }

    #[test]
    fn states_read_back() {
        assert_eq!(STATES.map(|it| state(state_code(it))), STATES);
        assert_eq!(STATES.map(state_code), [0, 1, 2, 3, 4, 5], "these numbers stand in databases");
    }

    #[test]
    fn outcomes_read_back() {
        let trashed = [
            Trash::Exhausted { attempts: 3, last: Failure::TimedOut },
            Trash::Refused(error()),
            Trash::Unroutable,
            Trash::Crashed { deliveries: 5 },
            Trash::Unreadable("nothing there".into()),
        ];
        let others = [
            Outcome::Succeeded(r#"{"a":1}"#.into()),
            Outcome::ValueGone,
            Outcome::Cancelled,
            Outcome::Expired,
            Outcome::Discarded { lost_to: TaskId(7) },
        ];
        for it in others.into_iter().chain(trashed.map(Outcome::Trashed)) {
            let (code, detail) = outcome_columns(&it, 100);
            assert_eq!(outcome(code, detail.as_deref()), it);
        }
    }

    #[test]
    fn of_too_large_a_value_is_kept_that_there_was_one() {
        let large = Outcome::Succeeded("12345".into());
        assert_eq!(outcome_columns(&large, 5), (SUCCEEDED, Some("12345".into())));
        let (code, detail) = outcome_columns(&large, 4);
        assert_eq!(outcome(code, detail.as_deref()), Outcome::ValueGone);
    }

    #[test]
    fn failures_and_attempts_read_back() {
        let loss = Loss { status: "exit status 1".into(), output: "last words".into() };
        for it in [error(), Failure::TimedOut, Failure::Lost(Box::new(loss))] {
            assert_eq!(failure(&failure_text(&it)), it);
            let end = AttemptEnd::Failed(it);
            assert_eq!(attempt_end(&attempt_text(&end)), end);
        }
        for end in [AttemptEnd::Setback, AttemptEnd::Ended, AttemptEnd::OwnerLost] {
            assert_eq!(attempt_end(&attempt_text(&end)), end);
        }
    }

    #[test]
    fn what_nobody_wrote_is_said_to_be_so() {
        let is_said = |it: Outcome| matches!(it, Outcome::Trashed(Trash::Unreadable(_)));
        assert!(is_said(outcome(9, None)));
        assert!(is_said(outcome(DISCARDED, Some("somebody"))));
        assert!(is_said(outcome(TRASHED, Some("{"))));
        assert!(is_said(outcome(TRASHED, None)));
        assert!(matches!(failure("{"), Failure::Lost(_)));
        assert!(matches!(attempt_end("?"), AttemptEnd::Failed(Failure::Lost(_))));
    }

    #[test]
    fn limits_read_back() {
        let own = KeyLimits::new(3, 10, Overflow::DropWaiting);
        for it in [KeyLimits::PARALLEL, KeyLimits::SERIAL, KeyLimits::DISCARD, KeyLimits::REPLACE, own] {
            let (running, waiting, overflow) = limit_columns(it);
            assert_eq!(limits(running, waiting, overflow), it);
        }
    }
}
