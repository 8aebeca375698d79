//! Whether what was sent ahead waits behind a task that runs long: then it goes back, so that whoever has room takes it. A
//! worker on which that happened is sent nothing ahead until a task of it ends.

use std::time::Duration;

use super::alarms::Alarm;
use super::{Effect, Pool};
use crate::time::Now;

/// How long what was sent ahead waits while nothing ends before it. Ten times what counts as quick; workers report within a
/// few milliseconds.
const STALL: Duration = Duration::from_millis(10);

impl Pool {
    /// Something was sent to this worker: if it waits there, somebody looks after it.
    pub(super) fn watch_for_stall(&mut self, now: Now, number: u32) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        if worker.stall.is_none() && worker.sent.len() > worker.concurrency as usize {
            self.alarms.set(Alarm::Stall(number), &mut worker.stall, Some(now.mono + STALL));
        }
    }

    /// The worker's alarm: looks again later, or takes back what waits in it.
    pub(super) fn look_for_stall(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        worker.stall = None;
        let Some((_, first)) = worker.sent.get(worker.concurrency as usize) else { return };
        let Some(sent) = self.held.get(first).map(|held| held.sent) else { return };
        let stalls_at = sent.max(worker.last_done) + STALL;
        if stalls_at > now.mono {
            return self.alarms.set(Alarm::Stall(number), &mut worker.stall, Some(stalls_at));
        }
        worker.stalled = true;
        self.crew.relist(number);
        self.recall_all(number, effects);
    }
}
