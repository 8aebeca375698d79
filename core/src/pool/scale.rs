//! How many workers there should be: up at once, down after a while, never beyond the bounds. Never stops a task.

use super::alarms::Alarm;
use super::{Effect, Pool};
use crate::status::State;
use crate::time::Now;
use crate::worker::Command;

impl Pool {
    /// At the end of each turn: launches what is missing, lets go who idled long enough.
    pub(super) fn resize(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.shrink_at = None;
        if self.draining.begun() {
            return;
        }
        let wanted = self.wanted();
        while self.crew.sums().serving < wanted && self.may_launch(now) {
            self.launch(now, effects);
        }
        if self.crew.sums().serving > self.settings.max as usize {
            self.keep_to_max(now, effects);
        }
        self.let_surplus_go(now, wanted, effects);
    }

    /// From the Conductor: other bounds.
    pub(super) fn rescale(&mut self, min: u32, max: u32) {
        self.settings.max = max.max(1);
        self.settings.min = min.min(self.settings.max);
    }

    /// By how many workers it could grow.
    pub(super) fn may_grow_by(&self) -> usize {
        // A stuck worker was replaced, so that it takes nobody's place.
        let replaced = self.stuck.min(self.settings.max_stuck as usize);
        (self.settings.max as usize).saturating_sub(self.crew.len() - replaced)
    }

    fn wanted(&self) -> usize {
        let demand = if self.paused { 0 } else { self.demand };
        let tasks = self.crew.sums().busy + demand;
        let needed = tasks.div_ceil(self.concurrency as usize) + self.settings.spare as usize;
        // One worker is tried for as long as nobody knows its names, or whether any gets ready.
        let tried = usize::from(self.names.is_none() || self.starts.degraded(&self.settings));
        needed.max(tried).clamp(self.settings.min as usize, self.settings.max as usize)
    }

    fn may_launch(&self, now: Now) -> bool {
        let one_at_a_time = self.names.is_none() || self.starts.degraded(&self.settings);
        let waits = one_at_a_time && self.crew.sums().starting > 0;
        self.may_grow_by() > 0 && self.starts.may_launch(now.mono) && !waits
    }

    fn launch(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let number = self.crew.add(now.mono);
        self.counters.launched += 1;
        if let Some(worker) = self.crew.get_mut(number) {
            worker.concurrency = self.concurrency;
            let ready_at = now.mono + self.settings.ready_within;
            self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(ready_at));
        }
        self.crew.relist(number);
        self.tell(number, Command::Launch, effects);
    }

    fn let_surplus_go(&mut self, now: Now, wanted: usize, effects: &mut Vec<Effect>) {
        if self.crew.sums().serving <= wanted {
            self.surplus_since = None;
            return;
        }
        // A spare worker may have idled long; as surplus it goes only if it is not needed again soon.
        let surplus_since = *self.surplus_since.get_or_insert(now.mono);
        while self.crew.sums().serving > wanted {
            let Some((number, idle_since)) = self.crew.longest_idle() else { return };
            let goes_at = idle_since.max(surplus_since) + self.settings.idle_for;
            if goes_at > now.mono {
                self.shrink_at = Some(goes_at);
                return;
            }
            self.retire(now, number, effects);
        }
    }

    /// After a change of bounds, or when a stuck worker came back: who is beyond `max` leaves, those first that run nothing.
    fn keep_to_max(&mut self, now: Now, effects: &mut Vec<Effect>) {
        for state in [State::Idle, State::Starting, State::Busy] {
            for number in self.crew.numbers(|worker| worker.offer.serving && worker.state == state) {
                if self.crew.sums().serving <= self.settings.max as usize {
                    return;
                }
                self.retire(now, number, effects);
            }
        }
    }
}
