//! Workers in memory whose tasks a test finishes by hand, or that finish each at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::TaskId;
use taskyard_core::id::WorkerId;
use taskyard_core::names::TaskName;
use taskyard_core::worker::{CancelReason, Command, Report, WorkerEnd};
use tokio::sync::Notify;

use super::PATIENCE;
use crate::worker::{Launcher, Link, Reports};

/// The toy workers of one pool: a handle for the test, of which each clone shows the same workers.
#[derive(Clone)]
pub struct Toys(Arc<Toybox>);

struct Toybox {
    concurrency: u32,
    names: Vec<TaskName>,
    finish_at_once: bool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    reports: BTreeMap<WorkerId, Reports>,
    running: BTreeMap<TaskId, WorkerId>,
    cancels: Vec<(TaskId, CancelReason)>,
    /// How many links to workers the yard holds.
    links: usize,
}

impl Toys {
    /// Workers that know these names, take `concurrency` tasks at once and run each until [`finish`](Self::finish).
    pub fn by_hand(concurrency: u32, names: Vec<TaskName>) -> Self {
        Self::new(concurrency, names, false)
    }

    /// Workers that end each task as soon as it starts, with `null`.
    pub fn instant(concurrency: u32, names: Vec<TaskName>) -> Self {
        Self::new(concurrency, names, true)
    }

    fn new(concurrency: u32, names: Vec<TaskName>, finish_at_once: bool) -> Self {
        let (state, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Toybox { concurrency, names, finish_at_once, state, changed }))
    }

    /// What the pool launches them with.
    pub fn launcher(&self) -> Box<dyn Launcher> {
        Box::new(self.clone())
    }

    /// The workers that are there, by id.
    pub fn workers(&self) -> Vec<WorkerId> {
        self.lock().reports.keys().copied().collect()
    }

    /// The tasks that run, by id.
    pub fn running(&self) -> Vec<TaskId> {
        self.lock().running.keys().copied().collect()
    }

    /// The tasks that were told to end, in order.
    pub fn cancels(&self) -> Vec<(TaskId, CancelReason)> {
        self.lock().cancels.clone()
    }

    /// Waits until the task runs.
    ///
    /// # Panics
    /// If it does not within ten seconds.
    pub async fn started(&self, id: TaskId) {
        self.until(|state| state.running.contains_key(&id)).await;
    }

    /// Waits until the task was told to end.
    ///
    /// # Panics
    /// If it is not within ten seconds.
    pub async fn told_to_end(&self, id: TaskId) {
        self.until(|state| state.cancels.iter().any(|(told, _)| *told == id)).await;
    }

    /// Waits until the yard has let go of all workers.
    ///
    /// # Panics
    /// If it does not within ten seconds.
    pub async fn let_go(&self) {
        self.until(|state| state.links == 0).await;
    }

    /// Ends a running task.
    ///
    /// # Panics
    /// If it does not run.
    pub fn finish(&self, id: TaskId, end: WorkerEnd) {
        let mut state = self.lock();
        let worker = state.running.remove(&id).expect("this task does not run");
        let reports = state.reports.get(&worker).cloned();
        drop(state);
        if let Some(reports) = reports {
            reports.send(Report::Done { id, end });
        }
    }

    /// A worker dies, whatever it runs.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn kill(&self, worker: WorkerId) {
        assert!(self.exit(worker, "signal 9"), "there is no such worker");
    }

    /// Whether there was such a worker.
    fn exit(&self, worker: WorkerId, status: &str) -> bool {
        let mut state = self.lock();
        state.running.retain(|_, by| *by != worker);
        let reports = state.reports.remove(&worker);
        drop(state);
        if let Some(reports) = &reports {
            reports.send(Report::Exited { status: status.into(), output: String::new() });
        }
        reports.is_some()
    }

    async fn until(&self, is: impl Fn(&State) -> bool) {
        let wait = async {
            loop {
                let changed = self.0.changed.notified();
                if is(&self.lock()) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it did not happen within ten seconds");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Launcher for Toys {
    fn launch(&mut self, worker: WorkerId, _name: &str, reports: Reports) -> Box<dyn Link> {
        let mut state = self.lock();
        state.reports.insert(worker, reports.clone());
        state.links += 1;
        drop(state);
        let (concurrency, names) = (self.0.concurrency, self.0.names.clone());
        reports.send(Report::Ready { concurrency, ahead: 0, names });
        Box::new(Toy { worker, toys: self.clone(), reports, said: Vec::new(), begun: Vec::new() })
    }
}

struct Toy {
    worker: WorkerId,
    toys: Toys,
    reports: Reports,
    /// What it says once all commands of the turn were told.
    said: Vec<Report>,
    /// What runs from then on.
    begun: Vec<TaskId>,
}

impl Toy {
    fn run(&mut self, id: TaskId) {
        self.said.push(Report::Started { id });
        if self.toys.0.finish_at_once {
            self.said.push(Report::Done { id, end: WorkerEnd::Succeeded("null".into()) });
        } else {
            self.begun.push(id);
        }
    }

    /// Says what it has to say, then its end; if it was killed before, that was its end.
    fn leave(&mut self, status: &str) {
        self.flush();
        self.toys.exit(self.worker, status);
    }
}

impl Link for Toy {
    fn tell(&mut self, command: Command) {
        match command {
            Command::Run { live, .. } => self.run(live.task.id),
            Command::Cancel { id, reason } => self.toys.lock().cancels.push((id, reason)),
            Command::Stop => self.leave("exit status 0"),
            Command::Signal(_) => self.leave("signal"),
            // Nothing is sent ahead to a toy, and it is launched already.
            Command::Recall { .. } | Command::Launch => {}
        }
    }

    fn flush(&mut self) {
        if !self.said.is_empty() {
            self.reports.send_all(std::mem::take(&mut self.said));
        }
        let begun = self.begun.drain(..).map(|id| (id, self.worker));
        self.toys.lock().running.extend(begun);
        self.toys.0.changed.notify_waiters();
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.toys.lock().links -= 1;
        self.toys.0.changed.notify_waiters();
    }
}
