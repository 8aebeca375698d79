//! What a Pool waits for, in one order of time. Says what is due, never what to do about it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::id::TaskId;
use crate::time::Instant64;

/// What time can come for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A task's time is up, or it did not heed that.
    Task(TaskId),
    /// The Conductor did not say that a task may start.
    Mark(TaskId),
    /// A worker may not have done what it was told: get ready, start a task, or end.
    Worker(u32),
    /// What was sent ahead to a worker may wait behind a task that runs long.
    Stall(u32),
    /// A worker is too old.
    Age(u32),
    /// Workers may be started again.
    Restart,
    /// What runs had its `drain_grace`.
    Drain,
}

/// Who hears an alarm so late has been asleep itself, and what workers said meanwhile is still to be heard: before a worker or
/// a task is blamed for its silence it has a [second](SECOND_LOOK).
const LATE: Duration = Duration::from_millis(100);
/// See [`LATE`].
pub(super) const SECOND_LOOK: Duration = Duration::from_secs(1);

/// All alarms, the first due first.
#[derive(Debug, Default)]
pub(super) struct Alarms(BTreeSet<(Instant64, Alarm)>);

impl Alarms {
    /// Moves an alarm from the time in `slot` to another, or takes it away.
    pub(super) fn set(&mut self, alarm: Alarm, slot: &mut Option<Instant64>, at: Option<Instant64>) {
        if let Some(before) = std::mem::replace(slot, at) {
            self.0.remove(&(before, alarm));
        }
        if let Some(at) = at {
            self.add(at, alarm);
        }
    }

    /// Adds an alarm that nobody will move.
    pub(super) fn add(&mut self, at: Instant64, alarm: Alarm) {
        self.0.insert((at, alarm));
    }

    /// Takes an alarm away that was [added](Self::add).
    pub(super) fn remove(&mut self, at: Instant64, alarm: Alarm) {
        self.0.remove(&(at, alarm));
    }

    /// The first that is due, and whether it is [late](LATE).
    pub(super) fn pop_due(&mut self, now: Instant64) -> Option<(Alarm, bool)> {
        let (at, alarm) = *self.0.first().filter(|(at, _)| *at <= now)?;
        self.0.pop_first();
        Some((alarm, at + LATE <= now))
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Instant64> {
        self.0.first().map(|(at, _)| *at)
    }
}
