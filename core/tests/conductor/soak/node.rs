//! One dispatcher: a Conductor, its Lease, the line to the board, and what runs. It may be stopped for a while, and go on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::board::Board;
use taskyard_core::conductor::{self, Answer, Conductor, Effect, Event};
use taskyard_core::lease::{self, Lease};
use taskyard_core::live::LiveIndex;
use taskyard_core::store::Registration;
use taskyard_core::time::Instant64;
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Now, Wakeup};

use super::line::Line;
use super::pool::Pool;
use super::rng::Rng;
use crate::yard::POOL;

pub(super) struct Node {
    pub(super) conductor: Conductor,
    lease: Lease,
    pub(super) line: Line,
    pub(super) pool: Pool,
    /// To the Conductor, from the gateway and from the pool.
    mail: [VecDeque<Event>; 2],
    /// To the stages.
    orders: VecDeque<Effect>,
    pub(super) answers: Vec<(u64, Answer)>,
    frozen_until: Option<Instant64>,
}

impl Node {
    pub(super) fn new(rng: &mut Rng, now: Now) -> Self {
        let settings = conductor::Settings {
            live_max: 3 + rng.below(20) as usize,
            max_deliveries: 2 + rng.below(3) as u32,
            near_max: 1 + rng.below(5) as usize,
            ..crate::shared::settings()
        };
        let registration = Registration { lease: crate::shared::LEASE, ..Registration::default() };
        let lease = lease::Settings { registration, strict: rng.permille(500) };
        let mut node = Self {
            conductor: Conductor::new(settings, 1, Arc::new(LiveIndex::default())),
            lease: Lease::new(lease),
            line: Line::default(),
            pool: Pool::new(2),
            mail: [VecDeque::new(), VecDeque::new()],
            orders: VecDeque::new(),
            answers: Vec::new(),
            frozen_until: None,
        };
        node.tell(now, Event::Capacity { pool: POOL, slots: 2 });
        node
    }

    pub(super) fn is_frozen(&self, now: Now) -> bool {
        self.frozen_until.is_some_and(|until| now.mono < until)
    }

    pub(super) fn freeze(&mut self, now: Now, rng: &mut Rng) {
        self.frozen_until = Some(now.mono + Duration::from_millis(rng.below(25_000)));
    }

    pub(super) fn next_wakeup(&self, now: Now) -> Wakeup {
        self.conductor.next_wakeup().or(self.lease.next_wakeup()).or(self.pool.next_wakeup(now))
    }

    pub(super) fn tell(&mut self, now: Now, event: Event) {
        let mut effects = Vec::new();
        self.conductor.handle(now, event, &mut effects);
        self.end_turn(now, effects);
    }

    fn end_turn(&mut self, now: Now, mut effects: Vec<Effect>) {
        self.conductor.end_turn(now, &mut effects);
        self.conductor.check_invariants();
        for effect in effects {
            match effect {
                Effect::Ask(ask) => self.line.put(ask),
                Effect::Pulse => self.tell_lease(now, lease::Event::Pulse),
                Effect::Answer(token, answer) => self.answers.push((token, answer)),
                order => self.orders.push_back(order),
            }
        }
    }

    fn tell_lease(&mut self, now: Now, event: lease::Event) {
        let mut effects = Vec::new();
        self.lease.handle(now, event, &mut effects);
        self.lease_said(effects);
    }

    fn lease_said(&mut self, effects: Vec<lease::Effect>) {
        self.lease.check_invariants();
        for effect in effects {
            match effect.into() {
                Mail::Board(ask) => self.line.put(ask),
                Mail::Conductor(event) => self.mail[0].push_back(event),
                other => panic!("{other:?}"),
            }
        }
    }

    /// One thing that can happen here. Whether there was one.
    pub(super) fn step(&mut self, now: Now, rng: &mut Rng, board: &mut Board, faults: bool) -> bool {
        if self.wake(now) {
            return true;
        }
        match rng.below(4) {
            0 => match self.line.answer(now, rng, board, faults) {
                Some((reply, news)) => {
                    self.mail[0].extend(news);
                    match reply.into() {
                        Mail::Conductor(event) => self.mail[0].push_back(event),
                        Mail::Lease(event) => self.tell_lease(now, event),
                        other => panic!("{other:?}"),
                    }
                    true
                }
                None => false,
            },
            way @ (1 | 2) => match self.mail[way as usize - 1].pop_front() {
                Some(event) => {
                    self.tell(now, event);
                    true
                }
                None => false,
            },
            _ => self.work(now, rng),
        }
    }

    fn wake(&mut self, now: Now) -> bool {
        let (conductor, lease) = (self.conductor.next_wakeup(), self.lease.next_wakeup());
        if lease.is_due(now) {
            let mut effects = Vec::new();
            self.lease.wake(now, &mut effects);
            self.lease_said(effects);
        }
        if conductor.is_due(now) {
            let mut effects = Vec::new();
            self.conductor.wake(now, &mut effects);
            self.end_turn(now, effects);
        }
        conductor.is_due(now) || lease.is_due(now)
    }

    /// The stages and the pool.
    fn work(&mut self, now: Now, rng: &mut Rng) -> bool {
        let event = match self.orders.pop_front() {
            Some(Effect::Dispatch(dispatch)) => {
                self.pool.take_in(dispatch);
                return true;
            }
            Some(Effect::Cancel(cancel)) => Some(self.pool.cancel(cancel)),
            Some(Effect::Go { name, .. }) => {
                self.pool.go(now, name);
                return true;
            }
            Some(other) => panic!("{other:?}"),
            None => self.pool.step(now, rng),
        };
        let happened = event.is_some();
        self.mail[1].extend(event);
        happened
    }
}
