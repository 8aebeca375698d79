//! Inline pools: async handlers, many at once, on a thread of the pool's own. For work that waits and never blocks.

use std::sync::Arc;

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::{Launcher, Link, Reports};
use taskyard_core::id::WorkerId;

use crate::context::Calls;
use crate::local::{Crew, Threads};
use crate::registry::{Options, Registry};

/// One that works and those that a handler blocks.
const THREADS_MAX: usize = 5;

/// Launches the worker of an inline pool (such a pool has one).
///
/// Tasks that were told to end are dropped at SIGTERM's place in the kill ladder, all tasks at SIGKILL's. A handler that
/// blocks its thread defeats the first, and may overlap its retry after the second: its thread is left behind and replaced,
/// up to four times; with more of them the pool can't start a worker until one comes back.
pub struct InlineLauncher(Crew);

impl InlineLauncher {
    /// A worker that runs tasks of `registry`, up to `options.concurrency` at once.
    pub fn new(registry: Registry, options: Options, calls: Arc<dyn Calls>) -> Self {
        let threads = Threads::at_most(THREADS_MAX);
        Self(Crew { registry, calls, options, droppable: true, in_flight: None, threads })
    }

    /// Its workers count as mail in flight while they work.
    pub(crate) fn counted_by(mut self, in_flight: Option<InFlight>) -> Self {
        self.0.in_flight = in_flight;
        self
    }
}

impl Launcher for InlineLauncher {
    fn launch(&mut self, _: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        self.0.start(name, reports)
    }
}
