//! How a task or a worker that does not end is made to: told, then SIGTERM, then SIGKILL. Never judges how a task ended.

use std::time::Duration;

use super::alarms::{Alarm, SECOND_LOOK};
use super::worker::{Doom, Rung};
use super::{Effect, Pool};
use crate::dispatch::{End, Failure};
use crate::id::TaskId;
use crate::status::State;
use crate::time::{Now, earlier};
use crate::worker::{CancelReason, Command, Signal};

/// How long a task that is another's has from being told to SIGTERM, and its worker from there to SIGKILL, if not less: in
/// all less than the second that is left of the lease when it is taken for lost.
const DISOWNED_GRACE: Duration = Duration::from_millis(250);
const DISOWNED_KILL_AFTER: Duration = Duration::from_millis(500);

impl Pool {
    /// Tells a task that it should end. Its worker takes nothing new until it did, since it may have to be killed.
    pub(super) fn tell_to_end(&mut self, now: Now, id: TaskId, why: CancelReason, effects: &mut Vec<Effect>) {
        let Some(held) = self.held.get_mut(&id) else { return };
        let number = held.worker;
        match held.told {
            // A shutdown gives the task back; a person does not want it back.
            Some(CancelReason::Shutdown) => {
                held.told = Some(why);
                return;
            }
            Some(_) => return,
            None => held.told = Some(why),
        }
        if self.settings.killable {
            let term_at = now.mono + self.settings.grace;
            self.alarms.set(Alarm::Task(id), &mut held.alarm, Some(term_at));
        }
        if let Some(worker) = self.crew.get_mut(number) {
            worker.told += 1;
        }
        self.crew.relist(number);
        self.tell(number, Command::Cancel { id, reason: why }, effects);
        if self.settings.killable {
            self.recall_all(number, effects);
        }
    }

    /// What was told to end runs elsewhere soon: no longer graces count.
    pub(super) fn hurry(&mut self, now: Now, id: TaskId) {
        let Some(held) = self.held.get_mut(&id).filter(|_| self.settings.killable) else { return };
        let term_at = now.mono + self.settings.grace.min(DISOWNED_GRACE);
        let term_at = earlier(held.alarm, Some(term_at));
        self.alarms.set(Alarm::Task(id), &mut held.alarm, term_at);
        let number = held.worker;
        let Some(worker) = self.crew.get_mut(number) else { return };
        let kill_after = self.settings.kill_after.min(DISOWNED_KILL_AFTER);
        worker.hurry = Some(kill_after);
        if worker.rung == Rung::Term {
            let kill_at = earlier(worker.alarm, Some(now.mono + kill_after));
            self.alarms.set(Alarm::Worker(number), &mut worker.alarm, kill_at);
        }
    }

    /// A task's alarm: its time limit, or its grace after it was told.
    pub(super) fn time_is_up(&mut self, now: Now, id: TaskId, late: bool, effects: &mut Vec<Effect>) {
        let Some(held) = self.held.get_mut(&id) else { return };
        held.alarm = None;
        let (number, told) = (held.worker, held.told);
        if late && told.is_none() {
            return self.alarms.set(Alarm::Task(id), &mut held.alarm, Some(now.mono + SECOND_LOOK));
        }
        match told {
            _ if !self.settings.killable => self.leave_behind(now, id, effects),
            None => self.tell_to_end(now, id, CancelReason::Timeout, effects),
            Some(_) => self.terminate(now, number, Doom::Ladder, effects),
        }
    }

    /// What can't be killed ends here at its deadline, though it runs on: its worker is stuck.
    fn leave_behind(&mut self, now: Now, id: TaskId, effects: &mut Vec<Effect>) {
        let Some(held) = self.let_go(id) else { return };
        let number = held.worker;
        self.recall_all(number, effects);
        if let Some(worker) = self.crew.get_mut(number) {
            self.stuck += usize::from(worker.late.is_empty());
            worker.late.insert(id);
        }
        self.crew.relist(number);
        if held.told.is_none() {
            self.tell(number, Command::Cancel { id, reason: CancelReason::Timeout }, effects);
        }
        let end = if held.is_unwanted() { End::Cancelled } else { End::Failed(Failure::TimedOut) };
        self.finish(held.dispatch, end, effects);
        self.settle(now, number, effects);
    }

