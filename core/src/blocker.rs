//! The Blocker holds what shares a key with a task in progress, and applies the policies for duplicates. It never counts
//! what is in progress: for that it asks InProgress, one question per key at a time.

mod line;
#[cfg(test)]
mod tests;

use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Ended, Order, Return};
use crate::id::TaskId;
use crate::keys::{KeyAnswer, Question, Verdict};
use crate::live;
use crate::machine::{Machine, Stage};
use crate::map::Map;
use crate::task::Key;
use crate::time::Now;

use line::{Asked, Judged, Line};

/// What the Blocker can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Delayer: a dispatch that is due.
    Dispatch(Box<Dispatch>),
    /// From the Delayer: take this out, or pass the wish on.
    Cancel(Cancel),
    /// From the Delayer: the drain mark. Everything held is given back, then the mark goes on.
    Drain,
    /// From InProgress: the answer to the one question about this key.
    Verdict(Verdict),
    /// From InProgress: the count of this key fell, and the Blocker had been told *occupied* before.
    Freed(Key),
}

/// What the Blocker wants told.
#[derive(Debug)]
pub enum Effect {
    /// To InProgress: may it go on?
    Ask(Question),
    /// To InProgress: the grant is not needed; the dispatch was taken out meanwhile.
    Release {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// To the Queuer: it may go on (granted, or without a key).
    Pass(Box<Dispatch>),
    /// To the Queuer: not here.
    Cancel(Cancel),
    /// To the Queuer: the drain mark.
    Drain,
    /// To the Conductor: it waits for its key, and no longer counts in its pool's budget.
    Blocked(DispatchName),
    /// To the Conductor: it waits no longer (it was passed on).
    Unblocked(DispatchName),
    /// To the Conductor: taken out, dropped for a duplicate, or given back.
    Ended(Ended),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Blocker {
    /// Only keys of which something is held or asked.
    lines: Map<Key, Line>,
    /// Where each held dispatch stands.
    places: Map<TaskId, (Key, Order)>,
    /// Whether the drain mark came: nothing is taken in any more.
    draining: bool,
}

impl Blocker {
    fn arrive(&mut self, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        if self.draining {
            return effects.push(given_back(dispatch));
        }
        let Some(key) = dispatch.key() else { return effects.push(Effect::Pass(dispatch)) };
        dispatch.live.enter(live::Stage::Blocked);
        self.places.insert(dispatch.id(), (key, dispatch.order));
        self.lines.entry(key).or_default().arrived.insert(dispatch.order, dispatch);
        self.ask(key, effects);
    }

    /// Asks for the first that may go on, if no question is outstanding; forgets a line of which nothing is left.
    fn ask(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        if line.asked.is_some() {
            return;
        }
        if let Some(candidate) = line.candidate() {
            let (name, order, running) = (candidate.name(), candidate.order, candidate.limits().running);
            effects.push(Effect::Ask(Question { key, name, running, others_wait: line.others_wait() }));
            line.asked = Some(Asked { name, order });
        } else if line.is_empty() {
            self.lines.remove(&key);
        }
    }

    fn hear(&mut self, Verdict { key, name, answer }: Verdict, effects: &mut Vec<Effect>) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        let Some(asked) = line.asked.take_if(|asked| asked.name == name) else { return };
        let still_held = line.get(asked.order).is_some_and(|dispatch| dispatch.name() == name);
        match answer {
            KeyAnswer::Granted if still_held => self.pass(key, asked.order, effects),
            KeyAnswer::Granted => effects.push(Effect::Release { key, name }),
            KeyAnswer::Occupied { holder } => {
                line.occupied = true;
                if still_held {
                    self.judge(key, asked, holder, effects);
                }
            }
            KeyAnswer::Stale => line.occupied = false,
        }
        self.ask(key, effects);
    }

    fn pass(&mut self, key: Key, order: Order, effects: &mut Vec<Effect>) {
        let Some((dispatch, waited)) = self.lines.get_mut(&key).and_then(|line| line.take(order)) else {
            return;
        };
        self.places.remove(&dispatch.id());
        if waited {
            effects.push(Effect::Unblocked(dispatch.name()));
        }
        effects.push(Effect::Pass(dispatch));
    }

    fn judge(&mut self, key: Key, asked: Asked, holder: TaskId, effects: &mut Vec<Effect>) {
        match self.lines.get_mut(&key).and_then(|line| line.judge(asked.order, holder)) {
            None => {}
            Some(Judged::Waits) => effects.push(Effect::Blocked(asked.name)),
            Some(Judged::Displaces { dropped, lost_to }) => {
                self.discard(dropped, lost_to, effects);
                effects.push(Effect::Blocked(asked.name));
            }
            Some(Judged::Dropped { dropped, lost_to }) => self.discard(dropped, lost_to, effects),
        }
    }

    fn discard(&mut self, dispatch: Box<Dispatch>, lost_to: TaskId, effects: &mut Vec<Effect>) {
        self.places.remove(&dispatch.id());
        effects.push(Effect::Ended(Ended { dispatch, end: End::Discarded { lost_to } }));
    }

    fn free(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if let Some(line) = self.lines.get_mut(&key) {
            line.occupied = false;
            self.ask(key, effects);
        }
    }

    fn cancel(&mut self, cancel: Cancel, effects: &mut Vec<Effect>) {
        effects.push(match self.take_named(cancel.name()) {
            Some(dispatch) => Effect::Ended(Ended { dispatch, end: cancel.reason.end() }),
            None => Effect::Cancel(cancel),
        });
    }

    /// Lines with an open question stay, so that a grant on its way finds nobody and is released.
    fn drain(&mut self, effects: &mut Vec<Effect>) {
        self.draining = true;
        let held: Vec<_> = self.held().map(Dispatch::id).collect();
        for id in held {
            effects.extend(self.take(&id).map(given_back));
        }
        effects.push(Effect::Drain);
    }
}

fn given_back(dispatch: Box<Dispatch>) -> Effect {
    Effect::Ended(Ended { dispatch, end: End::Returned(Return::Drain) })
}

impl Machine for Blocker {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, _now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Dispatch(dispatch) => self.arrive(dispatch, effects),
            Event::Cancel(cancel) => self.cancel(cancel, effects),
            Event::Drain => self.drain(effects),
            Event::Verdict(verdict) => self.hear(verdict, effects),
            Event::Freed(key) => self.free(key, effects),
        }
    }

    fn check_invariants(&self) {
        self.lines.values().for_each(Line::check_invariants);
        let held: usize = self.lines.values().map(Line::len).sum();
        assert_eq!(held, self.places.len(), "each held dispatch has one place");
        assert!(self.places.keys().all(|id| self.get(id).is_some()), "a place where nothing stands");
        assert!(!self.draining || self.places.is_empty(), "something is held after the drain mark");
    }
}

impl Stage for Blocker {
    fn held(&self) -> impl Iterator<Item = &Dispatch> {
        let mut held: Vec<_> = self.lines.values().flat_map(Line::held).collect();
        held.sort_unstable_by_key(|dispatch| dispatch.order);
        held.into_iter()
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, id: &TaskId) -> Option<&Dispatch> {
        let (key, order) = self.places.get(id)?;
        self.lines.get(key)?.get(*order)
    }

    fn take(&mut self, id: &TaskId) -> Option<Box<Dispatch>> {
        let (key, order) = self.places.remove(id)?;
        let line = self.lines.get_mut(&key)?;
        let (dispatch, _) = line.take(order)?;
        if line.is_empty() && line.asked.is_none() {
            self.lines.remove(&key);
        }
        Some(dispatch)
    }
}
