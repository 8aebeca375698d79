//! What a worker's report means. A report about a task that the worker does not have is its fault, never the pool's end.

use super::alarms::Alarm;
use super::worker::Doom;
use super::{Effect, Pool};
use crate::dispatch::{End, Failure, Return, TaskError};
use crate::id::TaskId;
use crate::names::TaskName;
use crate::status::State;
use crate::time::Now;
use crate::worker::{CancelReason, Report, WorkerEnd};

impl Pool {
    /// From a worker. One that is gone or broke the protocol is not listened to.
    pub(super) fn heard(&mut self, now: Now, number: u32, report: Report, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get(number) else { return };
        let faulty = matches!(worker.doom, Some(Doom::Fault(_)));
        match report {
            Report::Exited { status, output } => self.gone(now, number, status, output, effects),
            _ if faulty => {}
            Report::Started { id } => self.started(now, number, id, effects),
            Report::Done { id, end } => self.done(now, number, id, end, effects),
            Report::Ready { concurrency, ahead, names } => {
                self.ready(now, number, (concurrency, ahead), names, effects);
            }
            Report::Returned { id } => self.came_back(now, number, id, effects),
            Report::Resident { bytes } => self.resident(now, number, bytes, effects),
            Report::Fault { what } => self.fault(now, number, what, effects),
        }
    }

    fn ready(
        &mut self,
        now: Now,
        number: u32,
        (concurrency, ahead): (u32, u32),
        names: Vec<TaskName>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        if worker.was_ready {
            return self.fault(now, number, "it said twice that it is ready".into(), effects);
        }
        worker.was_ready = worker.doom.is_none();
        if worker.state != State::Starting || worker.doom.is_some() {
            // Too late, or told to stop meanwhile.
            return;
        }
        worker.concurrency = concurrency.max(1);
        worker.ahead = ahead;
        worker.enter(State::Idle, now.mono);
        self.alarms.set(Alarm::Worker(number), &mut worker.alarm, None);
        if let Some(max_age) = self.settings.max_age {
            self.alarms.add(worker.born + max_age, Alarm::Age(number));
        }
        self.concurrency = worker.concurrency;
        self.crew.freed(number);
        if let Some(planned) = self.starts.succeeded() {
            self.alarms.remove(planned, Alarm::Restart);
        }
        self.learn(names, effects);
    }

    fn started(&mut self, now: Now, number: u32, id: TaskId, effects: &mut Vec<Effect>) {
        let Some(held) = self.held.get_mut(&id).filter(|held| held.worker == number) else {
            return self.stray(now, number, id, effects);
        };
        if held.started.is_some() {
            return;
        }
        held.started = Some(now.mono);
        held.dispatch.live.start(number, now.mono);
        if let Some(key) = held.dispatch.key() {
            effects.push(Effect::Started { key, name: held.dispatch.name() });
        }
        let timeout = held.dispatch.task().timeout.or(self.settings.timeout);
        if let Some(timeout) = timeout.filter(|_| held.told.is_none()) {
            self.alarms.set(Alarm::Task(id), &mut held.alarm, Some(now.mono + timeout));
        }
        if held.recalled {
            held.recalled = false;
            let cancel = held.cancel.take();
            self.recalls -= 1;
            if let Some(worker) = self.crew.get_mut(number) {
                worker.recalled -= 1;
            }
            self.crew.relist(number);
            if let Some(cancel) = cancel {
                self.cancel_running(now, cancel, effects);
            }
        }
    }

    fn done(&mut self, now: Now, number: u32, id: TaskId, end: WorkerEnd, effects: &mut Vec<Effect>) {
        if self.held.get(&id).is_none_or(|held| held.worker != number) {
            return self.late_or_stray(now, number, id, effects);
        }
        let Some(held) = self.let_go(id) else { return };
        self.learn_run(now.mono, &held);
        let unwanted = held.is_unwanted();
        let end = match (held.told, end) {
            (Some(CancelReason::Timeout), _) => End::Failed(Failure::TimedOut),
            (_, WorkerEnd::Succeeded(value)) => End::Succeeded(value),
            (_, WorkerEnd::Failed(error)) => End::Failed(Failure::Error(error)),
            (_, WorkerEnd::Snoozed(pause)) => End::Snoozed(pause),
            (_, WorkerEnd::Cancelled) if unwanted => End::Cancelled,
            (Some(_), WorkerEnd::Cancelled) => End::Returned(Return::Drain),
            (None, WorkerEnd::Cancelled) => End::Failed(Failure::Error(Box::new(gave_up()))),
        };
        self.finish(held.dispatch, end, effects);
        self.count_task(now, number, effects);
    }

    /// A worker is through with a task; it may have run enough of them.
    fn count_task(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        worker.done = worker.done.saturating_add(1);
        if self.settings.max_tasks.is_some_and(|max| worker.done >= max) {
            self.retire(now, number, effects);
        } else {
            self.settle(now, number, effects);
        }
    }

    /// A task that was sent ahead is back.
    fn came_back(&mut self, now: Now, number: u32, id: TaskId, effects: &mut Vec<Effect>) {
        let own = self.held.get(&id).is_some_and(|held| held.worker == number && held.started.is_none());
        let Some(held) = own.then(|| self.let_go(id)).flatten() else {
            return self.stray(now, number, id, effects);
        };
        match held.cancel {
            _ if held.is_unwanted() => self.finish(held.dispatch, End::Cancelled, effects),
            Some(cancel) => self.finish(held.dispatch, cancel.reason.end(), effects),
            None => self.take_back(now, held.dispatch, effects),
        }
        self.settle(now, number, effects);
    }

    fn late_or_stray(&mut self, now: Now, number: u32, id: TaskId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        if !worker.late.remove(&id) {
            return self.stray(now, number, id, effects);
        }
        self.stuck -= usize::from(worker.late.is_empty());
        self.count_task(now, number, effects);
    }

    fn stray(&mut self, now: Now, number: u32, id: TaskId, effects: &mut Vec<Effect>) {
        if self.crew.get(number).is_some_and(|worker| worker.late.contains(&id)) {
            return;
        }
        self.fault(now, number, format!("it spoke of task {id}, which it does not have"), effects);
    }

    fn resident(&mut self, now: Now, number: u32, bytes: u64, effects: &mut Vec<Effect>) {
        let Some(limit) = self.settings.memory_limit.filter(|limit| bytes > *limit) else { return };
        let Some(worker) = self.crew.get_mut(number) else { return };
        if worker.is_empty() || !self.settings.killable {
            return self.retire(now, number, effects);
        }
        let what = format!("memory limit of {limit} bytes exceeded: {bytes} bytes resident");
        self.kill(now, number, Doom::Memory(what), effects);
    }

    /// A worker that can't be trusted any more is killed at once.
    pub(super) fn fault(&mut self, now: Now, number: u32, what: String, effects: &mut Vec<Effect>) {
        self.counters.faults += 1;
        self.kill(now, number, Doom::Fault(what), effects);
    }
}

fn gave_up() -> TaskError {
    TaskError {
        kind: "Cancelled".into(),
        message: "the worker gave the task up, though nobody had asked".into(),
        trace: None,
        retry: true,
    }
}
