//! One unfinished task on the board.

use std::sync::Arc;

use crate::dispatch::{Failure, Order};
use crate::id::{Epoch, PoolId, Sequence};
use crate::lanes::LaneId;
use crate::store::{Claimed, RowState};
use crate::task::{DueAt, Key, Task};
use crate::time::{Now, Timestamp};

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
        let limits = self.task.limits;
        let bounded = limits.running != crate::task::KeyLimits::UNLIMITED && !limits.bounds_waiting();
        self.task.key.filter(|_| bounded).map(|key| (key, limits.running))
    }

    /// Whether it must be judged against the others of its key before it counts.
    pub(super) fn must_be_judged(&self) -> bool {
        !self.judged && self.task.key.is_some() && self.task.limits.bounds_waiting()
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

/// The place in the order of what becomes due at `due` (see [`Order`]).
pub(super) fn order(task: &Task, due: Timestamp, posted: Timestamp, sequence: Sequence, aging: i64) -> Order {
    let priority = i64::from(task.priority.get());
    let lead = if aging == 0 { priority << 56 } else { priority.saturating_mul(aging) };
    let rank = if aging == 0 { -lead } else { due.max(posted).0.saturating_sub(lead) };
    Order { rank, sequence }
}

/// A due time on the wall clock.
pub(super) fn wall(due: DueAt, now: Now) -> Timestamp {
    match due {
        DueAt::Now => now.wall,
        DueAt::Mono(at) => Timestamp(now.wall.0.saturating_add(at.since(now.mono))),
        DueAt::Wall(at) => at,
    }
}

/// Whether a due time has come, on the clock that it is on.
pub(super) fn is_due(due: DueAt, now: Now) -> bool {
    match due {
        DueAt::Now => true,
        DueAt::Mono(at) => at <= now.mono,
        DueAt::Wall(at) => at <= now.wall,
    }
}
