//! How many tasks ended in which way since the yard started. Counts, and decides nothing.

use crate::dispatch::Outcome;

/// Ended tasks by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Done.
    pub succeeded: u64,
    /// Cancelled by somebody.
    pub cancelled: u64,
    /// Expired before they started.
    pub expired: u64,
    /// Dropped for a duplicate.
    pub discarded: u64,
    /// Failed for good.
    pub trashed: u64,
}

impl Totals {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Succeeded(_) | Outcome::ValueGone => &mut self.succeeded,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Expired => &mut self.expired,
            Outcome::Discarded { .. } => &mut self.discarded,
            Outcome::Trashed(_) => &mut self.trashed,
        } += 1;
    }

    /// All of them.
    pub fn sum(self) -> u64 {
        self.succeeded + self.cancelled + self.expired + self.discarded + self.trashed
    }
}
