//! What is asked of the board.

use std::sync::Arc;

use super::owner::Registration;
use crate::dispatch::{DispatchName, Failure, Outcome};
use crate::id::{Epoch, PoolId, Sequence, TaskId};
use crate::names::{Pattern, TaskName};
use crate::task::{DueAt, Task};
use crate::time::Timestamp;

/// What is asked of the board. Whatever writes is refused to an owner that was fenced.
#[derive(Debug)]
pub enum Request {
    /// Keeps new tasks, claiming at once those that may run. Idempotent by id. Answer: [`Posted`](super::Answer::Posted).
    Post {
        /// The tasks, in order of arrival.
        rows: Vec<NewRow>,
        /// What may be claimed in the same write.
        room: Room,
    },
    /// Claims ready rows for a pool, in rank order. Answer: [`Claimed`](super::Answer::Claimed).
    Claim {
        /// For which pool.
        pool: PoolId,
        /// At most so many ready rows.
        ready: usize,
        /// At most so many unjudged rows, claimed outside the budget.
        unjudged: usize,
    },
    /// Claims parked rows that are due soon, in order of due time. Answer: [`Claimed`](super::Answer::Claimed).
    Preload {
        /// For which pool.
        pool: PoolId,
        /// Only what is due before this (exactly this stays parked).
        before: Timestamp,
        /// At most so many.
        up_to: usize,
    },
    /// Records how dispatches ended. Compare-and-set on owner and epoch. Answer: [`Settled`](super::Answer::Settled).
    Settle(Vec<Settlement>),
    /// Commits that a task whose last delivery ended unreported is about to start: one crash mark more, taken away by
    /// whatever end is reported. Answer: [`Marked`](super::Answer::Marked).
    MarkStart(DispatchName),
    /// Makes parked rows that are due ready (or behind, or unjudged) and ends expired ones; a repetition does nothing more.
    /// Answer: [`Promoted`](super::Answer::Promoted).
    Promote {
        /// At most so many of each.
        up_to: usize,
    },
    /// Cancels unclaimed rows, in order of arrival; a repetition cancels no others. A row that another owner has gets a
    /// mark. Answer: [`Cancelled`](super::Answer::Cancelled).
    Cancel {
        /// Which.
        filter: Filter,
        /// After this sequence: the cursor. 0 with a filter that names ids.
        after: Sequence,
    },
    /// Gives an unclaimed row another due time. Answer: [`Rescheduled`](super::Answer::Rescheduled).
    Reschedule {
        /// Which task.
        id: TaskId,
        /// When, and so in which state.
        due: DueAt,
    },
    /// One task, with its attempts. Answer: [`Task`](super::Answer::Task).
    Get(TaskId),
    /// Unfinished tasks in order of arrival. Answer: [`Tasks`](super::Answer::Tasks).
    List {
        /// Which.
        filter: Filter,
        /// After this sequence: the cursor.
        after: Sequence,
        /// At most so many.
        limit: usize,
    },
    /// How many rows are in each state. Answer: [`Counts`](super::Answer::Counts).
    Count,
    /// How many unfinished tasks of those that a filter picks are in each state. Answer: [`Counted`](super::Answer::Counted).
    CountOf {
        /// Which.
        filter: Filter,
        /// 0, then where the last answer said to go on.
        after: Sequence,
    },
    /// How these ended, of those that did. Answer: [`Outcomes`](super::Answer::Outcomes).
    Outcomes(Vec<TaskId>),
    /// A pool's workers know these names (in addition to what is known). Answer: [`Learned`](super::Answer::Learned).
    Learn {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },

    /// A new owner. Asked under any owner. Answer: [`Registered`](super::Answer::Registered).
    Register(Registration),
    /// The asking owner's lease runs anew from now. Answer: [`Renewed`](super::Answer::Renewed).
    Renew,
    /// Fences every owner whose lease has ended, then gives back what fenced owners hold, oldest first: uncounted, due as it
    /// was, and with a first crash mark if it had none. An owner that holds nothing more is removed; anybody may go on
    /// where another stopped. Answer: [`TakenOver`](super::Answer::TakenOver).
    TakeOver {
        /// At most so many rows.
        up_to: usize,
    },
    /// The asking owner goes; what it still holds is given back uncounted. Answer: [`Released`](super::Answer::Released).
    Release,
    /// What the asking owner holds, by the board's record. Answer: [`Held`](super::Answer::Held).
    Held,
    /// All owners. Answer: [`Owners`](super::Answer::Owners).
    Owners,

