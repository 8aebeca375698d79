//! Time passes: clocks go on, machines are woken, workers act, nodes die, are born and go on.

use std::time::Duration;

use taskyard_core::conductor;
use taskyard_core::time::Instant64;

use crate::board as line;
use crate::node::Node;
use crate::world::World;

impl World {
    /// To the next thing that time brings, or a little on.
    pub(crate) fn pass_time(&mut self, to_next: bool) {
        let next = self.next();
        let span = match next {
            Some(next) if to_next => next,
            Some(next) => next.min(Duration::from_micros(self.rng.below(5_000))),
            None if !to_next || self.left_to_submit > 0 || !self.edge.is_clear() => Duration::from_millis(1),
            None => panic!("nothing will ever happen again: {}", self.where_all_is()),
        };
        self.now.mono = self.now.mono + span;
        self.now.wall = self.now.wall + span;
        self.time_has_passed();
        if to_next && self.left_to_submit > 0 && self.rng.permille(500) {
            self.submit();
        }
        self.submit_again();
    }

    /// How long until time brings something.
    fn next(&self) -> Option<Duration> {
        let until = |at: Instant64| Duration::from_micros(at.since(self.now.mono).max(0) as u64);
        let stall = self.board_stalls.filter(|until| *until > self.now.mono);
        let births = self.births.iter().copied().chain(stall).map(until);
        let of_node = |node: &Node| {
            let now = node.now(self.now);
            let wishes = node.wishes().into_iter().filter_map(move |(_, wish)| wish.sleep(now)).min();
            let act = node.acts.first_key_value().map(|((at, _), _)| until(*at));
            let halt = node.halt.map(|(_, over)| until(over));
            let look = (self.shape.shared && !node.is_stopped()).then(|| until(node.looks_at));
            wishes.into_iter().chain(act).chain(halt).chain(look).min()
        };
        self.nodes.values().filter_map(of_node).chain(births).min()
    }

    fn time_has_passed(&mut self) {
        let mono = self.now.mono;
        let born = self.births.extract_if(.., |at| *at <= mono).count();
        (0..born).for_each(|_| self.start_node());
        let lives: Vec<_> = self.nodes.keys().copied().collect();
        for life in lives {
            let dies_at = self.nodes.get(&life).and_then(|node| node.dies_at);
            if self.faults && dies_at.is_some_and(|at| at <= mono) {
                self.kill(life);
            } else {
                self.time_at_node(life);
            }
        }
    }

    fn time_at_node(&mut self, life: u64) {
        let mono = self.now.mono;
        let looks = self.shape.shared;
        self.at_node(life, |node, around| {
            node.go_on(mono);
            around.checks.clock(around.now.wall);
            for (role, wish) in node.wishes() {
                if wish.is_due(around.now) {
                    node.wake(around, role);
                }
            }
            node.act(around);
            node.check_cleared(around);
            if looks && !node.is_stopped() && node.looks_at <= mono {
                node.looks_at = mono + Duration::from_secs(1);
                let status = line::status(around.board, around.now);
                node.hear_from_board(conductor::Event::Hint(status));
            }
        });
    }
}
