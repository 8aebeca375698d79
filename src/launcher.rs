//! Pools of a kind of one's own: what a launcher is made of, and how a registered handler is run by one. It launches
//! nothing itself.
//!
//! A [`Launcher`] makes workers; the yard tells each its [`Command`]s through a [`Link`] and hears its [`Report`]s. This one
//! ends each task in the call that brings it, which suits handlers that never wait:
//!
//! ```
//! use std::sync::Arc;
//!
//! use futures::FutureExt as _;
//! use taskyard::context::Calls;
//! use taskyard::core::id::WorkerId;
//! use taskyard::launcher::{self, Command, Launcher, Link, Report, Reports, WorkerEnd};
//! use taskyard::registry::Registry;
//!
//! struct AtOnce {
//!     registry: Registry,
//!     calls: Arc<dyn Calls>,
//! }
//!
//! impl Launcher for AtOnce {
//!     fn launch(&mut self, _: WorkerId, _: &str, reports: Reports) -> Box<dyn Link> {
//!         let names = self.registry.names().cloned().collect();
//!         reports.send(Report::Ready { concurrency: 1, ahead: 0, names });
//!         Box::new(Worker { registry: self.registry.clone(), calls: Arc::clone(&self.calls), reports })
//!     }
//! }
//!
//! struct Worker {
//!     registry: Registry,
//!     calls: Arc<dyn Calls>,
//!     reports: Reports,
//! }
//!
//! impl Link for Worker {
//!     fn tell(&mut self, command: Command) {
//!         match command {
//!             Command::Run { live, timeout } => {
//!                 let id = live.task.id;
//!                 let cx = launcher::context(&live, timeout, Arc::clone(&self.calls));
//!                 let run = self.registry.run_task(&live.task, cx);
//!                 let end = run.now_or_never().unwrap_or(WorkerEnd::Cancelled);
//!                 self.reports.send_all(vec![Report::Started { id }, Report::Done { id, end }]);
//!             }
//!             Command::Stop | Command::Signal(_) => {
//!                 self.reports.send(Report::Exited { status: "ended".into(), output: String::new() });
//!             }
//!             // No task is here between two calls.
//!             Command::Launch | Command::Cancel { .. } | Command::Recall { .. } => {}
//!         }
//!     }
//! }
//!
//! # fn example(registry: Registry) -> taskyard::Pool {
//! taskyard::Pool::custom("quick", |calls| Box::new(AtOnce { registry, calls })).pattern("quick.#")
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
pub use taskyard_actors::worker::{Launcher, Link, Reports};
use taskyard_core::TaskId;
use taskyard_core::live::{Live, Progress};
pub use taskyard_core::worker::{CancelReason, Command, Report, Signal, WorkerEnd};

use crate::context::{CallError, Calls, Context, Host, Pass};

/// What the handler of a dispatch is given: its progress is seen in the yard, what it asks goes to `calls`. A
/// [`Command::Cancel`] is passed on with [`Context::cancel`].
pub fn context(live: &Arc<Live>, timeout: Option<Duration>, calls: Arc<dyn Calls>) -> Context {
    Context::new(Pass::of(live, timeout), Arc::new(Alone { live: Arc::clone(live), calls }))
}

/// Hosts one handler.
struct Alone {
    live: Arc<Live>,
    calls: Arc<dyn Calls>,
}

impl Host for Alone {
    fn progress(&self, _: TaskId, progress: Progress) {
        self.live.set_progress(progress);
    }

    fn call(
        &self,
        from: TaskId,
        command: String,
        data: Value,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let answer = self.calls.call(from, command, data);
        Box::pin(async move { answer.await.map_err(CallError::Refused) })
    }
}
