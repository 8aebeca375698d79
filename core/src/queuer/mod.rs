//! The Queuer holds what waits for a worker, by lane, and passes the first in order to whichever pool has room.

mod demand;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Ended, Order, Return};
use crate::id::{PoolId, TaskId};
use crate::lanes::{LaneId, LaneTable, Laned};
use crate::live;
use crate::machine::{Machine, Stage};
use crate::map::Map;
use crate::names::TaskName;
use crate::router::Router;
use crate::task::Key;
use crate::time::Now;
use crate::window::Window;
use demand::Demand;

/// What the Queuer can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Blocker: a dispatch that may run.
    Dispatch(Box<Dispatch>),
    /// From the Blocker: take this out, or pass the wish on to the pool that has it.
    Cancel(Cancel),
    /// From the Blocker: the drain mark. Everything held is given back, then the mark goes to every pool.
    Drain,
    /// From a Pool: how many dispatches it takes.
    Window(Window),
    /// From a Pool: a dispatch for which it has no worker any more; back to its old place, with its key.
    Returned(Box<Dispatch>),
    /// From a Pool: its workers know these names (all of them).
    Learned {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
}

/// What the Queuer wants told.
#[derive(Debug)]
pub enum Effect {
    /// To a Pool: run this.
    Dispatch(PoolId, Box<Dispatch>),
    /// To a Pool: how many tasks wait that count as its demand, at most its headroom.
    Demand(PoolId, usize),
    /// To a Pool: it was handed to you.
    Cancel(PoolId, Cancel),
    /// To a Pool: the drain mark.
    Drain(PoolId),
    /// To InProgress: a dispatch with a key waits for a worker.
    Queued {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// To InProgress: taken out or given back.
    Ended(Ended),
    /// To the Conductor: nobody has it now; it is on its way somewhere.
    Missed(Cancel),
}

/// What waits for a worker.
#[derive(Debug)]
pub struct Queuer {
    table: LaneTable,
    waiting: Laned<Order, Box<Dispatch>>,
    places: Map<TaskId, (LaneId, Order)>,
    windows: BTreeMap<PoolId, Open>,
    demand: Demand,
    draining: bool,
}

/// A pool's window, and how far it is used.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    sent: u64,
    up_to: u64,
}

impl Open {
    fn is_open(self) -> bool {
        self.sent < self.up_to
    }
}

impl Queuer {
    /// A Queuer that routes by `router`.
    pub fn new(router: Router) -> Self {
        let table = LaneTable::new(router);
        let windows = table.all_pools().into_iter().map(|pool| (pool, Open::default())).collect();
        Self {
            table,
            waiting: Laned::default(),
            places: Map::default(),
            windows,
            demand: Demand::default(),
            draining: false,
        }
    }

    /// How many wait that no pool takes.
    pub fn unroutable(&self) -> usize {
        let lanes = self.waiting.lanes().filter(|lane| self.table.pools(*lane).is_empty());
        lanes.map(|lane| self.waiting.len_of(lane)).sum()
    }

    fn take_in(&mut self, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        if self.draining {
            effects.push(given_back(dispatch));
            return;
        }
        let lane = self.table.id(&dispatch.task().lane);
        let has_room = |pool: &&PoolId| self.windows.get(pool).is_some_and(|window| window.is_open());
        match self.table.pools(lane).iter().find(has_room).copied() {
            Some(pool) => self.hand(pool, dispatch, effects),
            None => self.hold(lane, dispatch, effects),
        }
    }

    fn hand(&mut self, pool: PoolId, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        dispatch.live.enter(live::Stage::Queued);
        dispatch.live.hand_to(Some(pool));
        self.windows.entry(pool).or_default().sent += 1;
        effects.push(Effect::Dispatch(pool, dispatch));
    }

    fn hold(&mut self, lane: LaneId, dispatch: Box<Dispatch>, effects: &mut Vec<Effect>) {
        dispatch.live.enter(live::Stage::Queued);
        if let Some(key) = dispatch.key() {
            effects.push(Effect::Queued { key, name: dispatch.name() });
        }
        self.table.enter(lane);
        self.demand.add(lane, self.table.pools(lane), 1);
        self.places.insert(dispatch.id(), (lane, dispatch.order));
        self.waiting.insert(lane, self.table.pools(lane), dispatch.order, dispatch);
    }

