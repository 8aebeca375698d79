//! What a worker process knows, shared by the thread that runs handlers and its stand-in: takes frames in and writes down
//! what becomes of tasks. It runs no handler.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde_json::Value;
use taskyard_core::TaskId;
use taskyard_core::live::Progress;
use taskyard_core::map::Map;
use taskyard_core::worker::WorkerEnd;
use tokio::sync::{Notify, oneshot};

use super::table::{Job, Table};
use super::wire::{Found, Wire};
use crate::context::{CallError, Context, Host, Pass};
use crate::protocol::to_worker::ToWorker;
use crate::protocol::{FRAME_MAX, PROTOCOL, from_worker};
use crate::registry::{Options, Registry};

type Answer = Result<Value, String>;

pub(super) struct Station {
    pub(super) wire: Wire,
    pub(super) options: Options,
    /// The stand-in took something in that the other thread may wait for.
    pub(super) taken_in: Notify,
    registry: Registry,
    table: Mutex<Table>,
    stopping: AtomicBool,
    asked: Mutex<Map<u64, oneshot::Sender<Answer>>>,
    seq: AtomicU64,
}

impl Station {
    pub(super) fn new(wire: Wire, registry: Registry, options: Options) -> Self {
        Self {
            wire,
            options,
            registry,
            taken_in: Notify::new(),
            table: Mutex::default(),
            stopping: AtomicBool::new(false),
            asked: Mutex::default(),
            seq: AtomicU64::new(0),
        }
    }

    pub(super) fn ready(&self) -> io::Result<()> {
        let Options { concurrency, ahead } = self.options;
        self.wire.put(|out| from_worker::ready(out, concurrency, ahead, self.registry.names()))?;
        self.wire.flush()
    }

    /// Reads once and takes in what came.
    pub(super) fn read(&self) -> io::Result<Found> {
        self.wire.read(|frame| self.take_in(frame))
    }

    /// Starts the next task, if one waits: its start is written down, its run has not begun.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<Option<LocalBoxFuture<'static, io::Result<()>>>> {
        let started = self.table().start(|job| Context::new(pass(job), Arc::clone(self) as Arc<dyn Host>));
        let Some((job, cx)) = started else { return Ok(None) };
        self.wire.put(|out| from_worker::started(out, job.id))?;
        let run = self.registry.run(&job.task, &job.args, &job.kwargs, cx);
        let station = Arc::clone(self);
        Ok(Some(run.map(move |end| station.done(job.id, &end)).boxed_local()))
    }

    /// Whether no task waits.
    pub(super) fn is_clear(&self) -> bool {
        self.table().is_clear()
    }

    /// Whether the yard said to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self, id: TaskId, end: &WorkerEnd) -> io::Result<()> {
        self.table().ended(id);
        self.wire.put(|out| from_worker::done(out, id, end))
    }

    fn take_in(&self, frame: &[u8]) -> io::Result<()> {
        match ToWorker::parse(frame).map_err(io::Error::other)? {
            ToWorker::Run(run) => self.table().add(run.try_into().map_err(io::Error::other)?),
            ToWorker::Cancel { id, reason } => {
                let mut table = self.table();
                if table.remove(id) {
                    return self.wire.put(|out| from_worker::done(out, id, &WorkerEnd::Cancelled));
                }
                table.cancel(id, reason);
            }
            ToWorker::Recall { id } => {
                if self.table().remove(id) {
                    return self.wire.put(|out| from_worker::returned(out, id));
                }
            }
            ToWorker::Reply { seq, answer } => {
                let asked = self.asked().remove(&seq);
                // Who asked may be gone: its task ended.
                drop(asked.map(|asked| asked.send(answer)));
            }
            ToWorker::Stop => self.stopping.store(true, Ordering::Release),
            ToWorker::Hello { protocol: PROTOCOL } => {}
            ToWorker::Hello { protocol } => {
                let what = format!("the yard speaks protocol {protocol}, this worker speaks {PROTOCOL}");
                return Err(io::Error::other(what));
            }
        }
        Ok(())
    }

    fn asked(&self) -> MutexGuard<'_, Map<u64, oneshot::Sender<Answer>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a call down and sends it. `None` if its task has ended or the yard is gone.
    fn ask(&self, from: TaskId, frame: &[u8]) -> Option<()> {
        let table = self.table();
        // The table is held, so that the call stands before the end of its task.
        if !table.is_running(from) {
            return None;
        }
        self.wire.put(|out| out.extend_from_slice(frame)).ok()?;
        drop(table);
        self.wire.flush().ok()
    }
}

fn pass(job: &Job) -> Pass {
    Pass {
        id: job.id,
        epoch: job.epoch,
        attempt: job.attempt,
        namespace: job.namespace.clone(),
        timeout: job.timeout,
        traceparent: job.traceparent.clone(),
    }
}

impl Host for Station {
    fn progress(&self, id: TaskId, progress: Progress) {
        let mut frame = Vec::new();
        from_worker::progress(&mut frame, id, &progress);
        if frame.len() <= FRAME_MAX {
            self.ask(id, &frame);
        }
    }

    fn call(
        &self,
        from: TaskId,
        command: String,
        data: Value,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed);
        let mut frame = Vec::new();
        from_worker::call(&mut frame, seq, from, &command, &data);
        if frame.len() > FRAME_MAX {
            let too_long = CallError::TooLong { bytes: frame.len(), max: FRAME_MAX };
            return Box::pin(std::future::ready(Err(too_long)));
        }
        let (sender, answer) = oneshot::channel();
        self.asked().insert(seq, sender);
        if self.ask(from, &frame).is_none() {
            self.asked().remove(&seq);
        }
        Box::pin(async move {
            match answer.await {
                Ok(answer) => answer.map_err(CallError::Refused),
                Err(_) => Err(CallError::Gone),
            }
        })
    }
}