    /// Tasks in the trash, in the order in which they got there. Answer: [`Tasks`](super::Answer::Tasks).
    ListTrash {
        /// Which.
        filter: Filter,
        /// After this place in the trash: the cursor.
        after: u64,
        /// At most so many.
        limit: usize,
    },
    /// Takes tasks out of the trash and posts them again, due at once: attempts start anew, epochs and the log go on.
    /// Answer: [`Requeued`](super::Answer::Requeued).
    Requeue {
        /// Which.
        filter: Filter,
        /// At most so many.
        up_to: usize,
    },
    /// Forgets tasks in the trash. Answer: [`Purged`](super::Answer::Purged).
    Purge {
        /// Which.
        filter: Filter,
        /// At most so many.
        up_to: usize,
    },

    /// A schedule's state, made if there is none. Answer: [`Schedule`](super::Answer::Schedule).
    Schedule {
        /// Its name.
        name: Box<str>,
        /// Where a new one begins: all ticks up to here are done with.
        begin: Timestamp,
    },
    /// Posts what is due of a schedule and moves it on, in one write: once across all owners, whoever is first. If the board
    /// is too full for a row, the others are kept and the schedule stays where it is.
    /// Answer: [`Ticked`](super::Answer::Ticked).
    Tick {
        /// Its name.
        name: Box<str>,
        /// Up to where all is done with, as far as the asker knows; if that is not so nothing is posted.
        from: Timestamp,
        /// Up to where all is done with after it.
        to: Timestamp,
        /// What is posted.
        rows: Vec<NewRow>,
    },
    /// Pauses a schedule, or lets it go on. Answer: [`Schedule`](super::Answer::Schedule), of one that there is.
    PauseSchedule {
        /// Its name.
        name: Box<str>,
        /// Whether it pauses.
        paused: bool,
    },
    /// All schedules, by name. Answer: [`Schedules`](super::Answer::Schedules).
    Schedules,

    /// A batch of tasks with this content: the unfinished run of it, or a new run. Answer: [`Batch`](super::Answer::Batch).
    OpenBatch {
        /// A hash of the content.
        hash: [u8; 32],
    },
    /// All tasks of the batch's run are posted: it finishes with the last of them. Answer: [`Sealed`](super::Answer::Sealed).
    SealBatch(BatchId),

    /// Forgets what ended long ago. Answer: [`Pruned`](super::Answer::Pruned).
    Prune {
        /// What ended before this is forgotten. The trash is not.
        ended_before: Timestamp,
        /// The value of what ended before this is forgotten.
        results_before: Timestamp,
        /// Of what is beyond so many the oldest are forgotten; so many are kept of the trash, beside.
        keep: usize,
        /// At most so many of each.
        up_to: usize,
    },
}

impl Request {
    /// Whether it changes nothing that is kept.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::Get(_)
                | Self::List { .. }
                | Self::Count
                | Self::CountOf { .. }
                | Self::Outcomes(_)
                | Self::Learn { .. }
                | Self::Held
                | Self::Owners
                | Self::ListTrash { .. }
                | Self::Schedules
        )
    }

    /// Whether it is answered to anybody, whatever became of the asking owner: it is not about what that owner has, or is how
    /// an owner comes to be.
    pub fn is_for_anybody(&self) -> bool {
        self.only_looks() && !matches!(self, Self::Held) || matches!(self, Self::Register(_))
    }
}

/// A batch of tasks, by its number on this board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

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
    /// The batch whose end it holds up.
    pub batch: Option<BatchId>,
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

/// How a dispatch ended, for the record. Each sets the crash marks to 0: the end was reported.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The task.
    pub id: TaskId,
    /// Its row.
    pub sequence: Sequence,
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
        /// When it may run again; `None`: when it was due before, on whatever clock the board keeps that.
        due: Option<DueAt>,
        /// Whether it counts as a setback, which lengthens the next pause.
        setback: bool,
        /// Whether it takes a new place in the order.
        renew: bool,
        /// Whether it started, so that crash marks are taken away: its end was reported.
        started: bool,
    },
    /// Failed for good: kept in the trash. The outcome is `Trashed`.
    Trash(Outcome),
}

impl Settle {
    /// How many counted attempts it adds.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Retry { .. } => 1,
            Self::Trash(Outcome::Trashed(trash)) => u32::from(trash.is_attempt()),
            Self::Trash(_) | Self::Done(_) | Self::GiveBack { .. } => 0,
        }
    }
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
    /// These tasks, whatever they are.
    pub fn ids(ids: impl IntoIterator<Item = TaskId>) -> Self {
        Self { ids: ids.into_iter().collect(), ..Self::default() }
    }

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
        self.fits_lane(&task.lane)
    }

    /// Whether it picks tasks of this lane, apart from the ids.
    pub fn fits_lane(&self, lane: &crate::names::Lane) -> bool {
        self.task.as_ref().is_none_or(|name| *name == lane.name)
            && self.namespace.as_ref().is_none_or(|pattern| crate::router::matches(pattern, &lane.namespace))
    }
}
