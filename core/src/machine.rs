//! What a machine is: told one event, it says what it wants told to whom, in order. It never reads a clock.

use crate::dispatch::{Dispatch, DispatchName};
use crate::id::TaskId;
use crate::time::{Now, Wakeup};

/// A pure state machine. The same events at the same times give the same effects.
pub trait Machine {
    /// What it can be told: its message type; each variant's doc says who sends it.
    type Event;
    /// What it wants told, to whom, in order.
    type Effect;

    /// Takes in one event.
    fn handle(&mut self, now: Now, event: Self::Event, effects: &mut Vec<Self::Effect>);

    /// The time that [`next_wakeup`](Self::next_wakeup) named has come (or may have: an early or needless call is harmless).
    fn wake(&mut self, _now: Now, _effects: &mut Vec<Self::Effect>) {}

    /// All mail of this turn was handled: says what is worth saying once for many events.
    fn end_turn(&mut self, _now: Now, _effects: &mut Vec<Self::Effect>) {}

    /// When it next wants [`wake`](Self::wake).
    fn next_wakeup(&self) -> Wakeup {
        Wakeup::NEVER
    }

    /// Panics if its state contradicts itself. Called after every step in tests and simulation, never in production.
    fn check_invariants(&self) {}
}

/// Delayer, Blocker and Queuer: they hold dispatches back and let them go, can be listed, and can give one up.
pub trait Stage: Machine {
    /// What it holds, in the order in which it would go.
    fn held(&self) -> impl Iterator<Item = &Dispatch>;

    /// How many it holds.
    fn len(&self) -> usize;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pass of this task that it holds, if it does.
    fn get(&self, id: &TaskId) -> Option<&Dispatch>;

    /// Gives up this very pass: another one of the same task is none of a late cancel's business.
    fn take_named(&mut self, name: DispatchName) -> Option<Box<Dispatch>> {
        self.get(&name.id)
            .is_some_and(|dispatch| dispatch.name() == name)
            .then(|| self.take(&name.id))
            .flatten()
    }

    /// Gives one up; what it had (a grant) is for the caller to release.
    fn take(&mut self, id: &TaskId) -> Option<Box<Dispatch>>;
}
