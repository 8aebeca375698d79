//! What few rows have: a past, a wish to be cancelled, a batch. Kept aside, so that a task that merely waits stays small.

use crate::dispatch::Failure;
use crate::id::Epoch;
use crate::store::{AttemptEnd, AttemptRecord, BatchId, OwnerId};
use crate::time::Timestamp;

/// Of a task that goes wrong for ever the last so many passes are kept.
const LOG_MAX: usize = 1_000;

/// What few rows have.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The batch whose end it holds up.
    pub(super) batch: Option<BatchId>,
    /// Setbacks in a row.
    pub(super) setbacks: u32,
    /// Deliveries in a row whose end nobody reported.
    pub(super) crash_marks: u32,
    /// Somebody wants it cancelled while another has it: it must not run again.
    pub(super) unwanted: bool,
    pub(super) log: Vec<AttemptRecord>,
}

impl Extras {
    /// Records how a pass ended.
    pub(super) fn note(&mut self, epoch: Epoch, owner: OwnerId, ended: Timestamp, end: AttemptEnd) {
        if self.log.len() == LOG_MAX {
            self.log.remove(0);
        }
        self.log.push(AttemptRecord { epoch, ended, owner, end });
    }

    /// The task is posted again: what it counts starts anew, its log goes on.
    pub(super) fn start_anew(&mut self) {
        *self = Self { log: std::mem::take(&mut self.log), ..Self::default() };
    }

    pub(super) fn last_error(&self) -> Option<&Failure> {
        self.log.iter().rev().find_map(|record| match &record.end {
            AttemptEnd::Failed(failure) => Some(failure),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_task_that_goes_wrong_for_ever_has_a_bound() {
        let mut extras = Extras::default();
        for epoch in 1..=1_002 {
            extras.note(epoch, OwnerId::SOLE, Timestamp(0), AttemptEnd::Setback);
        }
        let epochs = extras.log.iter().map(|record| record.epoch);
        assert_eq!(epochs.collect::<Vec<_>>(), (3..=1_002).collect::<Vec<_>>());
    }
}
