//! The Postgres board answers as every store must: the suite of the memory board, asked of a schema on a server. Without a
//! server it is asked of the memory board, and says so.
#![cfg(feature = "postgres")]

#[path = "../../core/tests/board/batches.rs"]
mod batches;
#[path = "../../core/tests/board/behind.rs"]
mod behind;
#[path = "../../core/tests/board/body.rs"]
mod body;
#[path = "../../core/tests/board/bounds.rs"]
mod bounds;
#[path = "../../core/tests/board/cancel.rs"]
mod cancel;
#[path = "../../core/tests/board/claim.rs"]
mod claim;
#[path = "../../core/tests/board/due.rs"]
mod due;
#[path = "../../core/tests/board/leases.rs"]
mod leases;
#[path = "../../core/tests/board/order.rs"]
mod order;
#[path = "../../core/tests/board/post.rs"]
mod post;
#[path = "../../core/tests/board/promote.rs"]
mod promote;
#[path = "../../core/tests/board/prune.rs"]
mod prune;
#[path = "../../core/tests/board/query.rs"]
mod query;
#[path = "../../core/tests/board/races.rs"]
mod races;
#[path = "../../core/tests/board/reschedule.rs"]
mod reschedule;
#[path = "../../core/tests/board/rig.rs"]
mod rig;
#[path = "../../core/tests/board/routes.rs"]
mod routes;
#[path = "../../core/tests/board/schedules.rs"]
mod schedules;
#[path = "../../core/tests/board/settle.rs"]
mod settle;
#[path = "../../core/tests/board/take_over.rs"]
mod take_over;
#[path = "../../core/tests/board/task.rs"]
mod task;
#[path = "../../core/tests/board/trash.rs"]
mod trash;

#[path = "../postgres/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;

use std::time::Duration;

use rig::Store;
use server::Schema;
use taskyard::store::postgres::{Clock, Options};
use taskyard::store::{Durability, Postgres, Setup, Store as _};
use taskyard_core::board::{Board, Settings};
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};
use taskyard_core::time::micros;
use taskyard_core::{Machine, Now};

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn Store> {
    let Some(schema) = Schema::new() else {
        return Box::new(Memory { board: Board::new(settings, router), leases: Duration::ZERO });
    };
    let options = Options {
        schema: schema.name.parse().expect("a name"),
        clock: Clock::Given,
        durability: Durability::Normal,
        ..Options::new(schema.url.parse().expect("an address"))
    };
    let store = Postgres::open(options, Setup { board: settings, ..Setup::new(router) }, || {});
    Box::new(Server { store: store.expect("opens"), schema, asked: 0 })
}

/// How many requests are answered between two looks at all rows.
const VERIFIED_EVERY: u32 = 8;

struct Server {
    store: Postgres,
    schema: Schema,
    asked: u32,
}

impl Drop for Server {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.store.verify(), [""; 0]);
        }
    }
}

impl Store for Server {
    fn answer(&mut self, now: Now, ask: Ask) -> Reply {
        let mut replies = self.store.answer(now, &[ask]);
        let reply = replies.pop().expect("each request has a reply");
        assert!(replies.is_empty(), "one reply a request");
        reply
    }

    fn check_invariants(&mut self) {
        self.asked += 1;
        if self.asked.is_multiple_of(VERIFIED_EVERY) {
            assert_eq!(self.store.verify(), [""; 0]);
        }
    }

    /// The server's clock goes as it goes: the leases end so much earlier instead.
    fn pass_lease(&mut self, span: Duration) {
        let earlier = format!("UPDATE {}.owners SET until = until - $1", self.schema.name);
        self.schema.direct.rows(&earlier, &[&micros(span)]);
    }
}

/// In the place of a server.
struct Memory {
    board: Board,
    leases: Duration,
}

impl Store for Memory {
    fn answer(&mut self, now: Now, ask: Ask) -> Reply {
        let mut replies = Vec::new();
        let now = Now { mono: now.mono + self.leases, ..now };
        self.board.handle(now, ask, &mut replies);
        replies.pop().expect("each request has a reply")
    }

    fn check_invariants(&mut self) {
        self.board.check_invariants();
    }

    fn pass_lease(&mut self, span: Duration) {
        self.leases += span;
    }
}
