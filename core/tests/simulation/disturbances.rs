//! What comes from outside: submits, cancels, other due times and bounds, steps of the clock, and what befalls whole nodes.

use std::time::Duration;

use taskyard_core::conductor;
use taskyard_core::id::PoolId;
use taskyard_core::store::Filter;
use taskyard_core::wiring::Mail;

use crate::mail::Role;
use crate::node::Halt;
use crate::tasks;
use crate::world::World;

impl World {
    /// Any node, if one lives.
    fn draw_node(&mut self) -> Option<u64> {
        let lives: Vec<_> = self.nodes.keys().copied().collect();
        (!lives.is_empty()).then(|| self.rng.pick(&lives))
    }

    pub(crate) fn disturb(&mut self) {
        let Some(life) = self.draw_node() else { return };
        match self.rng.below(if self.shape.shared { 18 } else { 14 }) {
            0..=5 => self.submit(),
            6 | 7 => self.cancel(life),
            8 => self.reschedule(life),
            9 => self.scale(life),
            10 => self.pause(life),
            11 => self.watch(life),
            12 => self.stall_board(),
            13 => self.step_clock(life),
            14..=16 => self.halt(life),
            _ if self.faults => self.kill(life),
            _ => {}
        }
    }

    pub(crate) fn submit(&mut self) {
        let Some(life) = self.draw_node() else { return };
        let count = (1 + self.rng.below(4)).min(self.left_to_submit);
        let mut tasks = Vec::new();
        for _ in 0..count {
            let wall = self.nodes[&life].now(self.now).wall;
            tasks.push(tasks::draw(&mut self.rng, self.left_to_submit, wall));
            self.left_to_submit -= 1;
        }
        if let Some(node) = self.nodes.get_mut(&life) {
            self.edge.submit(node, tasks);
        }
    }

    /// What no node is known to have taken in is brought to whichever.
    pub(crate) fn submit_again(&mut self) {
        if self.edge.has_again()
            && self.rng.permille(300)
            && let Some(life) = self.draw_node()
            && let Some(node) = self.nodes.get_mut(&life)
        {
            self.edge.submit_again(node);
        }
    }

    fn cancel(&mut self, life: u64) {
        let ids = self.checks.submitted_ids();
        let filter = match self.rng.below(4) {
            0 => Filter { task: Some("one".parse().unwrap()), ..Filter::default() },
            1 => Filter { namespace: Some("a.y".parse().unwrap()), ..Filter::default() },
            _ if ids.is_empty() => Filter::default(),
            _ => Filter::ids([self.rng.pick(&ids)]),
        };
        let filter = Box::new(filter);
        self.ask(life, "cancel", |reply| conductor::Event::Cancel { filter, reply });
    }

    fn reschedule(&mut self, life: u64) {
        let ids = self.checks.submitted_ids();
        if ids.is_empty() {
            return;
        }
        let id = self.rng.pick(&ids);
        self.checks.rescheduled(id);
        let wall = self.nodes[&life].now(self.now).wall;
        let due = tasks::due(&mut self.rng, wall);
        self.ask(life, "reschedule", |reply| conductor::Event::Reschedule { id, due, reply });
    }

    fn watch(&mut self, life: u64) {
        let ids = self.checks.submitted_ids();
        if !ids.is_empty() {
            let id = self.rng.pick(&ids);
            self.ask(life, "watch", |reply| conductor::Event::Watch { id, reply });
        }
    }

    fn ask(&mut self, life: u64, what: &'static str, event: impl FnOnce(u64) -> conductor::Event) {
        let Some(node) = self.nodes.get_mut(&life) else { return };
        let reply = self.edge.question(&mut self.checks, node, what);
        node.tell(event(reply));
    }

    fn scale(&mut self, life: u64) {
        let pool = self.draw_pool();
        let min = self.rng.below(2) as u32;
        let max = min.max(1) + self.rng.below(3) as u32;
        self.tell(life, conductor::Event::Scale { pool, min, max });
    }

    fn pause(&mut self, life: u64) {
        let pool = self.draw_pool();
        let paused = self.rng.permille(300);
        self.tell(life, conductor::Event::Pause { pool, paused });
    }

    fn draw_pool(&mut self) -> PoolId {
        let pools: Vec<_> = self.shape.pools().collect();
        self.rng.pick(&pools)
    }

    fn tell(&mut self, life: u64, event: conductor::Event) {
        if let Some(node) = self.nodes.get_mut(&life) {
            node.tell(event);
        }
    }

    fn stall_board(&mut self) {
        if self.faults {
            let span = Duration::from_millis(self.rng.below(12_000));
            self.board_stalls = Some(self.now.mono + span);
        }
    }

    fn step_clock(&mut self, life: u64) {
        let step = self.rng.below(20_000_000) as i64 - 10_000_000;
        if let Some(node) = self.nodes.get_mut(&life) {
            node.ahead += step;
            self.checks.clock(node.now(self.now).wall);
            self.checks.clock_stepped();
        }
    }

    /// A node does nothing, or only part of what it should, for about as long as a lease holds.
    fn halt(&mut self, life: u64) {
        let lease = self.shape.lease.registration.lease.as_micros() as u64;
        let span = Duration::from_micros(self.rng.below(3 * lease));
        let halt = self.rng.pick(&[Halt::Stopped, Halt::Busy, Halt::CutOff]);
        let Some(node) = self.nodes.get_mut(&life).filter(|_| self.faults) else { return };
        if self.trace {
            eprintln!("{:>10} {life} {halt:?} for {span:?}", self.now.mono.0);
        }
        node.halt = Some((halt, self.now.mono + span));
        self.checks.tally.halted += 1;
        if halt != Halt::CutOff {
            self.checks.runs.excuse(life);
        }
    }

    /// A node is gone with all that it had, but for what it had sent to the board already.
    pub(crate) fn kill(&mut self, life: u64) {
        if self.rng.permille(500) {
            for way in [(Role::Lease, Role::Board), (Role::Conductor, Role::Board)] {
                while let Some(Mail::Board(ask)) =
                    self.nodes.get_mut(&life).and_then(|node| node.post.take(way))
                {
                    self.ask_board(life, ask);
                }
            }
        }
        let Some(node) = self.nodes.remove(&life) else { return };
        if self.trace {
            eprintln!("{:>10} {life} is killed", self.now.mono.0);
        }
        node.workers.running().for_each(|live| self.checks.stopped(life, live));
        self.checks.died(life);
        self.edge.died(life);
        let after = Duration::from_millis(self.rng.below(8_000));
        self.births.push(self.now.mono + after);
    }
}
