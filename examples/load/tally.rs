//! What became of the tasks of a load.

use taskyard::{BatchHandle, YardDown};

use crate::handler::micros_now;
use crate::spans::Spans;

/// How many, and how long they took, in microseconds from submit.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    /// Until the board had it; only where tasks are submitted one by one.
    pub(crate) to_accepted: Spans,
    pub(crate) to_start: Spans,
    pub(crate) to_outcome: Spans,
}

impl Tally {
    /// A task ended that was submitted and started then; `None`: it failed.
    pub(crate) fn add(&mut self, submitted: u64, started: Option<u64>, ended: u64) {
        let Some(started) = started else {
            self.failed += 1;
            return;
        };
        self.succeeded += 1;
        self.to_start.add(started.saturating_sub(submitted));
        self.to_outcome.add(ended.saturating_sub(submitted));
    }

    /// Waits for all tasks of a batch that was submitted then.
    pub(crate) async fn follow(
        &mut self,
        submitted: u64,
        mut batch: BatchHandle<u64>,
    ) -> Result<(), YardDown> {
        while let Some((_, started)) = batch.next().await? {
            self.add(submitted, started.ok(), micros_now());
        }
        Ok(())
    }

    /// Those too.
    pub(crate) fn merge(&mut self, others: &Self) {
        self.succeeded += others.succeeded;
        self.failed += others.failed;
        self.refused += others.refused;
        self.to_accepted.merge(&others.to_accepted);
        self.to_start.merge(&others.to_start);
        self.to_outcome.merge(&others.to_outcome);
    }
}
