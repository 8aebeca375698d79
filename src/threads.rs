//! Blocking pools: one thread a worker, for handlers that block and need no process of their own.

use std::sync::Arc;

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::{Launcher, Link, Reports};
use taskyard_core::id::WorkerId;

use crate::context::Calls;
use crate::local::{Crew, Threads};
use crate::registry::{Options, Registry};

/// Launches the workers of a blocking pool.
///
/// A thread can't be killed: signals are ignored, and a link that is dropped leaves the thread to end after its task.
pub struct BlockingLauncher(Crew);

impl BlockingLauncher {
    /// Workers that run tasks of `registry` one at a time, and may hold `ahead` more.
    pub fn new(registry: Registry, ahead: u32, calls: Arc<dyn Calls>) -> Self {
        let options = Options { concurrency: 1, ahead };
        // The pool counts those that are stuck.
        let threads = Threads::at_most(usize::MAX);
        Self(Crew { registry, calls, options, droppable: false, in_flight: None, threads })
    }

    /// Its workers count as mail in flight while they work.
    pub(crate) fn counted_by(mut self, in_flight: Option<InFlight>) -> Self {
        self.0.in_flight = in_flight;
        self
    }
}

impl Launcher for BlockingLauncher {
    fn launch(&mut self, _: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        self.0.start(name, reports)
    }
}
