//! Blocking pools: one thread a worker, for handlers that block and need no process of their own.

use std::sync::Arc;

use taskyard_actors::{Launcher, Link, Reports};
use taskyard_core::id::WorkerId;

use crate::context::Calls;
use crate::local::Crew;
use crate::registry::{Options, Registry};

/// Launches the workers of a blocking pool.
///
/// A thread can't be killed: signals are ignored, and a link that is dropped leaves the thread to end after its task.
pub struct BlockingLauncher(Crew);

impl BlockingLauncher {
    /// Workers that run tasks of `registry` one at a time, and may hold `ahead` more.
    pub fn new(registry: Registry, ahead: u32, calls: Arc<dyn Calls>) -> Self {
        let options = Options { concurrency: 1, ahead };
        Self(Crew { registry, calls, options, droppable: false })
    }
}

impl Launcher for BlockingLauncher {
    fn launch(&mut self, _: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        self.0.start(name, reports)
    }
}
