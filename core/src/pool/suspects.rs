//! Dispatches whose last delivery ended unreported: each has a slot and waits until a mark of its start is committed. None is
//! sent before [`Event::Go`](super::Event::Go), so none of them counts as started, whatever becomes of the worker.

use std::time::Duration;

use super::alarms::Alarm;
use super::{Effect, Pool};
use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Return};
use crate::id::TaskId;
use crate::status::State;
use crate::time::{Instant64, Now};

/// How long the Conductor may take to have the mark committed.
const PATIENCE: Duration = Duration::from_secs(5);

/// One that waits.
#[derive(Debug)]
pub(super) struct Suspect {
    dispatch: Box<Dispatch>,
    /// Whose slot it has.
    pub(super) worker: u32,
    /// When it is given up.
    alarm: Option<Instant64>,
}

impl Pool {
    /// Keeps a slot of this worker for it and asks whether it may start.
    pub(super) fn ask_leave(
        &mut self,
        now: Now,
        number: u32,
        dispatch: Box<Dispatch>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(worker) = self.crew.get_mut(number) else { return self.give_back(dispatch, effects) };
        let id = dispatch.id();
        worker.promised.insert(id);
        worker.enter(State::Busy, now.mono);
        self.crew.relist(number);
        let mut alarm = None;
        self.alarms.set(Alarm::Mark(id), &mut alarm, Some(now.mono + PATIENCE));
        effects.push(Effect::MayStart { pool: self.id, name: dispatch.name() });
        self.suspects.insert(id, Suspect { dispatch, worker: number, alarm });
    }

    /// From the Conductor: the mark is committed. What is not here any more does not start.
    pub(super) fn go(&mut self, now: Now, name: DispatchName, effects: &mut Vec<Effect>) {
        let Some((number, dispatch)) = self.dismiss_named(name) else { return };
        self.send(now, number, dispatch, effects);
    }

    /// The Conductor was silent, or the board refused.
    pub(super) fn no_leave(&mut self, now: Now, id: TaskId, effects: &mut Vec<Effect>) {
        let Some((number, dispatch)) = self.dismiss(id) else { return };
        self.finish(dispatch, End::Returned(Return::Setback), effects);
        self.settle(now, number, effects);
    }

    /// A cancel may have met one that waits; if not, here it is again.
    pub(super) fn cancel_suspect(
        &mut self,
        now: Now,
        cancel: Cancel,
        effects: &mut Vec<Effect>,
    ) -> Option<Cancel> {
        let Some((number, dispatch)) = self.dismiss_named(cancel.name()) else { return Some(cancel) };
        self.finish(dispatch, cancel.reason.end(), effects);
        self.settle(now, number, effects);
        None
    }

    /// This worker starts nothing new: what waits for a slot of it goes back. [`settle`](Self::settle) it afterwards.
    pub(super) fn break_promises(&mut self, number: u32, effects: &mut Vec<Effect>) {
        let Some(worker) = self.crew.get(number).filter(|worker| !worker.promised.is_empty()) else { return };
        for id in worker.promised.clone() {
            if let Some((_, dispatch)) = self.dismiss(id) {
                self.give_back(dispatch, effects);
            }
        }
        self.crew.relist(number);
    }

    fn dismiss_named(&mut self, name: DispatchName) -> Option<(u32, Box<Dispatch>)> {
        let waits = self.suspects.get(&name.id).is_some_and(|suspect| suspect.dispatch.name() == name);
        waits.then(|| self.dismiss(name.id)).flatten()
    }

    /// It waits no longer, whatever becomes of it.
    fn dismiss(&mut self, id: TaskId) -> Option<(u32, Box<Dispatch>)> {
        let Suspect { dispatch, worker: number, mut alarm } = self.suspects.remove(&id)?;
        self.alarms.set(Alarm::Mark(id), &mut alarm, None);
        if let Some(worker) = self.crew.get_mut(number) {
            worker.promised.remove(&id);
        }
        Some((number, dispatch))
    }

    /// Panics if slots and those who wait for them differ.
    pub(super) fn check_suspects(&self) {
        let promised: usize = self.crew.iter().map(|(_, worker)| worker.promised.len()).sum();
        assert_eq!(promised, self.suspects.len(), "each that waits has one slot");
        for (id, suspect) in &self.suspects {
            let kept = self.crew.get(suspect.worker).is_some_and(|worker| worker.promised.contains(id));
            assert!(kept && suspect.dispatch.live.suspect && suspect.alarm.is_some());
            assert!(!self.held.contains_key(id), "{id} waits and was sent");
        }
    }
}
