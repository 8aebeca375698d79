//! Several dispatchers on one board, over lines that fail, with leases that end: a seed draws what happens. Stages and pool
//! are as simple as can be; the whole yard is tried in the simulation.

mod line;
mod node;
mod pool;
#[path = "../../simulation/rng.rs"]
mod rng;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{Answer, Event, Submission};
use taskyard_core::store::{self, Ask, Asker, Filter, OwnerId, Request};
use taskyard_core::task::{Due, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Machine, Now, TaskId, Wakeup};

use crate::yard::{bounded, id, router, task};
use node::Node;
use rng::Rng;

const START: Timestamp = Timestamp(1_700_000_000_000_000);
const MAX_STEPS: u64 = 60_000;
const WATCH: u64 = 1;

struct World {
    rng: Rng,
    now: Now,
    board: Board,
    nodes: Vec<Node>,
    faults: bool,
    steps: u64,
    last_task: u64,
    last_token: u64,
    /// What was submitted (or asked) where, and is not answered.
    open: BTreeMap<u64, (usize, Vec<TaskId>)>,
    /// Taken in where, and not known there to have ended.
    waiting: BTreeMap<TaskId, usize>,
    /// Ended, before or after whoever submitted them was told that they were taken in.
    ended: BTreeSet<TaskId>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let now = Now { mono: Instant64(0), wall: START };
        let nodes = (0..=rng.below(3)).map(|_| Node::new(&mut rng, now)).collect();
        Self {
            nodes,
            rng,
            now,
            board: Board::new(board::Settings::default(), router()),
            faults: true,
            steps: 0,
            last_task: 0,
            last_token: 10,
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    fn run(mut self) -> u64 {
        while self.last_task < 60 {
            self.step();
            if self.rng.permille(40) {
                self.disturb();
            }
        }
        self.faults = false;
        for node in &mut self.nodes {
            node.tell(self.now, Event::Capacity { pool: crate::yard::POOL, slots: 2 });
        }
        while !self.is_at_rest() {
            self.step();
        }
        self.check_rest();
        self.steps
    }

    fn is_at_rest(&self) -> bool {
        let quiet = self.nodes.iter().all(|node| node.conductor.live() == 0 && node.line.is_quiet());
        quiet && self.board.unfinished() == 0 && self.open.is_empty() && self.waiting.is_empty()
    }

    /// With nothing to do they must keep still.
    fn check_rest(&mut self) {
        let asked = self.nodes.iter().map(|node| node.line.asked).sum::<u64>();
        let end = self.now.mono + Duration::from_mins(1);
        while self.now.mono < end {
            self.step();
        }
        let more = self.nodes.iter().map(|node| node.line.asked).sum::<u64>() - asked;
        assert!(more <= 60 * self.nodes.len() as u64, "{more} requests in a minute of rest");
        let answer = self.answer(Request::Count);
        assert!(matches!(answer, store::Answer::Counts(counts) if counts.claimed == 0));
    }

    fn answer(&mut self, request: Request) -> store::Answer {
        let request = Arc::new(request);
        let ask = Ask { owner: OwnerId::SOLE, from: Asker::Conductor, no: 0, request, oldest_open: 0 };
        let mut replies = Vec::new();
        self.board.handle(self.now, ask, &mut replies);
        replies.pop().unwrap().answer.unwrap()
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "does not end: {}", self.where_all_is());
        let place = self.rng.below(self.nodes.len() as u64) as usize;
        let node = &mut self.nodes[place];
        let moved =
            !node.is_frozen(self.now) && node.step(self.now, &mut self.rng, &mut self.board, self.faults);
        for (token, answer) in std::mem::take(&mut node.answers) {
            self.told(token, answer);
        }
        if !moved && self.rng.permille(500) {
            self.pass_time();
        }
        if self.steps.is_multiple_of(16) {
            self.board.check_invariants();
        }
    }

    fn where_all_is(&self) -> String {
        let live: Vec<_> =
            self.nodes.iter().map(|node| (node.conductor.live(), node.line.is_quiet())).collect();
        let (board, open, waiting) = (self.board.unfinished(), self.open.len(), &self.waiting);
        format!("in the yards {live:?}, on the board {board}, open {open}, waited for {waiting:?}")
    }

