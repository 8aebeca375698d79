//! What a Pool says to its neighbours, and what it said last, so that it says only what changed. Decides nothing else.

use std::collections::BTreeSet;

use super::{Effect, Pool};
use crate::dispatch::{Dispatch, End, Ended, Return};
use crate::id::WorkerId;
use crate::live::Stage;
use crate::names::TaskName;
use crate::window::Window;
use crate::worker::Command;

/// What was said last.
#[derive(Debug, Default)]
pub(super) struct Said {
    window: Option<Window>,
    slots: Option<usize>,
    pub(super) drained: bool,
}

impl Pool {
    /// Tells a worker.
    pub(super) fn tell(&self, number: u32, command: Command, effects: &mut Vec<Effect>) {
        let worker = WorkerId { pool: self.id, number };
        effects.push(Effect::Worker { worker, command });
    }

    /// A dispatch ended.
    pub(super) fn finish(&mut self, dispatch: Box<Dispatch>, end: End, effects: &mut Vec<Effect>) {
        self.counters.ended += 1;
        effects.push(Effect::Ended(Ended { dispatch, end }));
    }

    /// A dispatch did not start and won't here: it goes back to its place, or, in a drain, on its way out.
    pub(super) fn give_back(&mut self, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        if self.draining.begun() {
            return self.finish(dispatch, End::Returned(Return::Drain), effects);
        }
        dispatch.live.hand_to(None);
        dispatch.live.enter(Stage::Queued);
        self.counters.returned += 1;
        effects.push(Effect::Returned(dispatch));
    }

    /// Its workers know these names: says so if one of them is new.
    pub(super) fn learn(&mut self, names: Vec<TaskName>, effects: &mut Vec<Effect>) {
        let before = self.names.as_ref().map(BTreeSet::len);
        let known = self.names.get_or_insert_default();
        known.extend(names);
        if before == Some(known.len()) {
            return;
        }
        let names: Vec<_> = known.iter().cloned().collect();
        effects.push(Effect::Learned { pool: self.id, names: names.clone() });
        effects.push(Effect::Known { pool: self.id, names });
    }

    /// At the end of a turn: window and capacity, and that the drain is over.
    pub(super) fn say_what_changed(&mut self, effects: &mut Vec<Effect>) {
        let window = self.window();
        if self.said.window != Some(window) {
            self.said.window = Some(window);
            effects.push(Effect::Window(window));
        }
        let slots = self.capacity();
        if self.said.slots != Some(slots) {
            self.said.slots = Some(slots);
            effects.push(Effect::Capacity { pool: self.id, slots });
        }
        if self.draining.begun() && self.crew.is_empty() && !self.said.drained {
            self.said.drained = true;
            effects.push(Effect::Drained(self.id));
        }
    }

    /// Whether nothing new may start.
    pub(super) fn takes_nothing(&self) -> bool {
        self.paused || self.draining.begun()
    }

    fn window(&self) -> Window {
        let takes = if self.takes_nothing() { 0 } else { self.crew.sums().free + self.credits_ahead() };
        let grows = !self.takes_nothing() && !self.is_degraded();
        // Who is starting counts as room still: the tasks that it was started for wait in the Queuer until it is ready.
        let more = self.may_grow_by() + self.crew.sums().starting;
        let headroom = if grows { more * self.concurrency as usize } else { 0 };
        Window { pool: self.id, up_to: self.counters.received + takes as u64, headroom }
    }

    pub(super) fn capacity(&self) -> usize {
        match () {
            () if self.takes_nothing() => 0,
            () if self.is_degraded() => 1,
            () => self.settings.max as usize * self.concurrency as usize + self.capacity_ahead(),
        }
    }
}
