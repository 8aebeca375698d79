//! The turns of a node's machines: what each is told, what it says to whom, and what its workers do meanwhile.

use std::time::Duration;

use taskyard_core::conductor::{self, Answer};
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::time::Instant64;
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Stage, delayer, lease, pool};

use crate::board as line;
use crate::mail::Role;
use crate::node::{Around, LADDER, Node};
use crate::tasks;
use crate::workers::Outcome;

impl Node {
    /// Everything but what leaves the node.
    pub(crate) fn deliver(&mut self, around: &mut Around<'_>, mail: Mail) {
        let now = around.now;
        match mail {
            Mail::Conductor(event) => {
                match &event {
                    conductor::Event::Owned(owner) => self.owner = Some(*owner),
                    conductor::Event::Disowned => {
                        self.owner = None;
                        self.cleared_by = Some(now.mono + LADDER);
                    }
                    conductor::Event::Released => self.released = true,
                    _ => {}
                }
                let effects = turn(&mut self.conductor, around, event);
                self.send(around, Role::Conductor, effects);
                assert!(self.conductor.live() <= self.live_max, "more in the yard than may be");
            }
            Mail::Lease(event) => {
                let effects = self.lease.as_mut().map(|lease| turn(lease, around, event));
                self.send(around, Role::Lease, effects.unwrap_or_default());
            }
            Mail::Delayer(event) => {
                if let delayer::Event::Dispatch(dispatch) = &event {
                    around.checks.dispatched(dispatch);
                }
                let effects = turn(&mut self.delayer, around, event);
                self.send(around, Role::Delayer, effects);
            }
            Mail::Blocker(event) => {
                let effects = turn(&mut self.blocker, around, event);
                self.send(around, Role::Blocker, effects);
            }
            Mail::InProgress(event) => {
                let effects = turn(&mut self.in_progress, around, event);
                self.send(around, Role::InProgress, effects);
            }
            Mail::Queuer(event) => {
                let effects = turn(&mut self.queuer, around, event);
                self.send(around, Role::Queuer, effects);
            }
            Mail::Pool(pool, event) => {
                if let pool::Event::Dispatch(dispatch) = &event {
                    around.checks.handed(dispatch);
                }
                let effects = turn(&mut self.pools[usize::from(pool.0)], around, event);
                self.send(around, Role::Pool(pool), effects);
            }
            Mail::Worker(worker, command) => {
                let outcome = self.workers.command(around.rng, worker, command);
                self.worker_did(around, worker, outcome);
            }
            Mail::Board(_) | Mail::Answer(..) | Mail::Happened(_) => unreachable!("it leaves the node"),
        }
    }

    fn send<E: Into<Mail>>(&mut self, around: &mut Around<'_>, from: Role, effects: Vec<E>) {
        for effect in effects {
            let mail = effect.into();
            self.look_at(around, &mail);
            self.post.send(from, mail);
        }
    }

    /// What must hold when a message is sent.
    fn look_at(&self, around: &mut Around<'_>, mail: &Mail) {
        match mail {
            Mail::Conductor(conductor::Event::Missed(cancel)) => {
                let id = cancel.id();
                let held = [self.delayer.get(&id), self.blocker.get(&id)];
                let overtaken = held.into_iter().flatten().any(|dispatch| dispatch.name() == cancel.name());
                assert!(!overtaken, "a cancel overtook {:?}", cancel.name());
            }
            Mail::Lease(lease::Event::Release) if self.owner.is_none() => {
                around.checks.left_unregistered(self.life);
            }
            Mail::Answer(_, Answer::Outcome(id, outcome)) => {
                let recorded = line::outcome(around.board, around.now, *id);
                assert_eq!(recorded.as_ref(), Some(outcome), "{id} is told otherwise than recorded");
            }
            _ => {}
        }
    }

    pub(crate) fn wake(&mut self, around: &mut Around<'_>, role: Role) {
        match role {
            Role::Conductor => {
                let effects = wake(&mut self.conductor, around);
                self.send(around, role, effects);
            }
            Role::Lease => {
                let effects = self.lease.as_mut().map(|lease| wake(lease, around));
                self.send(around, role, effects.unwrap_or_default());
            }
            Role::Delayer => {
                let effects = wake(&mut self.delayer, around);
                self.send(around, role, effects);
            }
            Role::Pool(pool) => {
                let effects = wake(&mut self.pools[usize::from(pool.0)], around);
                self.send(around, role, effects);
            }
            other => unreachable!("{other:?} waits for no time"),
        }
    }

    /// Starts the pools, as the shell does.
    pub(crate) fn start(&mut self, around: &mut Around<'_>) {
        for id in 0..self.pools.len() {
            let mut effects = Vec::new();
            self.pools[id].start(around.now, &mut effects);
            self.send(around, Role::Pool(PoolId(id as u8)), effects);
        }
    }

    /// What its workers do by now of their own accord.
    pub(crate) fn act(&mut self, around: &mut Around<'_>) {
        while let Some(entry) = self.acts.first_entry().filter(|entry| entry.key().0 <= around.now.mono) {
            let (worker, act) = entry.remove();
            let outcome = self.workers.act(around.rng, worker, act);
            self.worker_did(around, worker, outcome);
        }
    }

    fn worker_did(&mut self, around: &mut Around<'_>, worker: WorkerId, outcome: Outcome) {
        for live in &outcome.stopped {
            around.checks.stopped(self.life, live);
        }
        if !outcome.started.is_empty() {
            let running: Vec<_> = self.workers.running().cloned().collect();
            for live in &outcome.started {
                around.checks.started(self.life, live, around.now, &running);
                if around.poison && tasks::is_poison(live.task.id) {
                    let after = Duration::from_micros(around.rng.below(50_000));
                    self.dies_at.get_or_insert(around.now.mono + after);
                }
            }
        }
        for (after, act) in outcome.later {
            self.act_number += 1;
            let at = Instant64(around.now.mono.0 + after);
            self.acts.insert((at, self.act_number), (worker, act));
        }
        for report in outcome.reports {
            let event = pool::Event::Worker { worker: worker.number, report };
            self.post.send(Role::Worker(worker), Mail::Pool(worker.pool, event));
        }
    }
}

/// One event as a turn of its own.
fn turn<M: Machine>(machine: &mut M, around: &Around<'_>, event: M::Event) -> Vec<M::Effect> {
    let now = around.now;
    let mut effects = Vec::new();
    machine.handle(now, event, &mut effects);
    machine.end_turn(now, &mut effects);
    if around.careful {
        machine.check_invariants();
    }
    effects
}

fn wake<M: Machine>(machine: &mut M, around: &Around<'_>) -> Vec<M::Effect> {
    let now = around.now;
    let mut effects = Vec::new();
    machine.wake(now, &mut effects);
    machine.end_turn(now, &mut effects);
    if around.careful {
        machine.check_invariants();
    }
    effects
}
