//! The desk between the yard's thread and a worker's thread: tasks that wait, contexts of those that run, and orders. It
//! answers a recall and sets a cancel even while a handler blocks the worker.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{AbortHandle, AbortRegistration};
use taskyard_actors::{Link, Reports};
use taskyard_core::TaskId;
use taskyard_core::live::{Live, Progress};
use taskyard_core::map::Map;
use taskyard_core::worker::{CancelReason, Command, Report, Signal, WorkerEnd};
use tokio::sync::Notify;

use crate::context::Context;

/// A task for the worker.
pub(super) struct Job {
    pub(super) live: Arc<Live>,
    pub(super) timeout: Option<Duration>,
}

/// What link and worker share.
#[derive(Default)]
pub(super) struct Desk {
    state: Mutex<State>,
    /// Something on the desk changed.
    pub(super) rung: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    running: Map<TaskId, Running>,
    orders: Orders,
}

struct Running {
    cx: Context,
    live: Arc<Live>,
    drop: AbortHandle,
}

/// A task that the worker took to run it.
pub(super) struct Taken {
    pub(super) job: Job,
    pub(super) cx: Context,
    /// By this the link drops it.
    pub(super) drop: AbortRegistration,
}

/// What the worker was told beside its tasks.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Orders {
    /// End when nothing runs and nothing waits.
    pub(super) stop: bool,
    /// Drop everything and end.
    pub(super) kill: bool,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `room` tasks; `open` makes a context for each, which is found here until [`Desk::close`].
    pub(super) fn take(&self, room: usize, open: impl Fn(&Job) -> Context) -> Vec<Taken> {
        let mut state = self.lock();
        let count = room.min(state.waiting.len());
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            let Some(job) = state.waiting.pop_front() else { break };
            let cx = open(&job);
            let (handle, drop) = AbortHandle::new_pair();
            let running = Running { cx: cx.clone(), live: Arc::clone(&job.live), drop: handle };
            state.running.insert(cx.id(), running);
            taken.push(Taken { job, cx, drop });
        }
        taken
    }

    /// A task ended.
    pub(super) fn close(&self, id: TaskId) {
        self.lock().running.remove(&id);
    }

    /// What the worker was told beside its tasks.
    pub(super) fn orders(&self) -> Orders {
        self.lock().orders
    }

    /// Whether nothing waits.
    pub(super) fn is_clear(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    pub(super) fn progress(&self, id: TaskId, progress: Progress) {
        if let Some(running) = self.lock().running.get(&id) {
            running.live.set_progress(progress);
        }
    }

    fn add(&self, jobs: &mut Vec<Job>) {
        self.lock().waiting.extend(jobs.drain(..));
        self.rung.notify_one();
    }

    fn remove(&self, id: TaskId) -> bool {
        let waiting = &mut self.lock().waiting;
        let at = waiting.iter().position(|job| job.live.task.id == id);
        at.and_then(|at| waiting.remove(at)).is_some()
    }

    fn cancel(&self, id: TaskId, reason: CancelReason) {
        let cx = self.lock().running.get(&id).map(|running| running.cx.clone());
        if let Some(cx) = cx {
            cx.cancel(reason);
        }
    }

    fn drop_told(&self) {
        let state = self.lock();
        state.running.values().filter(|running| running.cx.is_cancelled()).for_each(|told| told.drop.abort());
    }

    /// The worker drops everything and ends.
    pub(super) fn kill(&self) {
        self.order(|orders| orders.kill = true);
    }

    fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.lock().orders);
        self.rung.notify_one();
    }
}

/// The yard's end of a worker in this process.
pub(super) struct LocalLink {
    desk: Arc<Desk>,
    reports: Reports,
    kept: Vec<Job>,
    droppable: bool,
}

impl LocalLink {
    pub(super) fn new(desk: Arc<Desk>, reports: Reports, droppable: bool) -> Self {
        Self { desk, reports, kept: Vec::new(), droppable }
    }

    fn cancel(&self, id: TaskId, reason: CancelReason) {
        if self.desk.remove(id) {
            let end = WorkerEnd::Cancelled;
            self.reports.send_all(vec![Report::Started { id }, Report::Done { id, end }]);
        } else {
            self.desk.cancel(id, reason);
        }
    }

    /// What still runs here by now blocks its thread and may do so for ever: its end is not waited for. What does not
    /// block is dropped at once.
    fn kill(&self) {
        self.desk.kill();
        self.reports.send(Report::Exited { status: "killed".into(), output: String::new() });
    }
}

impl Link for LocalLink {
    fn tell(&mut self, command: Command) {
        if let Command::Run { live, timeout } = command {
            self.kept.push(Job { live, timeout });
            return;
        }
        self.flush();
        match command {
            Command::Cancel { id, reason } => self.cancel(id, reason),
            Command::Recall { id } if self.desk.remove(id) => self.reports.send(Report::Returned { id }),
            Command::Stop => self.desk.order(|orders| orders.stop = true),
            Command::Signal(Signal::Term) if self.droppable => self.desk.drop_told(),
            Command::Signal(Signal::Kill) if self.droppable => self.kill(),
            Command::Recall { .. } | Command::Signal(_) | Command::Launch | Command::Run { .. } => {}
        }
    }

    fn flush(&mut self) {
        if !self.kept.is_empty() {
            self.desk.add(&mut self.kept);
        }
    }
}

/// A thread can't be ended from outside: it drops what it can, or ends after its task.
impl Drop for LocalLink {
    fn drop(&mut self) {
        let droppable = self.droppable;
        self.desk.lock().waiting.clear();
        self.desk.order(|orders| {
            orders.stop = true;
            orders.kill = droppable;
        });
    }
}
