//! What every store must answer, as small scripts against the memory board.
//!
//! The modules know only the [`Rig`](rig::Rig), which asks whatever [`store`] gives it: another store runs the same suite
//! with its own `store`.

mod batches;
mod behind;
mod body;
mod bounds;
mod cancel;
mod claim;
mod due;
mod faults;
mod leases;
mod memory;
mod model;
mod order;
mod post;
mod promote;
mod prune;
mod query;
mod races;
mod reschedule;
mod rig;
mod routes;
mod schedules;
mod settle;
mod take_over;
mod task;
mod trash;

use std::time::Duration;

use rig::Store;
use taskyard_core::board::{Board, Settings};
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};
use taskyard_core::{Machine, Now};

/// How many drawn scripts are played.
pub(crate) const SCRIPTS: u64 = 20;

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn Store> {
    Box::new(Memory { board: Board::new(settings, router), leases: Duration::ZERO })
}

/// The memory board, whose leases run on the monotonic clock of those who ask.
struct Memory {
    board: Board,
    /// By how much that clock was put forward for the leases alone.
    leases: Duration,
}

impl Store for Memory {
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
