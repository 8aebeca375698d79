//! What a pool may have in the yard, and has. Counts, and decides nothing.

use super::rest::Rest;

/// What a pool may have, and has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PoolBudget {
    /// How many dispatches may be claimed for it.
    pub(super) slots: usize,
    /// How many are.
    pub(super) counted: usize,
    /// How many are not due yet.
    pub(super) near: usize,
    /// How many more may come with answers that are on their way.
    pub(super) asked: usize,
    /// The same of those that are not due yet.
    pub(super) asked_near: usize,
    /// When the next claim makes sense, if the last one brought nothing all the same.
    pub(super) rest: Rest,
    /// Whether a claim is on its way.
    pub(super) claiming: bool,
    /// Whether a preload is on its way.
    pub(super) preloading: bool,
}

impl PoolBudget {
    pub(super) fn room(self) -> usize {
        self.slots.saturating_sub(self.counted + self.asked)
    }

    pub(super) fn room_near(self, near_max: usize) -> usize {
        near_max.saturating_sub(self.near + self.asked_near)
    }
}
