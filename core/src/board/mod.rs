//! The memory Board: the record of every accepted task, answered as the durable stores answer.

use std::time::Duration;

use crate::defaults;

/// How a board is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many unfinished tasks it keeps.
    pub board_max: usize,
    /// How many lanes may have unfinished tasks.
    pub lanes_max: usize,
    /// See [`Order`](crate::dispatch::Order); zero: strictly by priority.
    pub aging: Duration,
    /// Whether a task that no pool takes is refused at submit, instead of waiting for a pool.
    pub reject_unroutable: bool,
    /// How many ended tasks are remembered.
    pub remembered: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            board_max: defaults::BOARD_MAX,
            lanes_max: defaults::LANES_MAX,
            aging: defaults::AGING,
            reject_unroutable: false,
            remembered: defaults::REMEMBERED,
        }
    }
}
