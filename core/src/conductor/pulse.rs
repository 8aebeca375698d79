//! The yard's pulse: each second a sign of life to the Lease, which renews the registration only while there is one, and a
//! look for what ended elsewhere.

use std::time::Duration;

use super::{Conductor, Effect};
use crate::time::{Instant64, Now, Wakeup};

const EACH: Duration = Duration::from_secs(1);

/// When the next is due; `None`: nobody waits for one.
#[derive(Debug)]
pub(super) struct Pulse(Option<Instant64>);

impl Pulse {
    /// The first is due at once.
    pub(super) fn new(shared: bool) -> Self {
        Self(shared.then_some(Instant64(0)))
    }

    pub(super) fn stop(&mut self) {
        self.0 = None;
    }

    pub(super) fn next_wakeup(&self) -> Wakeup {
        Wakeup::mono(self.0)
    }
}

impl Conductor {
    pub(super) fn beat(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.pulse.next_wakeup().is_due(now) {
            self.pulse.0 = Some(now.mono + EACH);
            effects.push(Effect::Pulse);
            self.ask_for_outcomes(now, effects);
        }
    }
}
