//! The Conductor is the only way in and out: it admits and claims tasks, dispatches them, judges outcomes and settles.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::defaults;
use crate::dispatch::{Cancel, Dispatch, DispatchName, Ended, Outcome};
use crate::id::{Epoch, PoolId, TaskId, Token};
use crate::names::TaskName;
use crate::store::{Ask, Counts, Filter, Refusal, Reply, RowState, TaskView};
use crate::task::{Due, Retry, Task};
use crate::time::Timestamp;

/// How the Conductor is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many tasks may be in the yard.
    pub live_max: usize,
    /// How many not yet due tasks a pool may have in the yard.
    pub near_max: usize,
    /// How far ahead of its due time a parked task is taken into the Delayer.
    pub horizon: Duration,
    /// For tasks that say nothing of retries, by pool.
    pub retry: BTreeMap<PoolId, Retry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            live_max: defaults::LIVE_MAX,
            near_max: defaults::NEAR_MAX,
            horizon: defaults::HORIZON,
            retry: BTreeMap::new(),
        }
    }
}

/// What the Conductor can be told.
#[derive(Debug)]
pub enum Event {
    /// From a producer: tasks to take in. Answer: [`Answer::Submitted`].
    Submit(Submission),
    /// From the edge: tell me how this task ends. Answer: [`Answer::Outcome`].
    Watch {
        /// Which task.
        id: TaskId,
        /// For whom.
        reply: Token,
    },
    /// From the edge: cancel all that the filter picks. Answer: [`Answer::Cancelled`].
    Cancel {
        /// Which.
        filter: Filter,
        /// For whom.
        reply: Token,
    },
    /// From the edge: start it at another time. Answer: [`Answer::Rescheduled`].
    Reschedule {
        /// Which task.
        id: TaskId,
        /// When.
        due: Due,
        /// For whom.
        reply: Token,
    },
    /// From the edge: one task. Answer: [`Answer::Task`].
    Get {
        /// Which task.
        id: TaskId,
        /// For whom.
        reply: Token,
    },
    /// From the edge: unfinished tasks in order of arrival. Answer: [`Answer::Tasks`].
    List {
        /// Which.
        filter: Filter,
        /// After this sequence.
        after: u64,
        /// At most so many.
        limit: usize,
        /// For whom.
        reply: Token,
    },
    /// From the edge: how many tasks are where. Answer: [`Answer::Counts`].
    Count {
        /// For whom.
        reply: Token,
    },
    /// From the edge: takes nothing new, finishes or gives back what is in the yard. Answer: [`Answer::Drained`].
    Drain {
        /// For whom.
        reply: Token,
    },
    /// From the edge: a drain that is under way shall not wait for `drain_grace`.
    Force,
    /// From the edge: other bounds for a pool.
    Scale {
        /// The pool.
        pool: PoolId,
        /// At least so many workers.
        min: u32,
        /// At most so many.
        max: u32,
    },
    /// From the edge: a pool takes nothing new, or does again.
    Pause {
        /// The pool.
        pool: PoolId,
        /// Whether it pauses.
        paused: bool,
    },
    /// From the board: the answer to a request.
    Reply(Reply),
    /// From InProgress, Delayer or Blocker: a dispatch ended.
    Ended(Ended),
    /// From the Blocker: it waits for its key.
    Blocked(DispatchName),
    /// From the Blocker: it does not any more.
    Unblocked(DispatchName),
    /// From a Pool: the cancel met a running task.
    Told(Cancel),
    /// From the Queuer or a Pool: the cancel met nobody.
    Missed(Cancel),
    /// From a Pool: how many dispatches may be claimed for it.
    Capacity {
        /// The pool.
        pool: PoolId,
        /// The number.
        slots: usize,
    },
    /// From a Pool: its workers know these names.
    Learned {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
    /// From a Pool: after the drain mark, its last worker is gone.
    Drained(PoolId),
}

/// Tasks that a producer wants taken in.
#[derive(Debug)]
pub struct Submission {
    /// The tasks.
    pub tasks: Vec<Arc<Task>>,
    /// For whom the answer is.
    pub reply: Token,
    /// Who is told of each one's outcome, if anybody.
    pub watch: Option<Token>,
    /// From a running task: taken in even while draining.
    pub inside: bool,
}

/// What the Conductor wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the board.
    Ask(Ask),
    /// To the Delayer: a dispatch begins.
    Dispatch(Box<Dispatch>),
    /// To the Delayer: take this out.
    Cancel(Cancel),
    /// To the Delayer: the drain mark.
    Drain,
    /// To the edge: an answer.
    Answer(Token, Answer),
    /// To the edge: something happened to a task, for whoever observes.
    Happened(Happened),
    /// To a Pool: see [`pool::Event::Force`](crate::pool::Event::Force).
    Force(PoolId),
    /// To a Pool.
    Scale {
        /// The pool.
        pool: PoolId,
        /// At least so many workers.
        min: u32,
        /// At most so many.
        max: u32,
    },
    /// To a Pool.
    Pause {
        /// The pool.
        pool: PoolId,
        /// Whether it pauses.
        paused: bool,
    },
}

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
    /// To a get.
    Task(Option<TaskView>),
    /// To a list.
    Tasks(Vec<TaskView>),
    /// To a count.
    Counts(Counts),
    /// To a drain: all is settled; these tasks remain on the board.
    Drained {
        /// What a memory board loses now.
        left: Vec<TaskId>,
    },
    /// The store failed, and the question can't wait.
    Failed(String),
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
    /// The store failed.
    #[error("{0}")]
    Store(String),
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
