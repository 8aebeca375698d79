//! What the board answers.

use std::sync::Arc;

use super::owner::{OwnerId, OwnerView, Renewal};
use super::request::BatchId;
use super::view::{Counts, RowState, TaskView};
use crate::dispatch::{DispatchName, Order, Outcome};
use crate::id::{Epoch, PoolId, Sequence, TaskId};
use crate::task::{DueAt, Task};
use crate::time::Timestamp;

/// What the board answers.
#[derive(Debug, Clone)]
pub enum Answer {
    /// To a post: one per row, in order.
    Posted(Vec<Posted>),
    /// To a claim or preload.
    Claimed {
        /// The rows, in order.
        rows: Vec<Claimed>,
        /// Rows that had expired instead.
        expired: Vec<Arc<Task>>,
    },
    /// To a settlement: one per item, in order.
    Settled(Vec<Settled>),
    /// To a mark: whether the asking owner still holds that dispatch.
    Marked(bool),
    /// To a promotion: the tasks that expired.
    Promoted {
        /// Ended EXPIRED on the board.
        expired: Vec<Arc<Task>>,
    },
    /// To a cancel.
    Cancelled {
        /// The tasks that were cancelled on the board.
        tasks: Vec<Arc<Task>>,
        /// Those that another owner has: it is told.
        elsewhere: Vec<TaskId>,
        /// Of the ids that the filter names: those that had ended.
        ended: Vec<TaskId>,
        /// There may be more after this sequence.
        more: Option<Sequence>,
    },
    /// To a reschedule.
    Rescheduled(RescheduleAnswer),
    /// To a get.
    Task(Option<Box<TaskView>>),
    /// To a list.
    Tasks {
        /// The tasks, in order.
        tasks: Vec<TaskView>,
        /// There may be more after this: the cursor. A board looks at a bounded number of rows for one answer, so there may
        /// be more even if there is no task here.
        more: Option<u64>,
    },
    /// To a count.
    Counts(Counts),
    /// To a count of what a filter picks.
    Counted {
        /// What was counted for this answer; nothing of the trash.
        counts: Counts,
        /// There may be more after this sequence: the cursor. A board looks at a bounded number of rows for one answer, unless it
        /// keeps the numbers anyway.
        more: Option<Sequence>,
    },
    /// To a question for outcomes. `None`: nobody knows the task. Those that have not ended are left out.
    Outcomes(Vec<(TaskId, Option<Outcome>)>),
    /// To a learn.
    Learned,
    /// To a registration.
    Registered(OwnerId),
    /// To a renewal.
    Renewed(Renewal),
    /// To a take-over.
    TakenOver {
        /// How many rows were given back.
        returned: usize,
        /// Whether there are more.
        more: bool,
    },
    /// To a release.
    Released,
    /// To a question for what is held.
    Held(Vec<DispatchName>),
    /// To a question for all owners.
    Owners(Vec<OwnerView>),
    /// To a requeue.
    Requeued {
        /// The tasks that are on the board again.
        ids: Vec<TaskId>,
        /// Whether there may be more.
        more: bool,
    },
    /// To a purge.
    Purged {
        /// How many were forgotten.
        tasks: usize,
        /// Whether there may be more.
        more: bool,
    },
    /// To a question for one schedule. `None`: there is none of that name.
    Schedule(Option<ScheduleState>),
    /// To a question for all.
    Schedules(Vec<ScheduleState>),
    /// To a tick.
    Ticked(Ticked),
    /// To a batch that is opened.
    Batch(BatchState),
    /// To a batch that is sealed.
    Sealed,
    /// To a prune.
    Pruned {
        /// How many rows were forgotten.
        rows: usize,
        /// Whether there may be more.
        more: bool,
    },
}

/// What became of a posted row.
#[derive(Debug, Clone)]
pub enum Posted {
    /// Kept and claimed.
    Claimed(Claimed),
    /// Kept.
    Kept(RowState),
    /// The id is known: nothing was changed.
    Known(Box<Known>),
    /// Not kept.
    Refused(Refusal),
}

/// What the board knows of a task that was posted again.
#[derive(Debug, Clone)]
pub struct Known {
    /// Where the row is.
    pub state: RowState,
    /// Its claim, if the asking owner has it: adopted where the first answer was lost.
    pub claimed: Option<Claimed>,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
}

/// Why the board did not keep a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `board_max` tasks are unfinished.
    #[error("the board is full")]
    Full,
    /// More than 10 000 lanes have unfinished tasks.
    #[error("more than 10 000 pairs of namespace and name have unfinished tasks")]
    TooManyLanes,
    /// No pool takes it, and the configuration says that such tasks are not kept.
    #[error("no pool takes this namespace and name")]
    Unroutable,
}

/// A row that the Conductor now holds.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The task.
    pub task: Arc<Task>,
    /// For which pool.
    pub pool: PoolId,
    /// Its place in the order.
    pub order: Order,
    /// The new pass.
    pub epoch: Epoch,
    /// How many counted attempts it had.
    pub attempts: u32,
    /// How many setbacks in a row it had.
    pub setbacks: u32,
    /// How many deliveries in a row ended with nobody left to report it.
    pub crash_marks: u32,
    /// When it is due.
    pub due: DueAt,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// Whether its key's policy was applied already.
    pub judged: bool,
    /// Claimed outside the budget, to be judged.
    pub unjudged: bool,
    /// When it was posted.
    pub posted: Timestamp,
}

/// What became of a settlement.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The task.
    pub id: TaskId,
    /// The dispatch.
    pub epoch: Epoch,
    /// Whether it was recorded (now or by an earlier repetition); `false`: stale.
    pub accepted: bool,
}

/// The answer to a reschedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescheduleAnswer {
    /// Parked anew.
    Done,
    /// Claimed by the asking owner: the dispatch must be met in the yard.
    Claimed,
    /// Claimed by another owner.
    Elsewhere,
    /// It has ended.
    Ended,
    /// Unknown.
    Absent,
}

/// A schedule, as the board keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleState {
    /// Its name.
    pub name: Box<str>,
    /// All ticks up to here are done with.
    pub done: Timestamp,
    /// Whether it pauses.
    pub paused: bool,
}

/// The answer to a tick.
#[derive(Debug, Clone)]
pub struct Ticked {
    /// The schedule afterwards; `None`: there is none of that name. It has not moved on if a row met a full board.
    pub state: Option<ScheduleState>,
    /// What became of each row; `None`: somebody else was first, or it pauses, and nothing was posted.
    pub posted: Option<Vec<Posted>>,
}

impl Ticked {
    /// Whether the schedule may move on: not while the board had no room for a row. Whoever asks again with the same ids
    /// posts what is missing, and nothing twice.
    pub fn moves_on(posted: &[Posted]) -> bool {
        !posted.iter().any(|posted| matches!(posted, Posted::Refused(Refusal::Full)))
    }
}

/// A batch that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchState {
    /// Its number.
    pub id: BatchId,
    /// Which run of this content it is, from 1.
    pub run: u32,
    /// Whether the run was begun before and not finished.
    pub resumed: bool,
}
