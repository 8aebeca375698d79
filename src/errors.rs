//! What can go wrong at the edge, one small type for each boundary. A task that was not taken comes back in the error.

use std::io;
use std::sync::Arc;

use taskyard_actors::guardian::Closed;
use taskyard_core::conductor::{EmptyFilter, SubmitRefusal};
use taskyard_core::dispatch::{Failure, Trash};
use taskyard_core::id::{PoolSet, TaskId};
use taskyard_core::store::StoreError;
use taskyard_core::task::Task;
use taskyard_core::wire::Rejected;

use crate::config::ConfigError;
use crate::store::OpenError;

/// The yard has ended. Tasks on a durable board are run by whoever opens it next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the yard is down: {why}")]
pub struct YardDown {
    /// Why.
    pub why: Closed,
}

/// A task was not taken in. The yard keeps nothing of it.
#[derive(Debug, thiserror::Error)]
#[error("task {} ({}) was not taken: {why}", task.id, task.name())]
pub struct SubmitError {
    /// The task, to submit again or elsewhere.
    pub task: Arc<Task>,
    /// Why.
    pub why: NotTaken,
}

/// Why a task was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The yard refused it; for a full board, wait and submit again.
    #[error(transparent)]
    Refused(#[from] SubmitRefusal),
    /// It is no task: what is wrong with it, and where. No yard would take it.
    #[error(transparent)]
    NoTask(#[from] Rejected),
    /// The yard gave no answer, most of all because it ended first. On a durable board the task may have been kept: submit
    /// it again with the same id, it is kept once.
    #[error(transparent)]
    Unanswered(#[from] AskError),
}

impl NotTaken {
    /// Whether the same task may be taken later, or by another yard.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::NoTask(_) | Self::Refused(SubmitRefusal::ExpiresTooSoon) => false,
            Self::Refused(_) | Self::Unanswered(_) => true,
        }
    }
}

/// A question got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The yard ended.
    #[error(transparent)]
    Down(#[from] YardDown),
    /// The yard answered another question: a bug in it.
    #[error("the yard's answer does not fit the question; this is a bug in Taskyard")]
    Confused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A cancel did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    /// An empty filter never means every task.
    #[error(transparent)]
    EmptyFilter(#[from] EmptyFilter),
    /// The question got no answer.
    #[error(transparent)]
    Ask(#[from] AskError),
}

/// How a task ended can't be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoOutcome {
    /// The question got no answer, most of all because the yard ended first.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Nobody knows the task: it was never taken in, or it ended so long ago that it is forgotten.
    #[error("nobody knows task {0}")]
    Unknown(TaskId),
}

/// A task gave no value, for good: there is no other attempt.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailed {
    /// Somebody cancelled it.
    #[error("it was cancelled")]
    Cancelled,
    /// It expired before it started.
    #[error("it expired before it started")]
    Expired,
    /// It lost to another task with its key.
    #[error("it was discarded for task {lost_to}")]
    Discarded {
        /// The other task.
        lost_to: TaskId,
    },
    /// It failed, and is in the trash.
    #[error(transparent)]
    Trashed(#[from] Trash),
    /// It succeeded, and its value is not what was expected.
    #[error("its value is not what was expected: {0}")]
    Value(serde_json::Error),
    /// It succeeded, and its value is not kept any more, or was too large to keep.
    #[error("it succeeded, and its value is not kept")]
    ValueGone,
    /// How it ended can't be told.
    #[error(transparent)]
    NoOutcome(#[from] NoOutcome),
}

impl TaskFailed {
    /// How its last attempt failed, if that is why it ended.
    pub fn last_failure(&self) -> Option<&Failure> {
        match self {
            Self::Trashed(Trash::Exhausted { last, .. } | Trash::Refused(last)) => Some(last),
            _ => None,
        }
    }
}

/// A pool was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// No pool has this name.
    #[error("there is no pool {0:?}")]
    UnknownPool(String),
    /// The yard ended.
    #[error(transparent)]
    Down(#[from] YardDown),
    /// `min` and `max` contradict each other.
    #[error("a pool needs min <= max and max >= 1, not min {min} and max {max}")]
    BadBounds {
        /// At least so many workers.
        min: u32,
        /// At most so many.
        max: u32,
    },
}

/// A yard did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Without a pool nothing could run.
    #[error("a yard needs at least one pool, as in `.pool(Pool::process(\"default\").pattern(\"#\"))`")]
    NoPool,
    /// Something that was said about a pool makes no sense; the path is that of the same key in a configuration.
    #[error(transparent)]
    Setting(#[from] ConfigError),
    /// The pool is to run this program's own handlers, and there are none.
    #[error(
        "pool {0:?} runs this program's own handlers, and there are none: give them to `Builder::registry`"
    )]
    NoHandlers(String),
    /// The bound on pools.
    #[error("a yard has at most {max} pools, not {0}", max = PoolSet::MAX)]
    TooManyPools(usize),
    /// Two pools of one name.
    #[error("two pools are called {0:?}")]
    SamePool(String),
    /// Retries were given for a pool that is not there.
    #[error("there is no pool {0:?} to set retries for")]
    UnknownPool(String),
    /// A pool without a pattern would never get a task.
    #[error("pool {0:?} has no pattern, so it would never get a task; `#` takes every namespace")]
    NoPattern(String),
    /// A pool's `min` and `max` contradict each other.
    #[error("pool {pool:?}: {why}")]
    BadBounds {
        /// Which.
        pool: String,
        /// How.
        why: ScaleError,
    },
    /// The system gives no thread or no event loop.
    #[error("the yard's thread could not be started: {0}")]
    Thread(io::Error),
    /// The store can't be had: it is not there, somebody else's, or of a newer version.
    #[error("the store {store} could not be opened: {why}")]
    Store {
        /// Which, without passwords.
        store: String,
        /// Why.
        why: OpenError,
    },
}
