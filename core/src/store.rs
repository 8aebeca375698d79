//! The board's requests and replies: what the Conductor asks, and what every store (memory, SQLite, Postgres) answers.
//!
//! A request is shared and numbered, so that it can be asked again after a lost reply: each is idempotent.

use std::sync::Arc;

use crate::dispatch::{Failure, Order, Outcome};
use crate::id::{Epoch, PoolId, PoolSet, TaskId};
use crate::names::{Lane, Pattern, TaskName};
use crate::task::{DueAt, Task};
use crate::time::Timestamp;

/// A numbered request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Rises with each new request of this owner; a repetition keeps it.
    pub no: u64,
    /// What is asked.
    pub request: Arc<Request>,
    /// Every request before this number was answered, and the answer came: the board may forget what it said.
    pub oldest_open: u64,
}

/// What the Conductor asks of the board.
#[derive(Debug)]
pub enum Request {
    /// Keeps new tasks, claiming at once those that may run. Idempotent by id. Answer: [`Answer::Posted`].
    Post {
        /// The tasks, in order of arrival.
        rows: Vec<NewRow>,
        /// What may be claimed in the same write.
        room: Room,
    },
    /// Claims ready rows for a pool, in rank order. Answer: [`Answer::Claimed`].
    Claim {
        /// For which pool.
        pool: PoolId,
        /// At most so many ready rows.
        ready: usize,
        /// At most so many unjudged rows, claimed outside the budget.
        unjudged: usize,
    },
    /// Claims parked rows that are due soon, in order of due time. Answer: [`Answer::Claimed`].
    Preload {
        /// For which pool.
        pool: PoolId,
        /// Only what is due before this (exactly this stays parked).
        before: Timestamp,
        /// At most so many.
        up_to: usize,
    },
    /// Records how dispatches ended. Compare-and-set on the epoch. Answer: [`Answer::Settled`].
    Settle(Vec<Settlement>),
    /// Makes parked rows that are due ready (or behind, or unjudged) and ends expired ones; a repetition does nothing more.
    /// Answer: [`Answer::Promoted`].
    Promote {
        /// At most so many of each.
        up_to: usize,
    },
    /// Cancels unclaimed rows; a repetition cancels no others. Answer: [`Answer::Cancelled`].
    Cancel(Filter),
    /// Gives an unclaimed row another due time. Answer: [`Answer::Rescheduled`].
    Reschedule {
        /// Which task.
        id: TaskId,
        /// When, and so in which state.
        due: DueAt,
    },
    /// One task. Answer: [`Answer::Task`].
    Get(TaskId),
    /// Unfinished tasks in order of arrival. Answer: [`Answer::Tasks`].
    List {
        /// Which.
        filter: Filter,
        /// After this sequence: the cursor.
        after: u64,
        /// At most so many.
        limit: usize,
    },
    /// How many rows are in each state. Answer: [`Answer::Counts`].
    Count,
    /// A pool's workers know these names (in addition to what is known). Answer: [`Answer::Learned`].
    Learn {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
}

/// A task to keep.
#[derive(Debug, Clone)]
pub struct NewRow {
    /// The task.
    pub task: Arc<Task>,
    /// When it is due.
    pub due: DueAt,
    /// When it is no longer worth starting.
    pub expires: Option<Timestamp>,
    /// A callback: kept whatever the bounds of the board.
    pub exempt: bool,
}

/// What may be claimed in the write that posts it.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// For each pool: how many ready rows, and how many that are due within the horizon.
    pub pools: Vec<PoolRoom>,
    /// How many rows in all, unjudged ones included.
    pub total: usize,
    /// Rows due before this count as due within the horizon.
    pub before: Timestamp,
}

/// What a pool may claim.
#[derive(Debug, Clone, Copy)]
pub struct PoolRoom {
    /// The pool.
    pub pool: PoolId,
    /// Rows that are due.
    pub ready: usize,
    /// Rows that are due within the horizon.
    pub near: usize,
}

/// How a dispatch ended, for the record.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The task.
    pub id: TaskId,
    /// The dispatch; a settlement with another epoch than the row's is stale.
    pub epoch: Epoch,
    /// How.
    pub settle: Settle,
    /// What is posted in the same write: callbacks or errbacks.
    pub posts: Vec<NewRow>,
}

