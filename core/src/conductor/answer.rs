//! What the Conductor answers to somebody at the edge, and what it says to whoever observes.

use std::sync::Arc;

use super::totals::Totals;
use crate::dispatch::Outcome;
use crate::id::{Epoch, TaskId};
use crate::status::PoolStatus;
use crate::store::{self, Counts, Refusal, RowState, StoreError};
use crate::task::Task;
use crate::time::Timestamp;

/// An answer to somebody at the edge.
#[derive(Debug)]
pub enum Answer {
    /// To a submission: one per task, in order.
    Submitted(Vec<Result<Accepted, SubmitRefusal>>),
    /// A watched task ended; once per watched task.
    Outcome(TaskId, Outcome),
    /// A watched task is not known.
    Unknown(TaskId),
    /// To a cancel: what became of each picked task; an empty filter is refused.
    Cancelled(Result<Vec<(TaskId, CancelAnswer)>, EmptyFilter>),
    /// To a reschedule.
    Rescheduled(RescheduleResult),
    /// To a query: what the board says.
    Board(Box<Result<store::Answer, StoreError>>),
    /// To a sum.
    Totals(Totals),
    /// To a look, from the Pool itself.
    Pool(Box<PoolStatus>),
    /// To a drain: all is settled; these tasks remain on the board.
    Drained {
        /// What a memory board loses now.
        left: Vec<TaskId>,
        /// How many remain, whichever board it is; `None`: nobody could be asked any more.
        counts: Option<Counts>,
    },
}

/// A task that was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Its id.
    pub id: TaskId,
    /// `Some`: the id was known; nothing was changed.
    pub known: Option<RowState>,
}

/// Why a task was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitRefusal {
    /// The yard drains.
    #[error("the yard is draining and takes nothing new")]
    Draining,
    /// It expires before it is due.
    #[error("`expires` is not after the time it is due")]
    ExpiresTooSoon,
    /// The board refused.
    #[error(transparent)]
    Board(#[from] Refusal),
    /// The store failed for as long as the submit could wait. After [`StoreError::Unknown`] the task may be kept all the
    /// same: submit it again under the same id.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a cancel, for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAnswer {
    /// It will not run.
    Cancelled,
    /// It runs and was told.
    Running,
    /// It had ended.
    Finished,
    /// Nobody knows it.
    Absent,
}

/// An empty filter never means "all".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the filter is empty; to cancel every task say `all: true`")]
pub struct EmptyFilter;

/// What became of a reschedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RescheduleResult {
    /// It has the new time.
    Done,
    /// It runs already.
    Running,
    /// It has ended.
    Finished,
    /// Nobody knows it.
    Absent,
}

/// What happened to a task.
#[derive(Debug, Clone)]
pub enum Happened {
    /// A dispatch was settled; once per settled dispatch.
    AttemptEnded {
        /// The task.
        task: Arc<Task>,
        /// The dispatch.
        epoch: Epoch,
        /// Which counted attempt it was, from 1.
        attempt: u32,
        /// When it runs again, if it does.
        again: Option<Timestamp>,
    },
    /// The task is finished; once per task, after its commit.
    TaskEnded {
        /// The task.
        task: Arc<Task>,
        /// How.
        outcome: Outcome,
    },
}
