//! How long tasks of a name run in the mean, and so which are quick enough to be sent ahead.

use crate::map::Map;
use crate::names::TaskName;

/// A mean run below this, in microseconds, is quick.
const QUICK: i64 = 1_000;
/// The newest run weighs 1 / `WEIGHT`.
const WEIGHT: i64 = 8;
/// Fixed-point digits of the mean, so that short runs are not rounded away.
const SCALE: i64 = 1 << 8;
/// Longer runs count as so long; far from quick anyway.
const LONGEST: i64 = 60_000_000;

/// The mean runs, and whether it looks as if what comes next is quick.
#[derive(Debug, Default)]
pub(super) struct Pace {
    means: Map<TaskName, i64>,
    open: bool,
}

impl Pace {
    /// A task of this name ran for so many microseconds. If the name is quick, more may be sent ahead.
    pub(super) fn ran(&mut self, name: &TaskName, micros: i64) {
        let run = micros.clamp(0, LONGEST) * SCALE;
        let mean = match self.means.get_mut(name) {
            Some(mean) => {
                *mean += (run - *mean) / WEIGHT;
                *mean
            }
            None => *self.means.entry(name.clone()).or_insert(run),
        };
        self.open |= mean < QUICK * SCALE;
    }

    /// Whether a task of this name may be sent ahead. One that may not closes the door until a quick one ends. A name that
    /// never ran is not quick.
    pub(super) fn lets_ahead(&mut self, name: &TaskName) -> bool {
        let quick = self.means.get(name).is_some_and(|mean| *mean < QUICK * SCALE);
        self.open &= quick;
        quick
    }

    /// Whether it makes sense to take anything in to be sent ahead.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }
}
