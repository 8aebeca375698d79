//! The way to the board and back, as the store's gateway is: in order, one reply a request. It may be down for a while, and
//! then fails each request, some of them after they were carried out.

use std::collections::VecDeque;
use std::time::Duration;

use taskyard_core::board::Board;
use taskyard_core::conductor::Event;
use taskyard_core::store::{Ask, Asker, Reply, Status, StoreError};
use taskyard_core::time::Instant64;
use taskyard_core::{Machine, Now};

use super::rng::Rng;

#[derive(Default)]
pub(super) struct Line {
    pub(super) asks: VecDeque<Ask>,
    /// How many were asked.
    pub(super) asked: u64,
    down_until: Option<Instant64>,
    is_down: bool,
}

impl Line {
    pub(super) fn is_quiet(&self) -> bool {
        self.asks.is_empty()
    }

    pub(super) fn put(&mut self, ask: Ask) {
        self.asked += 1;
        match ask.from {
            // No busy Conductor starves a renewal.
            Asker::Lease => self.asks.push_front(ask),
            Asker::Conductor => self.asks.push_back(ask),
        }
    }

    pub(super) fn go_down(&mut self, now: Now, rng: &mut Rng) {
        self.down_until = Some(now.mono + Duration::from_millis(rng.below(15_000)));
    }

    /// Answers the first request, if there is one. What the Conductor is told of the store beside the reply.
    pub(super) fn answer(
        &mut self,
        now: Now,
        rng: &mut Rng,
        board: &mut Board,
        faults: bool,
    ) -> Option<(Reply, Option<Event>)> {
        let ask = self.asks.pop_front()?;
        let fails = faults && (self.down_until.is_some_and(|until| now.mono < until) || rng.permille(10));
        let (to, no) = (ask.from, ask.no);
        if !fails || rng.permille(300) {
            let mut replies = Vec::new();
            board.handle(now, ask, &mut replies);
            if !fails {
                let up = std::mem::take(&mut self.is_down).then_some(Event::StoreUp);
                return Some((replies.pop()?, up));
            }
            return Some(self.failed(to, no, StoreError::Unknown("drawn by the seed".into())));
        }
        Some(self.failed(to, no, StoreError::Unavailable("drawn by the seed".into())))
    }

    fn failed(&mut self, to: Asker, no: u64, error: StoreError) -> (Reply, Option<Event>) {
        let down = (!std::mem::replace(&mut self.is_down, true)).then(|| Event::StoreDown(error.clone()));
        (Reply { to, no, answer: Err(error), status: Status::default() }, down)
    }
}
