//! InProgress is the one authority on keys: it aggregates what Queuer and Pool report and grants or refuses. It never
//! holds a dispatch, and never decides which of those that wait is next.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::dispatch::{DispatchName, Ended};
use crate::id::TaskId;
use crate::keys::{KeyAnswer, Question, Verdict};
use crate::machine::Machine;
use crate::map::Map;
use crate::task::Key;
use crate::time::Now;

/// What InProgress can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Blocker: may it go on?
    Ask(Question),
    /// From the Blocker: a grant that is not needed after all.
    Release {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From the Queuer: a granted dispatch waits for a worker.
    Queued {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From a Pool: a granted dispatch began to run.
    Started {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From the Queuer or a Pool: a dispatch (with or without a key) ended. Its grant is released, then it goes on.
    Ended(Ended),
}

/// What InProgress wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the Blocker: the answer.
    Verdict(Verdict),
    /// To the Blocker: the count of a key that it was told is occupied fell.
    Freed(Key),
    /// To the Conductor: a dispatch ended; its key is free already.
    Ended(Ended),
}

/// How far a granted dispatch is known to be. It only moves forward: reports of two senders may overtake each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Granted; on its way from the Blocker to the Queuer or a Pool.
    Granted,
    /// Waits for a worker.
    Queued,
    /// A worker runs it.
    Running,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct InProgress {
    /// Every grant that was not released, those of one key side by side.
    grants: BTreeMap<(Key, DispatchName), State>,
    /// Only keys with a grant.
    keys: Map<Key, Usage>,
}

/// What is known of a key with at least one grant.
#[derive(Debug, Default)]
struct Usage {
    /// How many grants it has.
    count: u32,
    /// Whether the Blocker was told *occupied* since the count last fell.
    interest: bool,
}

impl InProgress {
    /// Whether no key is in progress.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How far a granted dispatch is; `None`: it has no grant.
    pub fn state(&self, key: Key, name: DispatchName) -> Option<State> {
        self.grants.get(&(key, name)).copied()
    }

    /// How many dispatches of the key are in progress.
    pub fn count(&self, key: Key) -> u32 {
        self.keys.get(&key).map_or(0, |usage| usage.count)
    }

    fn answer(&mut self, question: Question) -> KeyAnswer {
        let Question { key, name, running, others_wait } = question;
        if others_wait && !self.keys.get(&key).is_some_and(|usage| usage.interest) {
            return KeyAnswer::Stale;
        }
        match self.holder(key) {
            Some(holder) if self.count(key) >= running => {
                self.keys.entry(key).or_default().interest = true;
                KeyAnswer::Occupied { holder }
            }
            _ => {
                self.grant(key, name);
                KeyAnswer::Granted
            }
        }
    }

    fn holder(&self, key: Key) -> Option<TaskId> {
        let from = DispatchName { id: TaskId(0), epoch: 0 };
        let (&(held, name), _) = self.grants.range((key, from)..).next()?;
        (held == key).then_some(name.id)
    }

    fn grant(&mut self, key: Key, name: DispatchName) {
        if self.grants.insert((key, name), State::Granted).is_none() {
            self.keys.entry(key).or_default().count += 1;
        }
    }

    fn advance(&mut self, key: Key, name: DispatchName, to: State) {
        if let Some(state) = self.grants.get_mut(&(key, name)) {
            *state = to.max(*state);
        }
    }

    fn release(&mut self, key: Key, name: DispatchName, effects: &mut Vec<Effect>) {
        if self.grants.remove(&(key, name)).is_none() {
            return;
        }
        let Some(usage) = self.keys.get_mut(&key) else { return };
        usage.count -= 1;
        if std::mem::take(&mut usage.interest) {
            effects.push(Effect::Freed(key));
        }
        if usage.count == 0 {
            self.keys.remove(&key);
        }
    }
}

impl Machine for InProgress {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, _now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Ask(question) => {
                let answer = self.answer(question);
                effects.push(Effect::Verdict(Verdict { key: question.key, name: question.name, answer }));
            }
            Event::Release { key, name } => self.release(key, name, effects),
            Event::Queued { key, name } => self.advance(key, name, State::Queued),
            Event::Started { key, name } => self.advance(key, name, State::Running),
            Event::Ended(ended) => {
                if let Some(key) = ended.dispatch.key() {
                    self.release(key, ended.dispatch.name(), effects);
                }
                effects.push(Effect::Ended(ended));
            }
        }
    }

    fn check_invariants(&self) {
        let counted: usize = self.keys.values().map(|usage| usage.count as usize).sum();
        assert_eq!(counted, self.grants.len(), "every grant is counted once, under its own key");
        assert!(self.keys.values().all(|usage| usage.count > 0), "a key without a grant was kept");
        assert!(self.grants.keys().all(|(key, _)| self.keys.contains_key(key)), "a grant without its key");
    }
}
