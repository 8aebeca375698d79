//! The Postgres board answers as every store must: the suite of the memory board, asked of a schema on a server. Without a
//! server it is asked of the memory board, and says so.
#![cfg(feature = "postgres")]

#[path = "../../core/tests/board/in_memory.rs"]
mod in_memory;
#[path = "../../core/tests/board/suite.rs"]
mod suite;

#[path = "../postgres/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;

use std::time::Duration;

use in_memory::InMemory;
use server::Schema;
use suite::rig::Store;
use taskyard::store::postgres::{Clock, Options};
use taskyard::store::{Durability, Postgres, Setup, Store as _};
use taskyard_core::Now;
use taskyard_core::board::Settings;
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};
use taskyard_core::time::micros;

/// How many drawn scripts are played.
pub(crate) const SCRIPTS: u64 = 4;

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn Store> {
    let Some(schema) = Schema::new() else {
        // In the place of a server.
        return Box::new(InMemory::new(settings, router));
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
