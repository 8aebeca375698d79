//! Whether what is recorded of a task is what it did, by its own journal: nothing lost, nothing twice, nothing made up.

use std::collections::BTreeSet;

use serde::Deserialize;
use taskyard::core::dispatch::{Failure, Outcome, Trash};
use taskyard::core::id::Epoch;
use taskyard::core::store::{AttemptEnd, AttemptRecord, RowState, TaskView};

use crate::journal::Passes;
use crate::plan::Fate;

/// What the handler gives back.
#[derive(Deserialize)]
struct Entry {
    epoch: Epoch,
    attempt: u32,
}

/// What a task says of its runs, and what the board says of them.
pub(crate) struct Case<'a> {
    pub(crate) fate: Fate,
    /// In which passes it ran, and as which attempt.
    pub(crate) ran: &'a Passes,
    pub(crate) view: &'a TaskView,
}

impl Case<'_> {
    /// What is wrong, if anything.
    pub(crate) fn judge(&self) -> Result<(), String> {
        self.ends_once()?;
        self.runs_are_recorded()?;
        self.records_are_runs()?;
        self.attempts_follow_failures()?;
        self.failures_are_counted()
    }

    fn ends_once(&self) -> Result<(), String> {
        let view = self.view;
        same("state", view.state, RowState::Ended)?;
        same("crash marks", view.crash_marks, 0)?;
        match &view.outcome {
            Some(Outcome::Succeeded(value)) if self.fate.succeeds() => {
                let entry: Entry = serde_json::from_str(value).map_err(|why| format!("{value}: {why}"))?;
                same("the pass whose value stands", entry.epoch, view.epoch)?;
                same("its attempt", entry.attempt, self.fate.failures + 1)
            }
            Some(Outcome::Trashed(Trash::Exhausted { attempts, last: Failure::Error(_) }))
                if !self.fate.succeeds() =>
            {
                same("attempts by the reason", *attempts, self.fate.max_attempts)?;
                same("attempts", view.attempts, self.fate.max_attempts)
            }
            other => Err(format!("it ended as {other:?}")),
        }
    }

    /// A pass that ran is the last one, or how it ended was written down.
    fn runs_are_recorded(&self) -> Result<(), String> {
        let recorded: BTreeSet<_> = self.view.log.iter().map(|record| record.epoch).collect();
        same("records of a pass", recorded.len(), self.view.log.len())?;
        let unknown = self.ran.keys().find(|epoch| **epoch != self.view.epoch && !recorded.contains(epoch));
        unknown.map_or(Ok(()), |epoch| Err(format!("nothing is written down of pass {epoch}, which ran")))
    }

    /// Only a pass whose dispatcher died, or that was put off, may have ended before it ran.
    fn records_are_runs(&self) -> Result<(), String> {
        let log = self.view.log.iter();
        let log = log.filter(|record| record.end != AttemptEnd::OwnerLost && !self.was_put_off(record));
        let mut ended = log.map(|record| record.epoch).chain([self.view.epoch]);
        let made_up = ended.find(|epoch| !self.ran.contains_key(epoch));
        made_up.map_or(Ok(()), |epoch| Err(format!("pass {epoch} did not run")))
    }

    /// Each run was told how many attempts had failed by then.
    fn attempts_follow_failures(&self) -> Result<(), String> {
        self.ran.iter().try_for_each(|(epoch, attempt)| {
            let failed = self.failed().filter(|record| record.epoch < *epoch).count();
            same("attempt of a pass", *attempt, failed as u32 + 1)
        })
    }

    fn failed(&self) -> impl Iterator<Item = &AttemptRecord> {
        self.view.log.iter().filter(|record| matches!(record.end, AttemptEnd::Failed(Failure::Error(_))))
    }

    /// What ran, or may have, when its dispatcher died begins again only once a mark of that is committed; where that takes
    /// too long it goes back.
    fn was_put_off(&self, record: &AttemptRecord) -> bool {
        let mut before = self.view.log.iter().filter(|before| before.epoch < record.epoch);
        record.end == AttemptEnd::Setback
            && !self.ran.contains_key(&record.epoch)
            && before.any(|before| before.end == AttemptEnd::OwnerLost)
    }

    fn failures_are_counted(&self) -> Result<(), String> {
        // How the last attempt failed is how the task ended.
        let expected = self.fate.failures.min(self.fate.max_attempts - 1);
        same("failed attempts", self.failed().count(), expected as usize)?;
        let odd = self.view.log.iter().find(|record| is_odd(&record.end) && !self.was_put_off(record));
        odd.map_or(Ok(()), |record| Err(format!("nobody did this: {record:?}")))
    }
}

