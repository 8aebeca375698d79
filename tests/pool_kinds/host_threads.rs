//! A kind of pool as a user might write one, over the public traits alone: each task gets a thread of its own within the
//! runtime of the host, so that its handlers share what the host opened there.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::{AbortHandle, Abortable};
use taskyard::context::{Calls, Context};
use taskyard::core::id::WorkerId;
use taskyard::core::live::Live;
use taskyard::launcher::{self, Command, Launcher, Link, Report, Reports, Signal, WorkerEnd};
use taskyard::registry::Registry;
use tokio::runtime::Handle;

/// Launches the workers: each is a place for one task.
pub(crate) struct HostThreads(Host);

#[derive(Clone)]
struct Host {
    runtime: Handle,
    registry: Registry,
    calls: Arc<dyn Calls>,
}

impl HostThreads {
    /// Within this runtime.
    pub(crate) fn within(runtime: Handle, registry: Registry, calls: Arc<dyn Calls>) -> Self {
        Self(Host { runtime, registry, calls })
    }
}

impl Launcher for HostThreads {
    fn launch(&mut self, _: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        let names = self.0.registry.names().cloned().collect();
        reports.send(Report::Ready { concurrency: 1, ahead: 0, names });
        let state = Arc::default();
        Box::new(Place { host: self.0.clone(), name: name.to_owned(), desk: Desk { reports, state } })
    }
}

/// The way to one worker.
struct Place {
    host: Host,
    name: String,
    desk: Desk,
}

/// What the yard's thread and the task's share.
#[derive(Clone)]
struct Desk {
    reports: Reports,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    running: Option<(Context, AbortHandle)>,
    stops: bool,
}

impl Link for Place {
    fn tell(&mut self, command: Command) {
        match command {
            Command::Run { live, timeout } => self.run(live, timeout),
            Command::Cancel { reason, .. } => self.desk.with_task(|cx, _| cx.cancel(reason)),
            // What awaits is dropped; what blocks its thread is not reached.
            Command::Signal(Signal::Term) => self.desk.with_task(|_, task| task.abort()),
            Command::Signal(Signal::Kill) => {
                self.desk.with_task(|_, task| task.abort());
                self.desk.exit("killed");
            }
            Command::Stop => self.desk.stop(),
            // Nothing is sent ahead to it.
            Command::Recall { .. } | Command::Launch => {}
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.desk.with_task(|_, task| task.abort());
    }
}

impl Place {
    fn run(&self, live: Arc<Live>, timeout: Option<Duration>) {
        let cx = launcher::context(&live, timeout, Arc::clone(&self.host.calls));
        let (handle, registration) = AbortHandle::new_pair();
        self.desk.lock().running = Some((cx.clone(), handle));
        let (host, desk, id) = (self.host.clone(), self.desk.clone(), live.task.id);
        let work = move || {
            desk.reports.send(Report::Started { id });
            let run = Abortable::new(host.registry.run_task(&live.task, cx), registration);
            let end = host.runtime.block_on(run).unwrap_or(WorkerEnd::Cancelled);
            desk.done(Report::Done { id, end });
        };
        if let Err(error) = std::thread::Builder::new().name(self.name.clone()).spawn(work) {
            self.desk.exit(&error.to_string());
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    fn with_task(&self, tell: impl FnOnce(&Context, &AbortHandle)) {
        if let Some((cx, task)) = &self.lock().running {
            tell(cx, task);
        }
    }

    /// Held while it is said, so that an end never overtakes it.
    fn done(&self, done: Report) {
        let mut state = self.lock();
        state.running = None;
        self.reports.send(done);
        if state.stops {
            self.exit("ended");
        }
    }

    fn stop(&self) {
        let mut state = self.lock();
        state.stops = true;
        if state.running.is_none() {
            self.exit("ended");
        }
    }

    /// Whatever is said after this is not heard.
    fn exit(&self, status: &str) {
        self.reports.send(Report::Exited { status: status.into(), output: String::new() });
    }
}
