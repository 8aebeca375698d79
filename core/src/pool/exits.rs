//! What becomes of a worker that is gone and of what it had: what counts as started ended with it, the rest goes back.

use super::alarms::Alarm;
use super::worker::{Doom, Held, Worker};
use super::{Effect, Pool, Settings};
use crate::dispatch::{End, Failure, Loss, Return};
use crate::time::{Instant64, Now};
use crate::worker::CancelReason;

impl Pool {
    /// A worker was reaped, or never came to be.
    pub(super) fn gone(
        &mut self,
        now: Now,
        number: u32,
        status: String,
        output: String,
        effects: &mut Vec<Effect>,
    ) {
        self.break_promises(number, effects);
        let Some(mut worker) = self.crew.remove(number, now.mono) else { return };
        self.alarms.set(Alarm::Worker(number), &mut worker.alarm, None);
        self.alarms.set(Alarm::Stall(number), &mut worker.stall, None);
        if let Some(max_age) = self.settings.max_age {
            self.alarms.remove(worker.born + max_age, Alarm::Age(number));
        }
        self.stuck -= usize::from(!worker.late.is_empty());
        if died_at_start(&worker, now.mono, &self.settings) {
            self.counters.failed_starts += 1;
            let retry_at = self.starts.failed(now.mono, worker.born, &self.settings);
            self.alarms.add(retry_at, Alarm::Restart);
        }
        let status = match &worker.doom {
            Some(Doom::Memory(what) | Doom::Fault(what)) => what.clone(),
            _ => status,
        };
        self.settle_estate(worker, &Loss { status, output }, effects);
    }

    fn settle_estate(&mut self, worker: Worker, loss: &Loss, effects: &mut Vec<Effect>) {
        let seen = |id| self.held.get(id).is_some_and(|held: &Held| held.started.is_some());
        let seen = worker.sent.iter().filter(|(_, id)| seen(id)).count();
        let mut unseen = (worker.concurrency as usize).saturating_sub(seen);
        for (_, id) in worker.sent {
            let Some(held) = self.let_go(id) else { continue };
            let started = held.started.is_some() || unseen > 0;
            unseen -= usize::from(started && held.started.is_none());
            let end = if started { Some(end_of_started(&held, worker.doom.as_ref(), loss)) } else { None };
            match end.or_else(|| held.cancel.as_ref().map(|cancel| cancel.reason.end())) {
                Some(end) => self.finish(held.dispatch, end, effects),
                None => self.give_back(held.dispatch, effects),
            }
        }
    }
}

/// Whether this death speaks against launching the next at once. So does one soon after it got ready, with nothing done:
/// otherwise a worker that dies whenever it idles would be replaced as fast as processes can be made.
fn died_at_start(worker: &Worker, now: Instant64, settings: &Settings) -> bool {
    let young = now < worker.born + settings.restart_period;
    let useless = young && worker.done == 0 && worker.sent.is_empty() && worker.late.is_empty();
    !worker.retiring && (!worker.was_ready || useless)
}

fn end_of_started(held: &Held, doom: Option<&Doom>, loss: &Loss) -> End {
    match (held.told, doom) {
        (Some(CancelReason::Timeout), _) => End::Failed(Failure::TimedOut),
        _ if held.is_unwanted() => End::Cancelled,
        (Some(CancelReason::Shutdown), _) | (_, Some(Doom::Drain)) => End::Returned(Return::Drain),
        (_, Some(Doom::Ladder)) => End::Returned(Return::Setback),
        _ => End::Failed(Failure::Lost(Box::new(loss.clone()))),
    }
}
