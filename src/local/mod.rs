//! Workers inside this process, each a thread with a runtime of its own: what `inline` and `blocking` pools share. Which
//! of the two it is only decides whether running tasks can be dropped.

mod counted;
mod link;
mod shift;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use taskyard_actors::in_flight::InFlight;
use taskyard_actors::{Link, Reports};
use taskyard_core::TaskId;
use taskyard_core::live::Progress;
use taskyard_core::worker::Report;

use crate::context::{CallError, Calls, Host};
use crate::registry::{Options, Registry};
use link::{Desk, LocalLink};

/// What the workers of one pool have in common.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) registry: Registry,
    pub(crate) calls: Arc<dyn Calls>,
    pub(crate) options: Options,
    /// Whether running tasks can be dropped: they are async and never block for long.
    pub(crate) droppable: bool,
    /// Counts the work of a worker as mail, for tests.
    pub(crate) in_flight: Option<InFlight>,
    /// How many threads there may be, those included whose end is not waited for.
    pub(crate) threads: Threads,
}

/// The threads of a pool's workers: each has a clone of this, and the pool one more.
#[derive(Clone)]
pub(crate) struct Threads {
    max: usize,
    alive: Arc<()>,
}

impl Threads {
    /// At most so many.
    pub(crate) fn at_most(max: usize) -> Self {
        Self { max, alive: Arc::default() }
    }

    fn are_too_many(&self) -> bool {
        Arc::strong_count(&self.alive) > self.max
    }
}

/// The way to break a worker from outside; for tests.
#[derive(Clone)]
pub(crate) struct Breaker(Arc<Desk>, Reports);

impl Breaker {
    /// The worker is gone at once, with all that it runs.
    pub(crate) fn crash(&self) {
        self.1.send(Report::Exited { status: "signal 9".into(), output: String::new() });
        self.0.kill();
    }
}

impl Crew {
    /// Starts a worker.
    pub(crate) fn start(&self, name: &str, reports: Reports) -> Box<dyn Link> {
        self.start_breakable(name, reports).0
    }

    /// Starts a worker that can be broken.
    pub(crate) fn start_breakable(&self, name: &str, reports: Reports) -> (Box<dyn Link>, Breaker) {
        let desk = Arc::new(Desk::default());
        if self.threads.are_too_many() {
            let why =
                format!("{} threads are blocked by handlers, which must not block here", self.threads.max);
            reports.send(Report::Exited { status: could_not_start(&why), output: String::new() });
            return self.linked(desk, reports);
        }
        let (crew, at, told) = (self.clone(), Arc::clone(&desk), reports.clone());
        let counted = self.in_flight.clone().map(|in_flight| (in_flight.launch(), in_flight));
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let work = || shift::work(&crew, &at, &told, counted);
            let status = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(())) => "ended".into(),
                Ok(Err(error)) => could_not_start(&error),
                Err(_) => "its thread panicked".into(),
            };
            told.send(Report::Exited { status, output: String::new() });
        });
        if let Err(error) = started {
            reports.send(Report::Exited { status: could_not_start(&error), output: String::new() });
        }
        self.linked(desk, reports)
    }

    fn linked(&self, desk: Arc<Desk>, reports: Reports) -> (Box<dyn Link>, Breaker) {
        let breaker = Breaker(Arc::clone(&desk), reports.clone());
        (Box::new(LocalLink::new(desk, reports, self.droppable)), breaker)
    }
}

fn could_not_start(error: &impl std::fmt::Display) -> String {
    format!("could not be started: {error}")
}

/// Hosts the handlers of a worker in this process.
struct InHouse {
    desk: Arc<Desk>,
    calls: Arc<dyn Calls>,
}

impl Host for InHouse {
    fn progress(&self, id: TaskId, progress: Progress) {
        self.desk.progress(id, progress);
    }

    fn call(
        &self,
        from: TaskId,
        command: String,
        data: Value,
    ) -> futures::future::BoxFuture<'static, Result<Value, CallError>> {
        let answer = self.calls.call(from, command, data);
        Box::pin(async move { answer.await.map_err(CallError::Refused) })
    }
}

#[cfg(test)]
pub(crate) mod tests;
