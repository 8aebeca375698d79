//! Workers that die at start: how long to wait before the next try, and when the pool counts as degraded.

use std::time::Duration;

use super::Settings;
use crate::time::Instant64;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The failed starts since a worker last got ready.
#[derive(Debug, Default)]
pub(super) struct Starts {
    failures: u32,
    pause: Duration,
    retry_at: Instant64,
}

impl Starts {
    /// A worker that was launched at `launched` died before it was ready. When the next may be launched.
    pub(super) fn failed(&mut self, now: Instant64, launched: Instant64, settings: &Settings) -> Instant64 {
        let forgotten = launched.since(self.retry_at + settings.restart_period) > 0;
        if self.failures == 0 || forgotten {
            self.failures = 0;
            self.pause = FIRST_PAUSE;
            self.retry_at = now + self.pause;
        } else if launched >= self.retry_at {
            // Those that were launched together fail together: one step of the back-off for all of them.
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.retry_at = now + self.pause;
        }
        self.failures = self.failures.saturating_add(1);
        self.retry_at
    }

    /// A worker got ready: all is well. When the next try was planned, if one was.
    pub(super) fn succeeded(&mut self) -> Option<Instant64> {
        let planned = (self.failures > 0).then_some(self.retry_at);
        *self = Self::default();
        planned
    }

    /// Whether so many starts failed that the pool counts as degraded.
    pub(super) fn degraded(&self, settings: &Settings) -> bool {
        self.failures > 0 && self.failures >= settings.restart_intensity
    }

    /// Whether a worker may be launched.
    pub(super) fn may_launch(&self, now: Instant64) -> bool {
        self.failures == 0 || now >= self.retry_at
    }
}
