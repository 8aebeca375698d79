//! The SQLite board answers as every store must: the suite of the memory board, asked of a file.
#![cfg(feature = "sqlite")]

#[path = "../../core/tests/board/suite.rs"]
mod suite;

#[path = "../sqlite/folder.rs"]
mod folder;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use folder::Folder;
use suite::rig;
use taskyard::store::Store as _;
use taskyard::store::sqlite::{BootClock, Options};
use taskyard::store::{Durability, Setup, Sqlite};
use taskyard_core::Now;
use taskyard_core::board::Settings;
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};
use taskyard_core::time::micros;

/// How many drawn scripts are played.
pub(crate) const SCRIPTS: u64 = 20;

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn rig::Store> {
    let folder = Folder::new();
    let leases = Leases::default();
    let options = Options {
        durability: Durability::Normal,
        clock: Some(Box::new(leases.clone())),
        ..Options::new(Setup { board: settings, ..Setup::new(router) })
    };
    let store = Sqlite::open(folder.path("board.db"), options).expect("opens");
    Box::new(File { store, leases, _folder: folder })
}

struct File {
    store: Sqlite,
    leases: Leases,
    _folder: Folder,
}

/// A clock that goes where the script says.
#[derive(Clone, Default)]
struct Leases(Arc<AtomicI64>);

impl BootClock for Leases {
    fn boot(&self) -> &'static str {
        "a boot"
    }

    fn micros(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl rig::Store for File {
    fn answer(&mut self, now: Now, ask: Ask) -> Reply {
        let mut replies = self.store.answer(now, &[ask]);
        let reply = replies.pop().expect("each request has a reply");
        assert!(replies.is_empty(), "one reply a request");
        reply
    }

    fn check_invariants(&mut self) {
        assert_eq!(self.store.verify(), [""; 0]);
    }

    fn pass_lease(&mut self, span: Duration) {
        self.leases.0.fetch_add(micros(span), Ordering::Relaxed);
    }
}