    fn remove(&mut self, lane: LaneId, order: Order) -> Option<Box<Dispatch>> {
        let dispatch = self.waiting.remove(lane, self.table.pools(lane), order)?;
        self.places.remove(&dispatch.id());
        self.demand.remove(lane);
        self.table.leave(lane);
        Some(dispatch)
    }

    /// Passes on what the pool's window takes.
    fn fill(&mut self, pool: PoolId, effects: &mut Vec<Effect>) {
        while self.windows.get(&pool).is_some_and(|window| window.is_open()) {
            let Some((order, lane)) = self.waiting.first(pool) else { return };
            let Some(dispatch) = self.remove(lane, order) else { return };
            self.hand(pool, dispatch, effects);
        }
    }

    fn resize(&mut self, window: Window, effects: &mut Vec<Effect>) {
        self.windows.entry(window.pool).or_default().up_to = window.up_to;
        self.fill(window.pool, effects);
        if self.demand.set_headroom(window.pool, window.headroom) {
            for lane in self.waiting.lanes_of(window.pool) {
                self.demand.spread(lane, self.table.pools(lane), self.waiting.len_of(lane));
            }
        }
    }

    fn learn(&mut self, pool: PoolId, names: &[TaskName], effects: &mut Vec<Effect>) {
        for change in self.table.learn(pool, names) {
            self.waiting.reroute(&change);
            self.demand.spread(change.lane, self.table.pools(change.lane), self.waiting.len_of(change.lane));
        }
        self.fill(pool, effects);
    }

    fn cancel(&mut self, cancel: Cancel, effects: &mut Vec<Effect>) {
        effects.push(match self.take_named(cancel.name()) {
            Some(dispatch) => Effect::Ended(Ended { dispatch, end: cancel.reason.end() }),
            None => match cancel.live.pool() {
                Some(pool) => Effect::Cancel(pool, cancel),
                None => Effect::Missed(cancel),
            },
        });
    }

    fn drain(&mut self, effects: &mut Vec<Effect>) {
        self.draining = true;
        let mut places: Vec<_> = self.places.values().map(|(lane, order)| (*order, *lane)).collect();
        places.sort_unstable();
        for (order, lane) in places {
            effects.extend(self.remove(lane, order).map(given_back));
        }
        effects.extend(self.windows.keys().map(|pool| Effect::Drain(*pool)));
    }
}

fn given_back(dispatch: Box<Dispatch>) -> Effect {
    Effect::Ended(Ended { dispatch, end: End::Returned(Return::Drain) })
}

impl Machine for Queuer {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, _now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Dispatch(dispatch) | Event::Returned(dispatch) => self.take_in(dispatch, effects),
            Event::Cancel(cancel) => self.cancel(cancel, effects),
            Event::Drain => self.drain(effects),
            Event::Window(window) => self.resize(window, effects),
            Event::Learned { pool, names } => self.learn(pool, &names, effects),
        }
    }

    fn end_turn(&mut self, _now: Now, effects: &mut Vec<Effect>) {
        effects.extend(self.demand.changes().map(|(pool, demand)| Effect::Demand(pool, demand)));
    }

    fn check_invariants(&self) {
        assert_eq!(self.places.len(), self.waiting.len());
        self.waiting.check_invariants(|lane| self.table.pools(lane).into());
        self.demand.check_invariants(&self.waiting);
        for (pool, window) in &self.windows {
            assert!(
                !window.is_open() || self.waiting.first(*pool).is_none(),
                "{pool:?} has room, and a task waits that it takes"
            );
        }
    }
}

impl Stage for Queuer {
    fn held(&self) -> impl Iterator<Item = &Dispatch> {
        let mut all: Vec<_> = self.waiting.iter().map(|(order, dispatch)| (*order, &**dispatch)).collect();
        all.sort_unstable_by_key(|(order, _)| *order);
        all.into_iter().map(|(_, dispatch)| dispatch)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn get(&self, id: &TaskId) -> Option<&Dispatch> {
        let (lane, order) = *self.places.get(id)?;
        self.waiting.get(lane, order).map(|dispatch| &**dispatch)
    }

    fn take(&mut self, id: &TaskId) -> Option<Box<Dispatch>> {
        let (lane, order) = *self.places.get(id)?;
        self.remove(lane, order)
    }
}
