//! Forgetting what ended long ago.

use super::Board;
use crate::store::Answer;
use crate::time::Timestamp;

/// What is old.
#[derive(Debug, Clone, Copy)]
pub(super) struct Old {
    /// What ended before this.
    pub(super) ended_before: Timestamp,
    /// The value of what ended before this.
    pub(super) results_before: Timestamp,
    /// The oldest of what is beyond so many.
    pub(super) keep: usize,
}

impl Board {
    pub(super) fn prune(&mut self, old: Old, up_to: usize) -> Answer {
        let ended = self.ended.prune(old.ended_before, old.keep, up_to);
        let trashed = self.trash.prune(old.keep, up_to);
        let more_values = self.ended.forget_values(old.results_before, up_to);
        Answer::Pruned { rows: ended + trashed, more: ended == up_to || trashed == up_to || more_values }
    }
}
