//! How a pool is, for whoever looks. Looking changes nothing.

use super::Pool;
use crate::status::PoolStatus;
use crate::time::Instant64;

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
