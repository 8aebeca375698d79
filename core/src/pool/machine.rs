//! The Pool itself: its state, and which part decides about which event. Decides nothing here.

use std::collections::BTreeSet;

use super::alarms::{Alarm, Alarms};
use super::crew::Crew;
use super::drain::Draining;
use super::pace::Pace;
use super::starts::Starts;
use super::suspects::Suspect;
use super::voice::Said;
use super::worker::{Held, Terms};
use super::{Effect, Event, Settings};
use crate::id::{PoolId, TaskId};
use crate::machine::Machine;
use crate::map::Map;
use crate::names::TaskName;
use crate::status::{Counters, WorkerStatus};
use crate::time::{Instant64, Now, Wakeup, earlier};

/// The Pool machine.
#[derive(Debug)]
pub struct Pool {
    pub(super) id: PoolId,
    pub(super) settings: Settings,
    pub(super) crew: Crew,
    /// What workers have, by task: each dispatch that arrived and neither ended nor went back.
    pub(super) held: Map<TaskId, Held>,
    /// What has a slot and waits for its mark.
    pub(super) suspects: Map<TaskId, Suspect>,
    pub(super) alarms: Alarms,
    pub(super) pace: Pace,
    pub(super) starts: Starts,
    /// The names that its workers know; `None` until anybody knows them.
    pub(super) names: Option<BTreeSet<TaskName>>,
    /// Whether [`start`](Self::start) was called.
    opened: bool,
    pub(super) paused: bool,
    pub(super) draining: Draining,
    /// How many tasks a worker runs at once, as the last one to get ready said.
    pub(super) concurrency: u32,
    pub(super) demand: usize,
    /// The running number of the last sending to a worker.
    pub(super) last_order: u64,
    /// Recalls without an answer.
    pub(super) recalls: usize,
    /// Workers that can't be killed and run a task beyond its time limit.
    pub(super) stuck: usize,
    /// Since when there are more workers than wanted.
    pub(super) surplus_since: Option<Instant64>,
    /// When the worker that idles longest goes.
    pub(super) shrink_at: Option<Instant64>,
    /// When a worker with a free slot is given what waits in another.
    pub(super) level_at: Option<Instant64>,
    pub(super) said: Said,
    pub(super) counters: Counters,
}

impl Pool {
    /// A pool without workers; see [`start`](Self::start).
    pub fn new(id: PoolId, settings: Settings) -> Self {
        let terms = Terms {
            killable: settings.killable,
            send_ahead: settings.send_ahead,
            max_tasks: settings.max_tasks,
        };
        let mut pool = Self {
            id,
            crew: Crew::new(terms),
            held: Map::default(),
            suspects: Map::default(),
            alarms: Alarms::default(),
            pace: Pace::default(),
            starts: Starts::default(),
            names: None,
            opened: false,
            paused: false,
            draining: Draining::default(),
            concurrency: settings.concurrency.max(1),
            demand: 0,
            last_order: 0,
            recalls: 0,
            stuck: 0,
            surplus_since: None,
            shrink_at: None,
            level_at: None,
            said: Said::default(),
            counters: Counters::default(),
            settings,
        };
        pool.rescale(pool.settings.min, pool.settings.max);
        pool
    }

    /// Says what is known of its names and starts the first workers. The first turn does it otherwise; a second call does
    /// nothing.
    pub fn start(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.opened {
            return;
        }
        self.opened = true;
        if let Some(names) = self.settings.names.clone() {
            self.learn(names, effects);
        }
        self.end_turn(now, effects);
    }

    /// Its workers, lowest number first.
    pub fn workers(&self) -> impl Iterator<Item = WorkerStatus> {
        self.crew.iter().map(|(number, worker)| worker.status(number))
    }

    /// What it has seen.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether its workers die at start, or too many of them are stuck.
    pub fn is_degraded(&self) -> bool {
        self.starts.degraded(&self.settings) || self.stuck > self.settings.max_stuck as usize
    }

    fn ring(&mut self, now: Now, alarm: Alarm, late: bool, effects: &mut Vec<Effect>) {
        match alarm {
            Alarm::Task(id) => self.time_is_up(now, id, late, effects),
            Alarm::Mark(id) => self.no_leave(now, id, effects),
            Alarm::Worker(number) => self.next_rung(now, number, late, effects),
            Alarm::Stall(number) => self.look_for_stall(now, number, effects),
            Alarm::Age(number) => self.retire(now, number, effects),
            Alarm::Drain => self.drain_grace_over(now, effects),
            // The size is looked at in each turn.
            Alarm::Restart => {}
        }
    }
}

impl Machine for Pool {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Dispatch(dispatch) => self.take_in(now, dispatch, effects),
            Event::Worker { worker, report } => self.heard(now, worker, report, effects),
            Event::Go(name) => self.go(now, name, effects),
            Event::Demand(demand) => self.demand = demand,
            Event::Cancel(cancel) => self.cancel(now, cancel, effects),
            Event::Drain => self.drain(now, effects),
            Event::Force => self.force(now, effects),
            Event::Scale { min, max } => self.rescale(min, max),
            Event::Pause(paused) => self.pause(now, paused, effects),
            Event::Look(reply) => effects.push(Effect::Status(reply, Box::new(self.status(now.mono)))),
        }
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some((alarm, late)) = self.alarms.pop_due(now.mono) {
            self.ring(now, alarm, late, effects);
        }
        self.end_turn(now, effects);
    }

    fn end_turn(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.start(now, effects);
        self.resize(now, effects);
        self.level_out(now.mono, effects);
        self.say_what_changed(effects);
    }

    fn next_wakeup(&self) -> Wakeup {
        Wakeup::mono(earlier(self.alarms.next(), earlier(self.shrink_at, self.level_at)))
    }

    fn check_invariants(&self) {
        self.crew.check();
        let held: usize = self.crew.iter().map(|(_, worker)| worker.sent.len()).sum();
        assert_eq!(held, self.held.len(), "each dispatch is with one worker");
        self.check_suspects();
        let left = self.counters.ended + self.counters.returned;
        let here = held + self.suspects.len();
        assert_eq!(self.counters.received, left + here as u64, "each dispatch leaves exactly once");
        for (number, worker) in self.crew.iter() {
            let own = |id: &TaskId| self.held.get(id).filter(|held| held.worker == number);
            let told = worker.sent.iter().filter(|(_, id)| own(id).is_some_and(|held| held.told.is_some()));
            assert_eq!(told.count(), worker.told as usize);
            let back = worker.sent.iter().filter(|(_, id)| own(id).is_some_and(|held| held.recalled));
            assert_eq!(back.count(), worker.recalled as usize);
            assert!(worker.sent.iter().all(|(order, id)| own(id).is_some_and(|held| held.order == *order)));
        }
        let recalls: u32 = self.crew.iter().map(|(_, worker)| worker.recalled).sum();
        assert_eq!(recalls as usize, self.recalls);
        let stuck = self.crew.iter().filter(|(_, worker)| !worker.late.is_empty()).count();
        assert_eq!(stuck, self.stuck);
        assert!(!self.said.drained || self.crew.is_empty());
    }
}