    /// A worker leaves once nothing runs on it.
    pub(super) fn retire(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        worker.retiring = true;
        self.crew.relist(number);
        self.recall_all(number, effects);
        self.settle(now, number, effects);
    }

    /// Tells a worker on which nothing runs to end.
    pub(super) fn order_stop(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number).filter(|worker| worker.rung == Rung::Calm) else {
            return;
        };
        worker.rung = Rung::Asked;
        worker.enter(State::Stopping, now.mono);
        self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(now.mono + self.settings.grace));
        self.crew.relist(number);
        self.tell(number, Command::Stop, effects);
    }

    /// A worker's alarm: it did not get ready, or did not end.
    pub(super) fn next_rung(&mut self, now: Now, number: u32, late: bool, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return };
        worker.alarm = None;
        match worker.rung {
            Rung::Calm if late => {
                self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(now.mono + SECOND_LOOK));
            }
            Rung::Calm if worker.was_ready => self.watch_start(now, number, effects),
            Rung::Calm => self.kill(now, number, Doom::Unready, effects),
            Rung::Asked => self.terminate(now, number, Doom::Ladder, effects),
            Rung::Term | Rung::Kill => self.kill(now, number, Doom::Ladder, effects),
        }
    }

    /// Looks now and then whether a busy worker starts what it has slots for: time limits run from the start, so that one
    /// that is frozen would keep a task for ever.
    fn watch_start(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number).filter(|worker| !worker.is_empty()) else { return };
        let slots = worker.sent.iter().take(worker.concurrency as usize);
        let unstarted = slots.filter_map(|(_, id)| self.held.get(id)).find(|held| held.started.is_none());
        let within = self.settings.ready_within;
        match unstarted {
            Some(held) if held.sent.max(worker.last_done) + within <= now.mono => {
                let what = format!("it did not start task {} within {within:?}", held.dispatch.id());
                self.fault(now, number, what, effects);
            }
            _ => self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(now.mono + within)),
        }
    }

    /// SIGTERM to the worker's group.
    pub(super) fn terminate(&mut self, now: Now, number: u32, doom: Doom, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number).filter(|worker| worker.rung < Rung::Term) else {
            return;
        };
        worker.rung = Rung::Term;
        worker.doom.get_or_insert(doom);
        worker.enter(State::Stopping, now.mono);
        let kill_at = now.mono + worker.hurry.unwrap_or(self.settings.kill_after);
        self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(kill_at));
        self.crew.relist(number);
        self.break_promises(number, effects);
        if self.settings.killable {
            self.tell(number, Command::Signal(Signal::Term), effects);
        }
    }

    /// SIGKILL to the worker's group. What can't be killed is given up for gone.
    pub(super) fn kill(&mut self, now: Now, number: u32, doom: Doom, effects: &mut Vec<Effect>) {
        let killable = self.settings.killable;
        let Some(worker) = self.crew.get_mut(number) else { return };
        if matches!(doom, Doom::Fault(_)) {
            worker.doom = Some(doom);
        } else {
            worker.doom.get_or_insert(doom);
        }
        let before = std::mem::replace(&mut worker.rung, Rung::Kill);
        worker.enter(State::Stopping, now.mono);
        self.alarms.set(Alarm::Worker(number), &mut worker.alarm, None);
        self.crew.relist(number);
        self.break_promises(number, effects);
        if killable {
            if before < Rung::Kill {
                self.tell(number, Command::Signal(Signal::Kill), effects);
            }
            return;
        }
        if before < Rung::Asked {
            self.tell(number, Command::Stop, effects);
        }
        self.gone(now, number, "given up".into(), String::new(), effects);
    }
}
