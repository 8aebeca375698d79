//! What travels through the yard: a dispatch, its end, and a cancel on its way to it.

use std::sync::Arc;
use std::time::Duration;

use crate::id::{Epoch, PoolId, Sequence, TaskId};
use crate::live::Live;
use crate::task::{DueAt, Key, KeyLimits, Task};

/// The one order of everything that waits: lower first. `rank = max(due, posted) − priority × aging`, ties by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Order {
    /// Fixed at post; renewed only by a retry or reschedule.
    pub rank: i64,
    /// The order of arrival.
    pub sequence: Sequence,
}

/// One pass of a task through the yard.
#[derive(Debug)]
pub struct Dispatch {
    /// What never changes in this pass, and the stage it is in; the live index shares it.
    pub live: Arc<Live>,
    /// Its place among those that wait.
    pub order: Order,
    /// Before when it must not start.
    pub due: DueAt,
    /// Whether the policy of its key was applied already; it never overflows again.
    pub judged: bool,
}

impl Dispatch {
    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.live.task.id
    }

    /// Which pass this is.
    pub fn epoch(&self) -> Epoch {
        self.live.epoch
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.live.task
    }

    /// What it shares with its twins, if anything.
    pub fn key(&self) -> Option<Key> {
        self.live.task.key
    }

    /// How many twins may run and wait.
    pub fn limits(&self) -> KeyLimits {
        self.live.task.limits
    }

    /// What names it in messages.
    pub fn name(&self) -> DispatchName {
        DispatchName { id: self.id(), epoch: self.epoch() }
    }
}

/// What names a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DispatchName {
    /// The task.
    pub id: TaskId,
    /// The pass.
    pub epoch: Epoch,
}

/// How a dispatch ended, as whoever removed it reports to the Conductor, which judges it.
#[derive(Debug)]
pub struct Ended {
    /// The dispatch; nobody else holds it any more.
    pub dispatch: Box<Dispatch>,
    /// How.
    pub end: End,
}

/// How a dispatch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The handler's value, JSON text. From the Pool.
    Succeeded(Arc<str>),
    /// A counted failure. From the Pool.
    Failed(Failure),
    /// The handler asks to be run again later; not counted. From the Pool.
    Snoozed(Duration),
    /// A cancel met it, or a told task gave in. From any stage or the Pool.
    Cancelled,
    /// It expired before it started. From any stage.
    Expired,
    /// A reschedule met it before it started. From any stage.
    Rescheduled(DueAt),
    /// It lost to a duplicate. From the Blocker.
    Discarded {
        /// The task that it lost to.
        lost_to: TaskId,
    },
    /// Given back, not counted.
    Returned(Return),
}

/// A failure that counts as an attempt.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The handler said so, or panicked.
    #[error("{0}")]
    Error(Box<TaskError>),
    /// The time limit passed; the worker was made to stop.
    #[error("timed out")]
    TimedOut,
    /// The worker died while the task ran.
    #[error("lost: {0}")]
    Lost(Box<Loss>),
}

/// A handler's error.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct TaskError {
    /// A short name of its kind.
    pub kind: String,
    /// For a person.
    pub message: String,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Whether another attempt makes sense.
    #[serde(default = "yes")]
    pub retry: bool,
}

fn yes() -> bool {
    true
}

/// How a worker was lost.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{status}")]
pub struct Loss {
    /// The exit status or signal, or the fault, in words.
    pub status: String,
    /// The last lines of its output, cut.
    pub output: String,
}

/// Why a dispatch was given back uncounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// The yard or the pool shuts down or pauses: no back-off.
    Drain,
    /// Killed beside another task, or a fault of store or engine: back-off from 1 s, doubling to 60 s.
    Setback,
}

/// A wish to take a dispatch out, on the dispatch's own way through the mailboxes.
#[derive(Debug, Clone)]
pub struct Cancel {
    /// Which dispatch; carries where it was last handed to.
    pub live: Arc<Live>,
    /// Why, and so how it ends.
    pub reason: Reason,
}

impl Cancel {
    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.live.task.id
    }

    /// The dispatch it is meant for.
    pub fn name(&self) -> DispatchName {
        DispatchName { id: self.id(), epoch: self.live.epoch }
    }
}

/// Why a dispatch is to be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked. A running task is told, and made to stop by the kill ladder.
    User,
    /// It expired. A running task goes on.
    Expired,
    /// It is to start at another time. A running task goes on.
    Reschedule(DueAt),
    /// It goes back to the board, unpenalised, as its pool takes nothing for now. A running task goes on.
    Park,
    /// The yard lost its lease: the task is another's. A running task is told, and made to stop by the kill ladder.
    Disowned,
}

impl Reason {
    /// How a dispatch ends that had not started.
    pub fn end(self) -> End {
        match self {
            Self::User => End::Cancelled,
            Self::Expired => End::Expired,
            Self::Reschedule(due) => End::Rescheduled(due),
            Self::Park | Self::Disowned => End::Returned(Return::Drain),
        }
    }
}

/// How a task ended, for good. What waiters, status pages and history see.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Done; the handler's value, JSON text.
    Succeeded(Arc<str>),
    /// Done; its value is not kept any more, or was too large to keep. Only from a record, never to who waited for it.
    ValueGone,
    /// Cancelled by somebody.
    Cancelled,
    /// Expired before it started.
    Expired,
    /// Dropped for a duplicate.
    Discarded {
        /// The task that it lost to.
        lost_to: TaskId,
    },
    /// Failed for good and kept for inspection.
    Trashed(Trash),
}

/// Why a task is in the trash.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Trash {
    /// All attempts are used up.
    #[error("failed {attempts} times, at last: {last}")]
    Exhausted {
        /// How many counted attempts it had.
        attempts: u32,
        /// How the last one ended.
        last: Failure,
    },
    /// The error said that another attempt makes no sense.
    #[error("will not be tried again: {0}")]
    Refused(Failure),
    /// No pool takes it, where the configuration says that such a task is not kept.
    #[error("no pool takes it")]
    Unroutable,
    /// It ran so often and nobody survived to report it.
    #[error("its dispatcher died {deliveries} times in a row while it ran")]
    Crashed {
        /// How often.
        deliveries: u32,
    },
    /// What the store has of it cannot be understood.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

impl Trash {
    /// Whether its last pass was a counted attempt; else nothing failed that could be tried again.
    pub fn is_attempt(&self) -> bool {
        matches!(self, Self::Exhausted { .. } | Self::Refused(_))
    }
}

/// Which pool a dispatch was handed to and by which worker it runs, for whoever follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The pool.
    pub pool: PoolId,
    /// The worker's number in it; 0 before one has it.
    pub worker: u32,
}
