//! The world: nodes on one board, the time, and what happens next.

use std::collections::BTreeMap;

use taskyard_core::board::{self, Board};
use taskyard_core::conductor;
use taskyard_core::store::OwnerView;
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Machine, Now};

use crate::board as line;
use crate::checks::Checks;
use crate::edge::Edge;
use crate::mail::Way;
use crate::node::{Around, Node};
use crate::rng::Rng;
use crate::shape::Shape;
use crate::tally::Tally;

const MAX_STEPS: u64 = 400_000;

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) now: Now,
    pub(crate) shape: Shape,
    pub(crate) faults: bool,
    pub(crate) trace: bool,
    /// Whether one seed is looked at: then invariants are checked after each step, else now and then.
    pub(crate) careful: bool,
    /// By their lives.
    pub(crate) nodes: BTreeMap<u64, Node>,
    /// When nodes are started in dead ones' places.
    pub(crate) births: Vec<Instant64>,
    pub(crate) lives: u64,
    pub(crate) board: Board,
    /// Until then the board takes no mail.
    pub(crate) board_stalls: Option<Instant64>,
    pub(crate) checks: Checks,
    pub(crate) edge: Edge,
    pub(crate) left_to_submit: u64,
    pub(crate) steps: u64,
    /// Where mail may arrive; kept so that it is not allocated anew.
    pub(crate) open: Vec<(u64, Way)>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let shape = Shape::draw(&mut rng);
        let mut world = Self {
            faults: rng.permille(700),
            left_to_submit: 10 + rng.below(60),
            now: Now { mono: Instant64(0), wall: Timestamp(1_700_000_000_000_000) },
            trace: std::env::var_os("SIM_TRACE").is_some(),
            careful: std::env::var_os("SIM_SEED").is_some(),
            nodes: BTreeMap::new(),
            births: Vec::new(),
            lives: 0,
            board: Board::new(board::Settings::default(), shape.router.clone()),
            board_stalls: None,
            checks: Checks::default(),
            edge: Edge::new(),
            steps: 0,
            open: Vec::new(),
            shape,
            rng,
        };
        world.checks.record.max_deliveries = world.shape.max_deliveries;
        world.checks.runs.strict = world.shape.shared && world.shape.lease.strict;
        (0..world.shape.nodes).for_each(|_| world.start_node());
        world
    }

    pub(crate) fn start_node(&mut self) {
        self.lives += 1;
        let mut node = self.shape.node(&mut self.rng, self.lives, self.faults);
        node.looks_at = self.now.mono;
        self.checks.clock(node.now(self.now).wall);
        self.nodes.insert(self.lives, node);
        self.at_node(self.lives, Node::start);
    }

    /// Has a node do something, unless it is gone.
    pub(crate) fn at_node<T>(
        &mut self,
        life: u64,
        step: impl FnOnce(&mut Node, &mut Around<'_>) -> T,
    ) -> Option<T> {
        let node = self.nodes.get_mut(&life)?;
        let now = node.now(self.now);
        let (rng, board, checks) = (&mut self.rng, &mut self.board, &mut self.checks);
        let poison = self.faults && self.shape.poison;
        let careful = self.careful || self.steps.is_multiple_of(4);
        Some(step(node, &mut Around { now, rng, board, checks, careful, poison }))
    }

    pub(crate) fn run(mut self) -> Tally {
        while self.left_to_submit > 0 {
            self.step();
            if self.rng.permille(60) {
                self.disturb();
            }
        }
        while self.faults && self.now.mono < self.shape.faulty_until {
            self.step();
        }
        self.stop_faults();
        if self.rng.permille(300) {
            self.drain();
        } else {
            self.finish();
        }
        Tally { steps: self.steps, ..self.checks.tally }
    }

    /// Once faults have stopped everything must end.
    fn finish(&mut self) {
        while !self.is_at_rest() {
            self.step();
        }
        self.check_record();
        self.check_end();
        if self.shape.shared && self.rng.permille(300) {
            self.drain();
        }
    }

    /// Each task that was accepted has ended, in the way in which it was told.
    fn check_record(&mut self) {
        for id in self.checks.accepted() {
            let outcome = line::outcome(&mut self.board, self.now, id);
            let outcome = outcome.unwrap_or_else(|| panic!("{id} was accepted and never ended"));
            self.checks.record.ended(id, &outcome);
        }
    }

    fn is_at_rest(&mut self) -> bool {
        let told = self.checks.all_told() && self.edge.is_clear() && self.board.unfinished() == 0;
        let quiet = |node: &Node| !node.is_busy() && (self.shape.shared || node.post.is_empty());
        let calm = told && self.births.is_empty() && self.nodes.values().all(quiet);
        calm && self.only_the_living_own()
    }

    /// Whether every owner on the board is one that lives.
    fn only_the_living_own(&mut self) -> bool {
        self.owners().iter().all(|owner| self.is_of_the_living(owner))
    }

    fn is_of_the_living(&self, owner: &OwnerView) -> bool {
        self.nodes.values().any(|node| node.owner == Some(owner.id))
    }

    /// Who is registered, on a board that knows of such.
    fn owners(&mut self) -> Vec<OwnerView> {
        if self.shape.shared { line::owners(&mut self.board, self.now) } else { Vec::new() }
    }

    fn drain(&mut self) {
        self.births.clear();
        for node in self.nodes.values_mut() {
            let reply = self.edge.token();
            node.tell(conductor::Event::Drain { reply });
        }
        let shared = self.shape.shared;
        let over = |node: &Node| node.drained && (node.released || !shared);
        while !self.nodes.values().all(over) {
            self.step();
        }
        self.checks.answered_but_watches();
        self.check_end();
        for owner in self.owners() {
            assert!(!self.is_of_the_living(&owner), "all have gone, and the board knows of {owner:?}");
        }
    }

    fn stop_faults(&mut self) {
        self.faults = false;
        let last = self.nodes.values().map(|node| node.ahead).max().unwrap_or_default();
        let ahead = last.max(self.shape.skew);
        for node in self.nodes.values_mut() {
            node.workers.faults = false;
            // So that nobody waits an hour for what another's clock made due.
            node.ahead = ahead;
            for pool in self.shape.pools() {
                node.tell(conductor::Event::Pause { pool, paused: false });
            }
        }
        self.checks.clock_stepped();
        self.checks.clock(Timestamp(self.now.wall.0 + ahead));
    }

    fn check_end(&mut self) {
        self.nodes.values().for_each(Node::check_empty);
        self.check_all();
    }

    pub(crate) fn check_all(&self) {
        self.board.check_invariants();
        self.nodes.values().for_each(Node::check_invariants);
    }

    pub(crate) fn where_all_is(&self) -> String {
        let nodes: Vec<_> = self.nodes.values().map(Node::where_all_is).collect();
        let (waiting, unfinished) = (self.checks.waiting(), self.board.unfinished());
        format!("waited for: {waiting:?}; on the board {unfinished}; {}", nodes.join("; "))
    }

    pub(crate) fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "does not end: {}", self.where_all_is());
        let stalls = self.board_stalls.is_some_and(|until| self.now.mono < until);
        self.open.clear();
        for (life, node) in &self.nodes {
            self.open.extend(node.ways(stalls).map(|way| (*life, way)));
        }
        if self.open.is_empty() || self.rng.permille(30) {
            return self.pass_time(self.open.is_empty());
        }
        let (life, way) = self.rng.pick(&self.open);
        self.deliver(life, way);
        if self.steps.is_multiple_of(64) {
            self.check_all();
        }
    }
}
