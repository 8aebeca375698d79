//! A pause after something was asked for in vain, although the board says that there is some.
//!
//! It grows slowly: where many rows of one key are due at one instant, promoting a thousand of them looks the same.

use std::time::Duration;

use crate::time::{Instant64, Now};

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(160);
/// After so many in a row the pause is twice the first.
const DOUBLES_AFTER: u32 = 16;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    until: Option<Instant64>,
    in_vain: u32,
}

impl Rest {
    pub(super) fn was_in_vain(&mut self, now: Now) {
        let pause = FIRST * (DOUBLES_AFTER + self.in_vain) / DOUBLES_AFTER;
        self.until = Some(now.mono + pause.min(LONGEST));
        self.in_vain = self.in_vain.saturating_add(1).min(1_000);
    }

    /// Asking made sense.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether it is time to ask again.
    pub(super) fn is_over(&mut self, now: Now) -> bool {
        self.until = self.until.filter(|until| *until > now.mono);
        self.until.is_none()
    }

    pub(super) fn until(self) -> Option<Instant64> {
        self.until
    }
}
