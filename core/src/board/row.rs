//! One unfinished task on the board.

use std::sync::Arc;

use crate::dispatch::{Failure, Order};
use crate::filing;
use crate::id::{Epoch, PoolId};
use crate::lanes::LaneId;
use crate::store::{Claimed, RowState};
use crate::task::{DueAt, Key, Task};
use crate::time::Timestamp;

/// One unfinished task.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) task: Arc<Task>,
    pub(super) order: Order,
    pub(super) posted: Timestamp,
    /// On the wall clock; a time in the past means at once.
    pub(super) due: Timestamp,
    pub(super) expires: Option<Timestamp>,
    pub(super) last_error: Option<Box<Failure>>,
    pub(super) lane: LaneId,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) setbacks: u32,
    pub(super) judged: bool,
    /// Ready or claimed under a key of which only so many may be.
    pub(super) counted: bool,
    pub(super) state: RowState,
}

impl Row {
    /// The key of which only a bounded number is ready or claimed, the others being behind.
    pub(super) fn serial_key(&self) -> Option<(Key, u32)> {
        filing::serial_key(self.task.key, self.task.limits)
    }

    /// Whether it must be judged against the others of its key before it counts.
    pub(super) fn must_be_judged(&self) -> bool {
        filing::must_be_judged(self.task.key, self.task.limits, self.judged)
    }

    /// The claim of this row, for a pool.
    pub(super) fn claimed(&self, pool: PoolId, due: DueAt) -> Claimed {
        Claimed {
            task: Arc::clone(&self.task),
            pool,
            order: self.order,
            epoch: self.epoch,
            attempts: self.attempts,
            setbacks: self.setbacks,
            crash_marks: 0,
            due,
            expires: self.expires,
            judged: self.judged,
            unjudged: self.must_be_judged(),
            posted: self.posted,
        }
    }
}
