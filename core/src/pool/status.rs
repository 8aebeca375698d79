//! How a pool is, for whoever looks. Looking changes nothing.

use super::{Counters, Pool, WorkerStatus};
use crate::time::Instant64;

/// A pool, as status pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// When this was so, on the yard's monotonic clock.
    pub at: Instant64,
    /// At least so many workers.
    pub min: u32,
    /// At most so many.
    pub max: u32,
    /// Its workers, lowest number first.
    pub workers: Vec<WorkerStatus>,
    /// How many dispatches may be claimed for it.
    pub capacity: usize,
    /// How many tasks wait that count as its demand.
    pub demand: usize,
    /// Whether it takes nothing new for now.
    pub paused: bool,
    /// Whether its workers die at start, or too many of them are stuck.
    pub degraded: bool,
    /// Whether it is known which names its workers know.
    pub learned: bool,
    /// What it has seen.
    pub counters: Counters,
}

impl Pool {
    /// How it is now.
    pub fn status(&self, at: Instant64) -> PoolStatus {
        PoolStatus {
            at,
            min: self.settings.min,
            max: self.settings.max,
            workers: self.workers().collect(),
            capacity: self.capacity(),
            demand: self.demand,
            paused: self.paused,
            degraded: self.is_degraded(),
            learned: self.names.is_some(),
            counters: self.counters(),
        }
    }
}
