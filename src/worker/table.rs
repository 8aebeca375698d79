//! The tasks of a worker process: those not started, in order, and the contexts of those that run.

use std::collections::VecDeque;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::id::Epoch;
use taskyard_core::map::Map;
use taskyard_core::names::Namespace;
use taskyard_core::worker::CancelReason;

use crate::context::Context;
use crate::protocol::to_worker::Run;

/// A task that was not started.
pub(super) struct Job {
    pub(super) id: TaskId,
    pub(super) epoch: Epoch,
    pub(super) attempt: u32,
    pub(super) timeout: Option<Duration>,
    pub(super) traceparent: Option<Box<str>>,
    pub(super) namespace: Namespace,
    pub(super) task: Box<str>,
    pub(super) args: Box<str>,
    pub(super) kwargs: Box<str>,
}

impl TryFrom<Run<'_>> for Job {
    type Error = taskyard_core::names::BadName;
    fn try_from(run: Run<'_>) -> Result<Self, Self::Error> {
        Ok(Self {
            id: run.id,
            epoch: run.epoch,
            attempt: run.attempt,
            timeout: run.timeout,
            traceparent: run.traceparent.map(Into::into),
            namespace: run.namespace.parse()?,
            task: run.task.into(),
            args: run.args.into(),
            kwargs: run.kwargs.into(),
        })
    }
}

#[derive(Default)]
pub(super) struct Table {
    waiting: VecDeque<Job>,
    running: Map<TaskId, Context>,
}

impl Table {
    pub(super) fn add(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    /// The next task; `open` makes its context.
    pub(super) fn start(&mut self, open: impl FnOnce(&Job) -> Context) -> Option<(Job, Context)> {
        let job = self.waiting.pop_front()?;
        let cx = open(&job);
        self.running.insert(job.id, cx.clone());
        Some((job, cx))
    }

    /// Takes a task out that was not started. False if it is not here.
    pub(super) fn remove(&mut self, id: TaskId) -> bool {
        let at = self.waiting.iter().position(|job| job.id == id);
        at.and_then(|at| self.waiting.remove(at)).is_some()
    }

    pub(super) fn cancel(&self, id: TaskId, reason: CancelReason) {
        if let Some(cx) = self.running.get(&id) {
            cx.cancel(reason);
        }
    }

    pub(super) fn ended(&mut self, id: TaskId) {
        self.running.remove(&id);
    }

    pub(super) fn is_running(&self, id: TaskId) -> bool {
        self.running.contains_key(&id)
    }

    /// Whether nothing waits.
    pub(super) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }
}
