//! The Delayer holds what is not due yet and lets it go in order of due time, never early.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Ended, Return};
use crate::filing;
use crate::id::{Sequence, TaskId};
use crate::live;
use crate::machine::{Machine, Stage};
use crate::map::Map;
use crate::task::DueAt;
use crate::time::{Instant64, Now, Timestamp, Wakeup};

/// What the Delayer can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Conductor: a dispatch to hold until it is due.
    Dispatch(Box<Dispatch>),
    /// From the Conductor: take this out, or pass the wish on.
    Cancel(Cancel),
    /// From the Conductor: the drain mark. Everything held is given back, then the mark goes on.
    Drain,
}

/// What the Delayer wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the Blocker: it is due.
    Release(Box<Dispatch>),
    /// To the Blocker: not here.
    Cancel(Cancel),
    /// To the Blocker: the drain mark.
    Drain,
    /// To the Conductor: what was delayed is on its way, and counts in its pool's budget from now on.
    Due(DispatchName),
    /// To the Conductor: taken out, or given back.
    Ended(Ended),
}

/// Two queues, one for each clock, and where in them each task is.
#[derive(Debug, Default)]
pub struct Delayer {
    relative: BTreeMap<(Instant64, Sequence), Box<Dispatch>>,
    absolute: BTreeMap<(Timestamp, Sequence), Box<Dispatch>>,
    due: Map<TaskId, (DueAt, Sequence)>,
}

impl Delayer {
    fn take_in(&mut self, now: Now, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        if !filing::is_due(dispatch.due, now) {
            return self.hold(dispatch);
        }
        if dispatch.due != DueAt::Now {
            effects.push(Effect::Due(dispatch.name()));
        }
        effects.push(Effect::Release(dispatch));
    }

    fn hold(&mut self, dispatch: Box<Dispatch>) {
        dispatch.live.enter(live::Stage::Delayed);
        let sequence = dispatch.order.sequence;
        self.due.insert(dispatch.id(), (dispatch.due, sequence));
        match dispatch.due {
            DueAt::Mono(at) => self.relative.insert((at, sequence), dispatch),
            DueAt::Wall(at) | DueAt::Said(at) => self.absolute.insert((at, sequence), dispatch),
            DueAt::Now => None,
        };
    }

    /// The next one that is due on either clock, the longest overdue first.
    fn pop_due(&mut self, now: Now) -> Option<Box<Dispatch>> {
        let relative =
            self.relative.first_key_value().map(|((at, sequence), _)| (at.since(now.mono), *sequence));
        let absolute =
            self.absolute.first_key_value().map(|((at, sequence), _)| (at.since(now.wall), *sequence));
        let is_due = |left: Option<(i64, Sequence)>| left.filter(|(left, _)| *left <= 0);
        let dispatch = match (is_due(relative), is_due(absolute)) {
            (None, None) => return None,
            (Some(r), Some(a)) if r <= a => self.relative.pop_first()?.1,
            (Some(_), None) => self.relative.pop_first()?.1,
            _ => self.absolute.pop_first()?.1,
        };
        self.due.remove(&dispatch.id());
        Some(dispatch)
    }
}

impl Machine for Delayer {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Dispatch(dispatch) => {
                // After a step of the clock what is held may be due: what arrives first shall not overtake it.
                self.wake(now, effects);
                self.take_in(now, dispatch, effects);
            }
            Event::Cancel(cancel) => effects.push(match self.take_named(cancel.name()) {
                Some(dispatch) => Effect::Ended(Ended { dispatch, end: cancel.reason.end() }),
                None => Effect::Cancel(cancel),
            }),
            Event::Drain => {
                self.due.clear();
                let relative = std::mem::take(&mut self.relative).into_values();
                let absolute = std::mem::take(&mut self.absolute).into_values();
                let given_back =
                    |dispatch| Effect::Ended(Ended { dispatch, end: End::Returned(Return::Drain) });
                effects.extend(relative.chain(absolute).map(given_back));
                effects.push(Effect::Drain);
            }
        }
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some(dispatch) = self.pop_due(now) {
            effects.push(Effect::Due(dispatch.name()));
            effects.push(Effect::Release(dispatch));
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        Wakeup {
            mono: self.relative.first_key_value().map(|((at, _), _)| *at),
            wall: self.absolute.first_key_value().map(|((at, _), _)| *at),
        }
    }

    fn check_invariants(&self) {
        assert_eq!(self.due.len(), self.relative.len() + self.absolute.len());
        for dispatch in self.held() {
            assert_eq!(self.due.get(&dispatch.id()), Some(&(dispatch.due, dispatch.order.sequence)));
        }
    }
}

impl Stage for Delayer {
    fn held(&self) -> impl Iterator<Item = &Dispatch> {
        self.relative.values().chain(self.absolute.values()).map(|dispatch| &**dispatch)
    }

    fn len(&self) -> usize {
        self.due.len()
    }

    fn get(&self, id: &TaskId) -> Option<&Dispatch> {
        let (due, sequence) = *self.due.get(id)?;
        let held = match due {
            DueAt::Mono(at) => self.relative.get(&(at, sequence)),
            DueAt::Wall(at) | DueAt::Said(at) => self.absolute.get(&(at, sequence)),
            DueAt::Now => None,
        };
        held.map(|dispatch| &**dispatch)
    }

    fn take(&mut self, id: &TaskId) -> Option<Box<Dispatch>> {
        let (due, sequence) = self.due.remove(id)?;
        match due {
            DueAt::Mono(at) => self.relative.remove(&(at, sequence)),
            DueAt::Wall(at) | DueAt::Said(at) => self.absolute.remove(&(at, sequence)),
            DueAt::Now => None,
        }
    }
}
