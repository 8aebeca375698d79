//! One unfinished task on the board.

use std::sync::Arc;

use super::extras::Extras;
use crate::dispatch::Order;
use crate::filing;
use crate::id::{Epoch, PoolId};
use crate::lanes::LaneId;
use crate::store::{AttemptEnd, Claimed, OwnerId, RowState};
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
    pub(super) expires: Expiry,
    pub(super) extras: Option<Box<Extras>>,
    /// Whose the latest pass is, or was.
    pub(super) owner: OwnerId,
    pub(super) lane: LaneId,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
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

    /// Whether this owner has it.
    pub(super) fn is_held_by(&self, owner: OwnerId) -> bool {
        self.state == RowState::Claimed && self.owner == owner
    }

    /// The next pass begins, under this owner.
    pub(super) fn begin(&mut self, owner: OwnerId) {
        self.state = RowState::Claimed;
        self.owner = owner;
        self.epoch += 1;
    }

    /// The claim of this row, for a pool.
    pub(super) fn claimed(&self, pool: PoolId, due: DueAt) -> Claimed {
        let extras = self.extras.as_deref();
        Claimed {
            task: Arc::clone(&self.task),
            pool,
            order: self.order,
            epoch: self.epoch,
            attempts: self.attempts,
            setbacks: extras.map_or(0, |extras| extras.setbacks),
            crash_marks: extras.map_or(0, |extras| extras.crash_marks),
            due,
            expires: self.expires.at(),
            judged: self.judged,
            unjudged: self.must_be_judged(),
            posted: self.posted,
        }
    }

    pub(super) fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Records how the present pass ended.
    pub(super) fn note(&mut self, now: Now, end: AttemptEnd) {
        let (epoch, owner) = (self.epoch, self.owner);
        self.extras_mut().note(epoch, owner, now.wall, end);
    }

    /// Whether it went wrong before.
    pub(super) fn has_log(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| !extras.log.is_empty())
    }

    /// Whether it must not run again.
    pub(super) fn is_unwanted(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.unwanted)
    }
}

/// When a row expires, if it does: half the size of an `Option`, as there is one for each row that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry(Timestamp);

impl Expiry {
    const NEVER: Self = Self(Timestamp(i64::MAX));

    pub(super) fn at(self) -> Option<Timestamp> {
        (self != Self::NEVER).then_some(self.0)
    }

    pub(super) fn has_come(self, now: Now) -> bool {
        self != Self::NEVER && self.0 <= now.wall
    }
}

impl From<Option<Timestamp>> for Expiry {
    fn from(at: Option<Timestamp>) -> Self {
        at.map_or(Self::NEVER, Self)
    }
}
