//! The memory board as a store under test: also in the place of a server that is not there.

use std::time::Duration;

use taskyard_core::board::{Board, Settings};
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};
use taskyard_core::{Machine, Now};

use crate::suite::rig::Store;

/// The memory board, whose leases run on the monotonic clock of those who ask.
pub(crate) struct InMemory {
    board: Board,
    /// By how much that clock was put forward for the leases alone.
    leases: Duration,
}

impl InMemory {
    pub(crate) fn new(settings: Settings, router: Router) -> Self {
        Self { board: Board::new(settings, router), leases: Duration::ZERO }
    }
}

impl Store for InMemory {
    fn answer(&mut self, now: Now, ask: Ask) -> Reply {
        let mut replies = Vec::new();
        let now = Now { mono: now.mono + self.leases, ..now };
        self.board.handle(now, ask, &mut replies);
        let reply = replies.pop().expect("each request has a reply");
        assert!(replies.is_empty(), "one reply a request");
        reply
    }

    fn check_invariants(&mut self) {
        self.board.check_invariants();
    }

    fn pass_lease(&mut self, span: Duration) {
        self.leases += span;
    }
}
