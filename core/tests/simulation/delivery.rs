//! How mail arrives: at the board, at the edge, or within its node.

use taskyard_core::Machine;
use taskyard_core::conductor;
use taskyard_core::store::{Ask, StoreError};
use taskyard_core::wiring::Mail;

use crate::board as line;
use crate::mail::{Role, Way};
use crate::node::{Around, Node};
use crate::world::World;

impl World {
    pub(crate) fn deliver(&mut self, life: u64, way: Way) {
        let Some(mail) = self.nodes.get_mut(&life).and_then(|node| node.post.take(way)) else { return };
        if self.trace {
            eprintln!("{:>10} {life} {:?} -> {mail:?}", self.now.mono.0, way.0);
        }
        match mail {
            Mail::Board(ask) => self.ask_board(life, ask),
            Mail::Answer(token, answer) => {
                let Some(node) = self.nodes.get_mut(&life) else { return };
                self.edge.answered(&mut self.checks, node, token, answer);
            }
            Mail::Happened(_) => {}
            Mail::Conductor(conductor::Event::Submit(submission)) => {
                _ = self.at_node(life, |node, around| {
                    for task in &submission.tasks {
                        around.checks.submitted(life, task, around.now);
                    }
                    node.deliver(around, Mail::Conductor(conductor::Event::Submit(submission)));
                });
            }
            mail => _ = self.at_node(life, |node, around| node.deliver(around, mail)),
        }
    }

    /// A request reaches the board, or does not.
    pub(crate) fn ask_board(&mut self, life: u64, ask: Ask) {
        let faults = self.faults;
        self.at_node(life, |node, around| ask_from(node, around, faults, ask));
        if self.careful {
            self.board.check_invariants();
        }
    }
}

fn ask_from(node: &mut Node, around: &mut Around<'_>, faults: bool, ask: Ask) {
    around.checks.asked(node.life, &ask);
    let Around { now, rng, board, checks, .. } = around;
    let Some(reply) = line::answer(board, checks, rng, faults, *now, ask) else { return };
    node.hear_of_store(reply.answer.as_ref().err());
    node.post.send(Role::Board, Mail::from(reply));
}

impl Node {
    pub(crate) fn hear_from_board(&mut self, event: conductor::Event) {
        self.post.send(Role::Board, Mail::Conductor(event));
    }

    /// As the gateway does, it says each change once.
    fn hear_of_store(&mut self, error: Option<&StoreError>) {
        let error = error.filter(|error| **error != StoreError::Fenced);
        if self.lease.is_none() || self.store_down == error.is_some() {
            return;
        }
        self.store_down = error.is_some();
        self.hear_from_board(match error {
            Some(error) => conductor::Event::StoreDown(error.clone()),
            None => conductor::Event::StoreUp,
        });
    }
}
