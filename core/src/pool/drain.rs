//! Pause and drain: what no longer starts goes back, what runs has its grace, and the last worker is waited for.

use super::alarms::Alarm;
use super::worker::{Doom, Rung, Worker};
use super::{Effect, Pool};
use crate::time::Now;
use crate::worker::CancelReason;

/// How far the drain is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Draining {
    /// No mark came.
    #[default]
    No,
    /// No mark came yet, but once it comes nothing is waited for: the order to hurry travels a shorter way.
    Hurried,
    /// What runs has `drain_grace`.
    Graceful,
    /// What runs was told to end.
    Over,
}

impl Draining {
    /// Whether the drain mark came.
    pub(super) fn begun(self) -> bool {
        matches!(self, Self::Graceful | Self::Over)
    }
}

impl Pool {
    /// From the Conductor: takes nothing new, or does again.
    pub(super) fn pause(&mut self, now: Now, paused: bool, effects: &mut Vec<Effect>) {
        self.paused = paused;
        if paused {
            let waits = |worker: &Worker| worker.offer.ahead > 0 || !worker.promised.is_empty();
            for number in self.crew.numbers(waits) {
                self.recall_all(number, effects);
                self.settle(now, number, effects);
            }
        }
    }

    /// The drain mark.
    pub(super) fn drain(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.draining.begun() {
            return;
        }
        let hurried = self.draining == Draining::Hurried;
        self.draining = Draining::Graceful;
        for number in self.crew.numbers(|_| true) {
            self.retire(now, number, effects);
        }
        if hurried {
            self.drain_grace_over(now, effects);
        } else {
            self.alarms.add(now.mono + self.settings.drain_grace, Alarm::Drain);
        }
    }

    /// From the Conductor: nothing is waited for.
    pub(super) fn force(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.draining.begun() {
            self.drain_grace_over(now, effects);
        } else {
            self.draining = Draining::Hurried;
        }
    }

    /// Ends what still runs: told and SIGTERM together, SIGKILL after `kill_after`.
    pub(super) fn drain_grace_over(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.draining != Draining::Graceful {
            return;
        }
        self.draining = Draining::Over;
        for number in self.crew.numbers(|worker| worker.rung < Rung::Term) {
            let Some(worker) = self.crew.get(number) else { continue };
            let slots = worker.concurrency as usize;
            let running: Vec<_> = worker.sent.iter().take(slots).map(|(_, id)| *id).collect();
            for id in running {
                self.tell_to_end(now, id, CancelReason::Shutdown, effects);
            }
            self.terminate(now, number, Doom::Drain, effects);
        }
    }
}
