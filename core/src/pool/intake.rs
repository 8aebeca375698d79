//! Which worker a dispatch goes to, and that it goes back at once if there is none. Never lets one wait here.

use super::alarms::Alarm;
use super::worker::Held;
use super::{Effect, Pool};
use crate::dispatch::Dispatch;
use crate::id::TaskId;
use crate::status::State;
use crate::time::Now;
use crate::worker::Command;

impl Pool {
    /// From the Queuer.
    pub(super) fn take_in(&mut self, now: Now, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        self.counters.received += 1;
        let worker = match self.crew.first_free() {
            _ if self.takes_nothing() || self.has(dispatch.id()) => None,
            None if dispatch.live.suspect => None,
            None => self.worker_ahead_for(dispatch.task().name()),
            idle => idle,
        };
        self.send_or_give_back(now, worker, dispatch, effects);
    }

    /// A dispatch that was sent ahead is back: to a worker with a free slot, or out of here.
    pub(super) fn take_back(&mut self, now: Now, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        let worker = self.crew.first_free().filter(|_| !self.takes_nothing());
        self.send_or_give_back(now, worker, dispatch, effects);
    }

    fn send_or_give_back(
        &mut self,
        now: Now,
        worker: Option<u32>,
        dispatch: Box<Dispatch>,
        effects: &mut Vec<Effect>,
    ) {
        match worker {
            Some(number) if dispatch.live.suspect => self.ask_leave(now, number, dispatch, effects),
            Some(number) => self.send(now, number, dispatch, effects),
            None => self.give_back(dispatch, effects),
        }
    }

    fn has(&self, id: TaskId) -> bool {
        self.held.contains_key(&id) || self.suspects.contains_key(&id)
    }

    /// To a worker with room for it.
    pub(super) fn send(&mut self, now: Now, number: u32, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get_mut(number) else { return self.give_back(dispatch, effects) };
        self.last_order += 1;
        worker.sent.push_back((self.last_order, dispatch.id()));
        worker.enter(State::Busy, now.mono);
        if worker.alarm.is_none() && self.settings.killable {
            let look_at = now.mono + self.settings.ready_within;
            self.alarms.set(Alarm::Worker(number), &mut worker.alarm, Some(look_at));
        }
        self.crew.relist(number);
        let timeout = dispatch.task().timeout.or(self.settings.timeout);
        self.tell(number, Command::Run { live: dispatch.live.clone(), timeout }, effects);
        let held = Held {
            worker: number,
            order: self.last_order,
            sent: now.mono,
            started: None,
            alarm: None,
            told: None,
            recalled: false,
            cancel: None,
            dispatch,
        };
        self.held.insert(held.dispatch.id(), held);
        self.watch_for_stall(now, number);
    }

    /// Takes a dispatch off its worker, whatever becomes of it. [`settle`](Self::settle) the worker afterwards.
    pub(super) fn let_go(&mut self, id: TaskId) -> Option<Held> {
        let mut held = self.held.remove(&id)?;
        self.alarms.set(Alarm::Task(id), &mut held.alarm, None);
        self.recalls -= usize::from(held.recalled);
        if let Some(worker) = self.crew.get_mut(held.worker) {
            worker.forget(held.order);
            worker.told -= u32::from(held.told.is_some());
            worker.recalled -= u32::from(held.recalled);
        }
        Some(held)
    }

    /// A task left this worker: it is idle now, or leaves, if that was the last.
    pub(super) fn settle(&mut self, now: Now, number: u32, effects: &mut Vec<Effect>) {
        let draining = self.draining.begun();
        let Some(worker) = self.crew.get_mut(number) else { return };
        let leaves = worker.retiring || draining;
        if worker.state.may_take() && worker.is_empty() {
            worker.enter(State::Idle, now.mono);
        }
        let ready_to_leave = leaves && matches!(worker.state, State::Starting | State::Idle);
        self.crew.freed(number);
        if ready_to_leave {
            self.order_stop(now, number, effects);
        }
    }
}
