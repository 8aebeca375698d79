//! The workers of a [`TestYard`](super::TestYard): threads that run real handlers, count as mail while they do, and can be
//! made to crash.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::{Launcher, Link, Reports};
use taskyard_core::id::WorkerId;

use crate::context::Calls;
use crate::local::{Breaker, Crew, Threads};
use crate::registry::{Options, Registry};

/// The way to break each worker, by its number.
#[derive(Clone, Default)]
pub(super) struct Breakers(Arc<Mutex<BTreeMap<u32, Breaker>>>);

impl Breakers {
    /// Breaks a worker. False if there is no such worker.
    pub(super) fn crash(&self, worker: u32) -> bool {
        let breaker = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
        if let Some(breaker) = &breaker {
            breaker.crash();
        }
        breaker.is_some()
    }
}

/// Launches them.
pub(super) struct Stage {
    crew: Crew,
    breakers: Breakers,
}

impl Stage {
    pub(super) fn new(
        registry: Registry,
        calls: Arc<dyn Calls>,
        in_flight: InFlight,
        breakers: Breakers,
    ) -> Self {
        let options = Options { concurrency: 1, ahead: 0 };
        Self {
            crew: Crew {
                registry,
                calls,
                options,
                droppable: true,
                in_flight: Some(in_flight),
                threads: Threads::at_most(usize::MAX),
            },
            breakers,
        }
    }
}

impl Launcher for Stage {
    fn launch(&mut self, worker: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        let (link, breaker) = self.crew.start_breakable(name, reports);
        self.breakers.0.lock().unwrap_or_else(PoisonError::into_inner).insert(worker.number, breaker);
        link
    }
}
