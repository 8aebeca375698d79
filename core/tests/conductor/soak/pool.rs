//! All stages and the pool in one: what is due starts if there is a slot, runs for a while and ends somehow.

use std::collections::BTreeMap;

use taskyard_core::conductor::Event;
use taskyard_core::dispatch::{Cancel, Dispatch, DispatchName, End, Ended, Reason, Return};
use taskyard_core::task::DueAt;
use taskyard_core::{Now, TaskId, Wakeup};

use super::rng::Rng;
use crate::yard::{POOL, failure, success};

pub(super) struct Pool {
    held: BTreeMap<TaskId, Held>,
    pub(super) slots: usize,
}

struct Held {
    dispatch: Box<Dispatch>,
    was_due: bool,
    /// It was told to end.
    told: bool,
    /// It may start only once somebody says so.
    asked: bool,
}

fn is_due(due: DueAt, now: Now) -> bool {
    match due {
        DueAt::Now => true,
        DueAt::Mono(at) => at <= now.mono,
        DueAt::Wall(at) | DueAt::Said(at) => at <= now.wall,
    }
}

impl Pool {
    pub(super) fn new(slots: usize) -> Self {
        Self { held: BTreeMap::new(), slots }
    }

    pub(super) fn take_in(&mut self, dispatch: Box<Dispatch>) {
        let (id, was_due) = (dispatch.id(), dispatch.due == DueAt::Now);
        let held = Held { dispatch, was_due, told: false, asked: false };
        assert!(self.held.insert(id, held).is_none(), "{id} is in the yard twice");
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) -> Event {
        let id = cancel.id();
        let Some(held) = self.held.get_mut(&id).filter(|held| held.dispatch.name() == cancel.name()) else {
            return Event::Missed(cancel);
        };
        if held.dispatch.live.running().is_none() {
            return self.end(id, cancel.reason.end());
        }
        held.told |= matches!(cancel.reason, Reason::User | Reason::Disowned);
        Event::Told(cancel)
    }

    pub(super) fn go(&mut self, now: Now, name: DispatchName) {
        if let Some(held) = self.held.get(&name.id).filter(|held| held.dispatch.name() == name) {
            held.dispatch.live.start(1, now.mono);
        }
    }

    fn end(&mut self, id: TaskId, end: End) -> Event {
        let held = self.held.remove(&id).unwrap();
        Event::Ended(Ended { dispatch: held.dispatch, end })
    }

    fn running(&self) -> usize {
        self.held.values().filter(|held| held.dispatch.live.running().is_some()).count()
    }

    /// Something that happens to one of them, if there is any.
    pub(super) fn step(&mut self, now: Now, rng: &mut Rng) -> Option<Event> {
        let ids: Vec<_> = self.held.keys().copied().collect();
        if ids.is_empty() {
            return None;
        }
        let id = rng.pick(&ids);
        let free = self.running() < self.slots;
        let held = self.held.get_mut(&id).unwrap();
        assert!(held.was_due || held.dispatch.live.running().is_none());
        let name = held.dispatch.name();
        if held.dispatch.live.running().is_some() {
            let end = match rng.below(8) {
                _ if held.told => End::Cancelled,
                0 => failure(),
                1 => End::Returned(Return::Setback),
                2 => End::Snoozed(std::time::Duration::from_millis(rng.below(3_000))),
                _ => success(),
            };
            return rng.permille(200).then(|| self.end(id, end));
        }
        if !is_due(held.dispatch.due, now) {
            return None;
        }
        if !held.was_due {
            held.was_due = true;
            return Some(Event::Due(name));
        }
        if !free {
            return None;
        }
        if held.dispatch.live.suspect {
            if held.asked && rng.permille(20) {
                return Some(self.end(id, End::Returned(Return::Setback)));
            }
            return (!std::mem::replace(&mut held.asked, true))
                .then_some(Event::MayStart { pool: POOL, name });
        }
        held.dispatch.live.start(1, now.mono);
        None
    }

    pub(super) fn next_wakeup(&self, now: Now) -> Wakeup {
        let waits = self.held.values().filter(|held| !held.was_due);
        let wakeups = waits.map(|held| match held.dispatch.due {
            DueAt::Now => Wakeup::mono(Some(now.mono)),
            DueAt::Mono(at) => Wakeup::mono(Some(at)),
            DueAt::Wall(at) | DueAt::Said(at) => Wakeup::wall(Some(at)),
        });
        wakeups.fold(Wakeup::NEVER, Wakeup::or)
    }
}
