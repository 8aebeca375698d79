//! Which tasks are sent ahead to busy workers and when they are recalled. Never while another worker idles.

use std::time::Duration;

use super::worker::Held;
use super::{Effect, Pool};
use crate::id::TaskId;
use crate::names::TaskName;
use crate::time::Instant64;
use crate::worker::Command;

/// How long a worker idles before it is given what waits in another. Within this time what waits may have run, and what the
/// Queuer holds has arrived: a worker that finished a batch is not worth a recall.
const PATIENCE: Duration = Duration::from_millis(1);

impl Pool {
    /// How many dispatches it takes beyond its free slots.
    pub(super) fn credits_ahead(&self) -> usize {
        let sums = self.crew.sums();
        if self.pace.is_open() && sums.free == 0 { sums.room } else { 0 }
    }

    /// How many dispatches may be claimed for being sent ahead, whether they have been or not.
    pub(super) fn capacity_ahead(&self) -> usize {
        let sums = self.crew.sums();
        if self.pace.is_open() { sums.room + sums.ahead } else { 0 }
    }

    /// Who takes a task of this name ahead. One that is not quick closes the credits that brought it.
    pub(super) fn worker_ahead_for(&mut self, name: &TaskName) -> Option<u32> {
        let number = self.crew.most_room()?;
        self.pace.lets_ahead(name).then_some(number)
    }

    /// A task ended by itself: learns its run, if tasks may be sent ahead to such a worker at all.
    pub(super) fn learn_run(&mut self, now: Instant64, held: &Held) {
        let Some(worker) = self.crew.get_mut(held.worker) else { return };
        let last = std::mem::replace(&mut worker.last_done, now);
        worker.stalled = false;
        if !self.settings.send_ahead || worker.ahead == 0 {
            return;
        }
        let began = match worker.concurrency {
            // Reports come in batches, so `started` may be seen only together with `done`.
            1 => held.sent.max(last),
            _ => held.started.unwrap_or(held.sent),
        };
        self.pace.ran(held.dispatch.task().name(), now.since(began));
    }

    /// Asks a worker to give a task back that waits in it.
    pub(super) fn recall(&mut self, id: TaskId, effects: &mut Vec<Effect>) {
        let Some(held) = self.held.get_mut(&id) else { return };
        if held.recalled || held.started.is_some() {
            return;
        }
        held.recalled = true;
        let number = held.worker;
        self.recalls += 1;
        if let Some(worker) = self.crew.get_mut(number) {
            worker.recalled += 1;
        }
        self.crew.relist(number);
        self.tell(number, Command::Recall { id }, effects);
    }

    /// Asks a worker to give back whatever waits in it; what waits for a slot of it goes back at once.
    pub(super) fn recall_all(&mut self, number: u32, effects: &mut Vec<Effect>) {
        self.break_promises(number, effects);
        let Some(worker) = self.crew.get(number) else { return };
        let queue: Vec<_> = worker.queue().collect();
        for id in queue {
            self.recall(id, effects);
        }
    }

    /// While a worker has a free slot and nothing is coming, takes from the fullest what waits there.
    pub(super) fn level_out(&mut self, now: Instant64, effects: &mut Vec<Effect>) {
        if !self.is_uneven() {
            self.level_at = None;
            return;
        }
        if *self.level_at.get_or_insert(now + PATIENCE) > now {
            return;
        }
        self.level_at = None;
        while self.is_uneven() {
            let Some(id) = self.last_ahead() else { return };
            self.recall(id, effects);
        }
    }

    fn is_uneven(&self) -> bool {
        let sums = self.crew.sums();
        self.demand == 0 && sums.free > self.recalls && sums.ahead > 0
    }

    fn last_ahead(&self) -> Option<TaskId> {
        let worker = self.crew.get(self.crew.fullest()?)?;
        let unasked = |id: &TaskId| self.held.get(id).is_some_and(|h| !h.recalled && h.started.is_none());
        worker.queue().find(unasked)
    }
}
