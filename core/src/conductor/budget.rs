//! What a pool may have in the yard, and has. Counts, and decides nothing.

use super::pace::Pace;
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
    /// What it finishes while a claim is on its way.
    pub(super) pace: Pace,
    /// Whether a claim is on its way.
    pub(super) claiming: bool,
    /// Whether a preload is on its way.
    pub(super) preloading: bool,
}

impl PoolBudget {
    pub(super) fn room(self) -> usize {
        self.slots.saturating_sub(self.counted + self.asked)
    }

    /// A claim is asked for what is free when its answer comes. A post is not: what it leaves waits for the next claim, and
    /// whoever has a free slot now may be quicker.
    pub(super) fn room_to_claim(self) -> usize {
        let reserve = if self.slots > 0 { self.pace.reserve() } else { 0 };
        (self.slots + reserve).saturating_sub(self.counted + self.asked)
    }

    /// A pool that takes nothing has no room for what is not due either.
    pub(super) fn room_near(self, near_max: usize) -> usize {
        let near_max = if self.slots > 0 { near_max } else { 0 };
        near_max.saturating_sub(self.near + self.asked_near)
    }
}
