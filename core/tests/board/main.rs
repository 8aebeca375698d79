//! The memory board answers as every store must, and as it alone promises.

mod in_memory;
mod memory;
// By its path, as the other boards do: so its modules stand beside it.
#[path = "suite.rs"]
mod suite;

use in_memory::InMemory;
use suite::rig::Store;
use taskyard_core::board::Settings;
use taskyard_core::router::Router;

/// How many drawn scripts are played.
pub(crate) const SCRIPTS: u64 = 20;

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn Store> {
    Box::new(InMemory::new(settings, router))
}