/// Nobody but the supervisor was killed: no worker alone, and nothing beside another task.
fn is_odd(end: &AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Setback | AttemptEnd::Failed(Failure::Lost(_) | Failure::TimedOut))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, shall: T) -> Result<(), String> {
    if is == shall { Ok(()) } else { Err(format!("{what}: {is:?} instead of {shall:?}")) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskyard::core::TaskId;
    use taskyard::core::dispatch::TaskError;
    use taskyard::core::names::Lane;
    use taskyard::core::store::OwnerId;
    use taskyard::core::time::Timestamp;

    use super::*;

    const FATE: Fate = Fate { failures: 1, max_attempts: 3 };

    fn failure() -> AttemptEnd {
        let (kind, message) = ("journal".into(), String::new());
        AttemptEnd::Failed(Failure::Error(Box::new(TaskError { kind, message, trace: None, retry: true })))
    }

    fn record(epoch: Epoch, end: AttemptEnd) -> AttemptRecord {
        AttemptRecord { epoch, ended: Timestamp(0), owner: OwnerId(1), end }
    }

    /// Lost with its dispatcher, failed, and then done.
    fn view() -> TaskView {
        TaskView {
            id: TaskId(1),
            lane: Arc::new(Lane {
                namespace: "a".parse().expect("valid"),
                name: "a".parse().expect("valid"),
            }),
            task: None,
            state: RowState::Ended,
            order: None,
            due: None,
            owner: None,
            epoch: 3,
            attempts: 1,
            crash_marks: 0,
            last_error: None,
            outcome: Some(Outcome::Succeeded(r#"{"epoch":3,"attempt":2}"#.into())),
            ended: None,
            log: vec![record(1, AttemptEnd::OwnerLost), record(2, failure()), record(3, AttemptEnd::Ended)],
            unroutable: false,
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut TaskView, &mut Passes), expected: &str) {
        let (mut view, mut ran) = (view(), Passes::from([(1, 1), (2, 1), (3, 2)]));
        change(&mut view, &mut ran);
        let verdict = Case { fate: FATE, ran: &ran, view: &view }.judge();
        assert_eq!(verdict.err().as_deref().unwrap_or("right"), expected);
    }

    #[test]
    fn what_is_as_it_shall_be_is_right() {
        check(|_, _| {}, "right");
        // Its dispatcher died before it began.
        check(|_, ran| _ = ran.remove(&1), "right");
        check(put_off, "right");
    }

    /// After it was lost, and before it failed.
    fn put_off(view: &mut TaskView, ran: &mut Passes) {
        let ends = [AttemptEnd::OwnerLost, AttemptEnd::Setback, failure(), AttemptEnd::Ended];
        view.log = (1..).zip(ends).map(|(epoch, end)| record(epoch, end)).collect();
        view.epoch = 4;
        view.outcome = Some(Outcome::Succeeded(r#"{"epoch":4,"attempt":2}"#.into()));
        *ran = Passes::from([(1, 1), (3, 1), (4, 2)]);
    }

    #[test]
    fn who_is_put_off_did_not_run_and_was_lost_before() {
        let begun = |view: &mut TaskView, ran: &mut Passes| {
            put_off(view, ran);
            ran.insert(2, 1);
        };
        check(begun, &odd(2, AttemptEnd::Setback));
        let never_lost = |view: &mut TaskView, ran: &mut Passes| {
            put_off(view, ran);
            view.log.remove(0);
            ran.remove(&1);
        };
        check(never_lost, "pass 2 did not run");
    }

    #[test]
    fn what_is_wrong_is_seen() {
        check(|view, _| view.state = RowState::Claimed, "state: Claimed instead of Ended");
        check(|view, _| view.epoch = 2, "the pass whose value stands: 3 instead of 2");
        check(|view, _| drop(view.log.remove(0)), "nothing is written down of pass 1, which ran");
        check(|view, _| drop(view.log.remove(1)), "nothing is written down of pass 2, which ran");
        check(|_, ran| _ = ran.remove(&2), "pass 2 did not run");
        check(|_, ran| _ = ran.remove(&3), "pass 3 did not run");
        check(|_, ran| _ = ran.insert(3, 3), "attempt of a pass: 3 instead of 2");
        check(|view, _| view.log[0].end = failure(), "attempt of a pass: 1 instead of 2");
        check(|view, _| view.log[0].end = AttemptEnd::Setback, &odd(1, AttemptEnd::Setback));
        check(|view, _| view.outcome = None, "it ended as None");
    }

    fn odd(epoch: Epoch, end: AttemptEnd) -> String {
        format!("nobody did this: {:?}", record(epoch, end))
    }
}
