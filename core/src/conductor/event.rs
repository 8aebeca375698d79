//! What the Conductor can be told.

use std::sync::Arc;
use std::time::Duration;

use crate::dispatch::{Cancel, DispatchName, Ended};
use crate::id::{PoolId, TaskId, Token};
use crate::names::TaskName;
use crate::store::{BatchId, Filter, OwnerId, Reply, Request, Status, StoreError};
use crate::task::{Due, Task};

/// What the Conductor can be told.
#[derive(Debug)]
pub enum Event {
    /// From a producer: tasks to take in. Answer: [`Answer::Submitted`](super::Answer::Submitted).
    Submit(Submission),
    /// From the edge: tell me how this task ends. Answer: [`Answer::Outcome`](super::Answer::Outcome).
    Watch {
        /// Which task.
        id: TaskId,
        /// For whom.
        reply: Token,
    },
    /// From the edge: who waits for this task's end does not any more. No answer.
    Unwatch {
        /// Which task.
        id: TaskId,
        /// Who.
        reply: Token,
    },
    /// From the edge: cancel all that the filter picks. Answer: [`Answer::Cancelled`](super::Answer::Cancelled).
    Cancel {
        /// Which. Boxed, as what is seldom said shall not make every event larger.
        filter: Box<Filter>,
        /// For whom.
        reply: Token,
    },
    /// From the edge: start it at another time. Answer: [`Answer::Rescheduled`](super::Answer::Rescheduled).
    Reschedule {
        /// Which task.
        id: TaskId,
        /// When.
        due: Due,
        /// For whom.
        reply: Token,
    },
    /// From the edge: a question that the board alone answers (get, list, count, owners, the trash, schedules, batches).
    /// Answer: [`Answer::Board`](super::Answer::Board).
    Query {
        /// The question. Boxed, as what is seldom said shall not make every event larger.
        request: Box<Request>,
        /// For whom.
        reply: Token,
    },
    /// From the edge: how many tasks ended in which way. Answer: [`Answer::Totals`](super::Answer::Totals).
    Sum {
        /// For whom.
        reply: Token,
    },
    /// From the edge: how a pool is. Answer: [`Answer::Pool`](super::Answer::Pool).
    Look {
        /// The pool.
        pool: PoolId,
        /// For whom.
        reply: Token,
    },
    /// From the edge: takes nothing new, finishes or gives back what is in the yard. Answer: [`Answer::Drained`](super::Answer::Drained).
    Drain {
        /// For whom.
        reply: Token,
    },
    /// From the edge: the same; what runs has so long at most. Answer: [`Answer::Drained`](super::Answer::Drained).
    Stop {
        /// How long.
        grace: Duration,
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
    Reply(Box<Reply>),
    /// From the store's gateway: others changed the board, or may have.
    Hint(Status),
    /// From the store's gateway: the store cannot be reached, or fails; requests are repeated meanwhile.
    StoreDown(StoreError),
    /// From the store's gateway: the store answers again.
    StoreUp,
    /// From the Lease: registered as this owner; before that nothing is asked of a shared board.
    Owned(OwnerId),
    /// From the Lease: the registration is lost and with it all that is in the yard: nothing of it is settled any more.
    Disowned,
    /// From the Lease: somebody wants these tasks, which this owner has, cancelled.
    Marked(Vec<TaskId>),
    /// From the Lease: the registration is given up, after [`Effect::Release`](super::Effect::Release).
    Released,
    /// From a Pool: it holds a slot for a dispatch whose last delivery ended unreported, and asks whether it may start.
    MayStart {
        /// The pool.
        pool: PoolId,
        /// The dispatch.
        name: DispatchName,
    },
    /// From InProgress, Delayer or Blocker: a dispatch ended.
    Ended(Ended),
    /// From the Delayer: it is due and on its way.
    Due(DispatchName),
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
    /// The batch whose end they hold up, if any.
    pub batch: Option<BatchId>,
}