    fn pass_time(&mut self) {
        let now = self.now;
        let wakeups = self.nodes.iter().filter(|node| !node.is_frozen(now)).map(|node| node.next_wakeup(now));
        let next = wakeups.fold(Wakeup::NEVER, Wakeup::or).sleep(now).unwrap_or(Duration::from_secs(1));
        let span = next.min(Duration::from_micros(1 + self.rng.below(400_000)));
        (self.now.mono, self.now.wall) = (now.mono + span, now.wall + span);
    }

    fn told(&mut self, token: u64, answer: Answer) {
        match answer {
            Answer::Outcome(id, outcome) if token == WATCH => {
                assert!(self.ended.insert(id), "{id} ended twice");
                self.waiting.remove(&id);
                let recorded = match self.answer(Request::Get(id)) {
                    store::Answer::Task(Some(view)) => view.outcome,
                    other => panic!("{other:?}"),
                };
                assert_eq!(recorded, Some(outcome), "{id} is told otherwise than recorded");
            }
            Answer::Submitted(results) => {
                let (place, ids) = self.open.remove(&token).expect("one answer a submission");
                for (id, result) in ids.into_iter().zip(results) {
                    if result.is_ok() && !self.ended.contains(&id) {
                        self.waiting.insert(id, place);
                    }
                }
            }
            Answer::Cancelled(_) | Answer::Rescheduled(_) => drop(self.open.remove(&token)),
            other => panic!("{other:?}"),
        }
    }

    fn token(&mut self, place: usize, ids: Vec<TaskId>) -> u64 {
        self.last_token += 1;
        self.open.insert(self.last_token, (place, ids));
        self.last_token
    }

    fn submit(&mut self, place: usize) -> Event {
        let tasks: Vec<_> = (0..=self.rng.below(5)).map(|_| Arc::new(self.draw())).collect();
        let reply = self.token(place, tasks.iter().map(|task| task.id).collect());
        Event::Submit(Submission { tasks, reply, watch: Some(WATCH), inside: false, batch: None })
    }

    fn draw(&mut self) -> Task {
        self.last_task += 1;
        let n = self.last_task;
        let due = match self.rng.below(3) {
            0 => Due::In(Duration::from_millis(self.rng.below(6_000))),
            _ => Due::Now,
        };
        let expires =
            self.rng.permille(100).then(|| Due::In(Duration::from_millis(6_000 + self.rng.below(9_000))));
        let keyed = self.rng.permille(150);
        Task { due, expires, ..if keyed { bounded(n) } else { task(n) } }
    }

    /// Something from outside.
    fn disturb(&mut self) {
        let place = self.rng.below(self.nodes.len() as u64) as usize;
        let some = id(1 + self.rng.below(self.last_task.max(1)));
        let event = match self.rng.below(9) {
            0 => {
                let filter = if self.rng.permille(300) {
                    Filter { task: Some("one".parse().unwrap()), ..Filter::default() }
                } else {
                    Filter::ids([some])
                };
                Event::Cancel { filter: Box::new(filter), reply: self.token(place, Vec::new()) }
            }
            1 => {
                let due = Due::In(Duration::from_millis(self.rng.below(5_000)));
                Event::Reschedule { id: some, due, reply: self.token(place, Vec::new()) }
            }
            2 => return self.nodes[place].freeze(self.now, &mut self.rng),
            3 => return self.nodes[place].line.go_down(self.now, &mut self.rng),
            4 => {
                let slots = self.rng.below(5) as usize;
                self.nodes[place].pool.slots = slots.max(1);
                Event::Capacity { pool: crate::yard::POOL, slots }
            }
            5 => return self.die(place),
            _ => self.submit(place),
        };
        self.nodes[place].tell(self.now, event);
    }
}

impl World {
    /// The process dies, and another takes its place. Who waited there waits for nothing any more.
    fn die(&mut self, place: usize) {
        self.nodes[place] = Node::new(&mut self.rng, self.now);
        self.open.retain(|_, (asked, _)| *asked != place);
        self.waiting.retain(|_, submitted| *submitted != place);
    }
}

/// Says which seed failed, whatever the panic.
struct Announce(u64);

impl Drop for Announce {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} failed", self.0);
        }
    }
}

/// D6, B5, B17
#[test]
fn whatever_fails_and_whoever_loses_its_lease_each_task_ends_once() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = number("SOAK_SEED").map_or(0..number("SOAK_SEEDS").unwrap_or(150), |seed| seed..seed + 1);
    for seed in seeds {
        let _announce = Announce(seed);
        World::new(seed).run();
    }
}
