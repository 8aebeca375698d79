//! What a handler sees of the yard: its own task, whether it should end, and a way to report progress and to ask for more.
//! It decides nothing: what it asks goes to whoever hosts the handler.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use taskyard_core::TaskId;
use taskyard_core::id::Epoch;
use taskyard_core::live::{Live, Progress};
use taskyard_core::names::Namespace;
use taskyard_core::wire::Rejected;
use taskyard_core::worker::CancelReason;
use tokio::sync::Notify;

use crate::draft::Draft;
use crate::payload::Payload;

/// What the yard does for running handlers. Given to each launcher; commands come from its workers, of whatever kind.
///
/// `submit` takes a task as it is on the wire (an object with at least `task`) and answers with its id as text.
pub trait Calls: Send + Sync {
    /// A handler of task `from` asks. The error is for a person.
    fn call(&self, from: TaskId, command: String, data: Value) -> BoxFuture<'static, Result<Value, String>>;
}

/// No commands at all: for pools whose handlers ask for nothing, and for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCalls;

impl Calls for NoCalls {
    fn call(&self, _: TaskId, command: String, _: Value) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async move { Err(format!("{command:?} can't be asked for here")) })
    }
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The yard said no, and why.
    #[error("{0}")]
    Refused(String),
    /// What was to be submitted is no task.
    #[error(transparent)]
    NoTask(#[from] Rejected),
    /// What was to be sent is not JSON.
    #[error("it can't be sent: {0}")]
    NotJson(serde_json::Error),
    /// What was to be sent is longer than a message may be.
    #[error("it is {bytes} bytes long, at most {max} are allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The yard answered something that makes no sense.
    #[error("the yard answered {0}")]
    Answer(Value),
    /// The yard is gone.
    #[error("the yard is gone")]
    Gone,
}

/// Who hosts a handler: carries what it says to the yard.
pub(crate) trait Host: Send + Sync {
    fn progress(&self, id: TaskId, progress: Progress);
    fn call(
        &self,
        from: TaskId,
        command: String,
        data: Value,
    ) -> BoxFuture<'static, Result<Value, CallError>>;
}

/// What a handler is told of its own task.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) id: TaskId,
    pub(crate) epoch: Epoch,
    pub(crate) attempt: u32,
    pub(crate) namespace: Namespace,
    pub(crate) timeout: Option<Duration>,
    pub(crate) traceparent: Option<Box<str>>,
}

impl Pass {
    /// What the handler of this dispatch is told.
    pub(crate) fn of(live: &Live, timeout: Option<Duration>) -> Self {
        let task = &live.task;
        let traceparent = task.extras.as_ref().and_then(|extras| extras.traceparent.as_deref());
        Self {
            id: task.id,
            epoch: live.epoch,
            attempt: live.attempt,
            namespace: task.lane.namespace.clone(),
            timeout,
            traceparent: traceparent.map(Into::into),
        }
    }
}

/// A handler's view of its task and the yard. Cheap to clone; may be sent to other threads.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    pass: Pass,
    cancel: CancelFlag,
    host: Arc<dyn Host>,
}

impl Context {
    pub(crate) fn new(pass: Pass, host: Arc<dyn Host>) -> Self {
        Self(Arc::new(Inner { pass, cancel: CancelFlag::default(), host }))
    }

    /// The task's id, the same in every attempt.
    pub fn id(&self) -> TaskId {
        self.0.pass.id
    }

    /// Which counted attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.pass.attempt
    }

    /// The task's routing key.
    pub fn namespace(&self) -> &Namespace {
        &self.0.pass.namespace
    }

    /// Which pass of the task through the yard this is; it only rises. Fences writes of a pass that was given up.
    pub fn epoch(&self) -> Epoch {
        self.0.pass.epoch
    }

    /// How long this run may take, counted from its start.
    pub fn timeout(&self) -> Option<Duration> {
        self.0.pass.timeout
    }

    /// The W3C trace context of whoever submitted the task, if there is one.
    pub fn traceparent(&self) -> Option<&str> {
        self.0.pass.traceparent.as_deref()
    }

    /// Whether the task was told to end. A handler that blocks should look now and then.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.reason().is_some()
    }

    /// Waits until the task is told to end, and says why. A handler gives in with
    /// [`HandlerError::cancelled`](crate::handler::HandlerError::cancelled).
    pub async fn cancelled(&self) -> CancelReason {
        self.0.cancel.told().await
    }

    /// Says how far the task is, 0 to 1, with a note for people (empty: none). Status pages show it.
    pub fn progress(&self, fraction: f64, note: &str) {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        let note = (!note.is_empty()).then(|| note.to_owned());
        self.0.host.progress(self.id(), Progress { fraction, note });
    }

    /// Submits another task; nothing is sent before the draft is awaited. It is taken in even while the yard drains.
    pub fn submit<P: Payload>(&self, task: impl Into<Draft<P>>) -> Draft<P, Self> {
        task.into().to(self.clone())
    }

    /// Asks the yard for something by name.
    pub async fn call(&self, command: impl Into<String>, data: Value) -> Result<Value, CallError> {
        self.0.host.call(self.id(), command.into(), data).await
    }

    /// Tells the task to end; for whoever runs the handler (see [`launcher`](crate::launcher)). The first reason stays. From
    /// the handler itself it asks nobody for anything: to give in, it returns.
    pub fn cancel(&self, reason: CancelReason) {
        self.0.cancel.tell(reason);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("pass", &self.0.pass).finish_non_exhaustive()
    }
}

/// Whether a task was told to end, and why; set once, from any thread.
#[derive(Default)]
struct CancelFlag {
    reason: AtomicU8,
    told: Notify,
}

impl CancelFlag {
    fn tell(&self, reason: CancelReason) {
        let code = match reason {
            CancelReason::User => 1,
            CancelReason::Timeout => 2,
            CancelReason::Shutdown => 3,
        };
        if self.reason.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.told.notify_waiters();
        }
    }

    fn reason(&self) -> Option<CancelReason> {
        match self.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(CancelReason::User),
            2 => Some(CancelReason::Timeout),
            _ => Some(CancelReason::Shutdown),
        }
    }

    async fn told(&self) -> CancelReason {
        loop {
            let mut told = pin!(self.told.notified());
            // Registered before the look: a cancel in between is not missed.
            told.as_mut().enable();
            if let Some(reason) = self.reason() {
                return reason;
            }
            told.await;
        }
    }
}