/// The four forms of a settlement.
#[derive(Debug, Clone, PartialEq)]
pub enum Settle {
    /// Ended for good, not in the trash.
    Done(Outcome),
    /// A counted attempt failed; parked again until `due`.
    Retry {
        /// When it may run again.
        due: Timestamp,
        /// Why.
        error: Failure,
    },
    /// Not counted.
    GiveBack {
        /// When it may run again.
        due: DueAt,
        /// Whether it counts as a setback, which lengthens the next pause.
        setback: bool,
        /// Whether it takes a new place in the order.
        renew: bool,
    },
    /// Failed for good: kept in the trash. The outcome is `Trashed`.
    Trash(Outcome),
}

/// Which tasks. All that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of these; empty: any.
    pub ids: Vec<TaskId>,
    /// Of this name.
    pub task: Option<TaskName>,
    /// In a namespace that matches.
    pub namespace: Option<Pattern>,
    /// An otherwise empty filter means every task only if this is set.
    pub all: bool,
}

impl Filter {
    /// Whether it says nothing, not even "all".
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.task.is_none() && self.namespace.is_none() && !self.all
    }

    /// Whether it picks the task.
    pub fn picks(&self, task: &Task) -> bool {
        !self.is_empty() && (self.ids.is_empty() || self.ids.contains(&task.id)) && self.fits(task)
    }

    /// Whether it picks the task apart from the ids: for a task that was found by one of them.
    pub fn fits(&self, task: &Task) -> bool {
        self.task.as_ref().is_none_or(|name| *name == task.lane.name)
            && self
                .namespace
                .as_ref()
                .is_none_or(|pattern| crate::router::matches(pattern, &task.lane.namespace))
    }
}

/// The answer to the request of the same number.
#[derive(Debug)]
pub struct Reply {
    /// Which request.
    pub no: u64,
    /// The answer.
    pub answer: Result<Answer, StoreError>,
    /// Pools for which rows are ready.
    pub ready: PoolSet,
    /// Pools for which rows are to be judged.
    pub unjudged: PoolSet,
    /// When the first parked row is due.
    pub next_due: Option<Timestamp>,
    /// When the first unclaimed row expires.
    pub next_expiry: Option<Timestamp>,
}

/// The store could not answer; nothing of the request was done, or it is not known. The request can be asked again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreError(pub String);

/// What the board answers.
#[derive(Debug)]
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
    /// To a promotion: the tasks that expired.
    Promoted {
        /// Ended EXPIRED on the board.
        expired: Vec<Arc<Task>>,
    },
    /// To a cancel.
    Cancelled {
        /// The tasks that were cancelled on the board.
        tasks: Vec<Arc<Task>>,
        /// Of the ids that the filter names: those that had ended.
        ended: Vec<TaskId>,
    },
    /// To a reschedule.
    Rescheduled(RescheduleAnswer),
    /// To a get.
    Task(Option<Box<TaskView>>),
    /// To a list.
    Tasks(Vec<TaskView>),
    /// To a count.
    Counts(Counts),
    /// To a learn.
    Learned,
}

/// What became of a posted row.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct Known {
    /// Where the row is.
    pub state: RowState,
    /// Its claim, if this owner has it: adopted where the first answer was lost.
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
#[derive(Debug)]
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
    /// Claimed: the dispatch must be met in the yard.
    Claimed,
    /// It has ended.
    Ended,
    /// Unknown.
    Absent,
}

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// Not due.
    Parked,
    /// Due, behind others of its key.
    Behind,
    /// Due, to be judged against its key.
    Unjudged,
    /// Due, may be claimed.
    Ready,
    /// In a yard.
    Claimed,
    /// Ended.
    Ended,
}

/// A task as lists show it.
#[derive(Debug, Clone)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// Namespace and name.
    pub lane: Arc<Lane>,
    /// The task; of one that has ended only if it is in the trash.
    pub task: Option<Arc<Task>>,
    /// Where it is.
    pub state: RowState,
    /// Its place in the order, while it is unfinished.
    pub order: Option<Order>,
    /// When it is due, while it is unfinished.
    pub due: Option<Timestamp>,
    /// The latest pass.
    pub epoch: Epoch,
    /// Counted attempts.
    pub attempts: u32,
    /// The last failure.
    pub last_error: Option<Failure>,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// Whether no pool here takes it.
    pub unroutable: bool,
}

/// How many rows are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Not due.
    pub parked: usize,
    /// Due, behind others of their key.
    pub behind: usize,
    /// Due, to be judged.
    pub unjudged: usize,
    /// Due, may be claimed.
    pub ready: usize,
    /// In a yard.
    pub claimed: usize,
    /// Ready or unjudged, but no pool here takes them.
    pub unroutable: usize,
    /// In the trash.
    pub trashed: usize,
}
