//! The Conductor is the only way in and out: it admits and claims tasks, dispatches them, judges outcomes and settles.
//!
//! It never holds a dispatch back and never looks into a queue: what waits, waits on the board or in a stage.

mod admission;
mod asks;
mod cancel;
mod claims;
mod drain;
mod judge;
mod ledger;
mod query;
mod settle;
mod totals;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::defaults;
use crate::dispatch::{Cancel, Dispatch, DispatchName, Ended, Outcome};
use crate::id::{Epoch, PoolId, TaskId, Token};
use crate::live::LiveIndex;
use crate::machine::Machine;
use crate::names::TaskName;
use crate::status::PoolStatus;
use crate::store::{self, Ask, BatchId, Filter, OwnerId, Refusal, Reply, RowState, Status, StoreError};
use crate::task::{Due, Retry, Task};
use crate::time::{Now, Timestamp, Wakeup};
use admission::Posts;
use asks::Asks;
use cancel::Cancels;
use drain::Drain;
use ledger::Ledger;
use query::Watchers;
use settle::Outbox;
pub use totals::Totals;

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
    /// Whether the board is shared with other dispatchers, or outlives this one: it registers as an owner, keeps its lease
    /// alive and looks for what others did.
    pub shared: bool,
    /// How many deliveries in a row may end with nobody left to report it, before the task is trashed.
    pub max_deliveries: u32,
    /// How many dispatches are begun in all; then the yard drains. `None`: no bound.
    pub max_dispatches: Option<u64>,
    /// How long a submit waits for a store that fails, before it fails too.
    pub submit_patience: Duration,
    /// Whether anybody observes, so that [`Effect::Happened`] is worth sending.
    pub observed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            live_max: defaults::LIVE_MAX,
            near_max: defaults::NEAR_MAX,
            horizon: defaults::HORIZON,
            retry: BTreeMap::new(),
            shared: false,
            max_deliveries: defaults::MAX_DELIVERIES,
            max_dispatches: None,
            submit_patience: defaults::SUBMIT_PATIENCE,
            observed: false,
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
        /// Which. Boxed, as what is seldom said shall not make every event larger.
        filter: Box<Filter>,
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
    /// From the edge: a question that the board alone answers (get, list, count, owners, the trash, schedules, batches).
    /// Answer: [`Answer::Board`].
    Query {
        /// The question. Boxed, as what is seldom said shall not make every event larger.
        request: Box<store::Request>,
        /// For whom.
        reply: Token,
    },
    /// From the edge: how many tasks ended in which way. Answer: [`Answer::Totals`].
    Sum {
        /// For whom.
        reply: Token,
    },
    /// From the edge: how a pool is. Answer: [`Answer::Pool`].
    Look {
        /// The pool.
        pool: PoolId,
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
    /// From the Lease: the registration is given up, after [`Effect::Release`].
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

/// What the Conductor wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the board.
    Ask(Ask),
    /// To the Lease, each second: the yard is alive.
    Pulse,
    /// To the Lease: all is settled, the registration can go.
    Release,
    /// To a Pool: the mark is committed, the dispatch may start.
    Go {
        /// The pool.
        pool: PoolId,
        /// The dispatch.
        name: DispatchName,
    },
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
    /// To a Pool: it says to the edge how it is.
    Look {
        /// The pool.
        pool: PoolId,
        /// For whom.
        reply: Token,
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

/// The Conductor: a ledger of what is in the yard, and what is asked of the board and not yet answered.
#[derive(Debug)]
pub struct Conductor {
    settings: Settings,
    ledger: Ledger,
    asks: Asks,
    posts: Posts,
    outbox: Outbox,
    watchers: Watchers,
    cancels: Cancels,
    drain: Drain,
    basket: claims::Basket,
    totals: Totals,
}

impl Conductor {
    /// A Conductor for so many pools, which keeps `live` up to date.
    pub fn new(settings: Settings, pools: usize, live: Arc<LiveIndex>) -> Self {
        Self {
            ledger: Ledger::new(pools, live),
            asks: Asks::default(),
            posts: Posts::default(),
            outbox: Outbox::default(),
            watchers: Watchers::default(),
            cancels: Cancels::default(),
            drain: Drain::default(),
            basket: claims::Basket::default(),
            totals: Totals::default(),
            settings,
        }
    }

    /// How many tasks are in the yard, those whose end is not yet recorded included.
    pub fn live(&self) -> usize {
        self.ledger.len()
    }

    /// How many settlements the board refused as stale.
    pub fn stale_writes(&self) -> u64 {
        self.outbox.stale
    }

    fn happened(&self, effects: &mut Vec<Effect>, happened: impl FnOnce() -> Happened) {
        if self.settings.observed {
            effects.push(Effect::Happened(happened()));
        }
    }

    /// A task ended on the board. Its last dispatch may not be known yet to be recorded.
    fn finish_on_board(&mut self, task: &Arc<Task>, outcome: Outcome, effects: &mut Vec<Effect>) {
        let watch = self.ledger.get_mut(task.id).and_then(|entry| entry.watch.take());
        self.cancels_ended(task.id, &outcome, effects);
        self.finish(task, outcome, watch, effects);
    }

    /// A task is finished: whoever waits for it learns how.
    fn finish(
        &mut self,
        task: &Arc<Task>,
        outcome: Outcome,
        watch: Option<Token>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(watch) = watch {
            effects.push(Effect::Answer(watch, Answer::Outcome(task.id, outcome.clone())));
        }
        self.totals.add(&outcome);
        self.happened(effects, || Happened::TaskEnded { task: Arc::clone(task), outcome: outcome.clone() });
        self.watchers.tell(task.id, outcome, effects);
    }
}

impl Machine for Conductor {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Submit(submission) => self.submit(now, submission, effects),
            Event::Reply(reply) => self.reply(now, *reply, effects),
            Event::Ended(ended) => self.ended(now, ended),
            Event::Due(name) => self.ledger.due(name),
            Event::Blocked(name) => self.ledger.blocked(name),
            Event::Unblocked(name) => self.ledger.unblocked(name),
            Event::Capacity { pool, slots } => self.ledger.pool(pool).slots = slots,
            Event::Learned { pool, names } => self.learned(now, pool, names, effects),
            Event::Told(cancel) => self.told(&cancel, effects),
            Event::Missed(cancel) => self.missed(cancel, effects),
            Event::Cancel { filter, reply } => self.cancel(now, *filter, reply, effects),
            Event::Reschedule { id, due, reply } => self.reschedule(now, id, due, reply, effects),
            Event::Watch { id, reply } => self.watch(now, id, reply, effects),
            Event::Query { request, reply } => self.query(now, *request, reply, effects),
            // A shared board's; until it is served.
            Event::Hint(_)
            | Event::StoreDown(_)
            | Event::StoreUp
            | Event::Owned(_)
            | Event::Disowned
            | Event::Marked(_)
            | Event::Released
            | Event::MayStart { .. } => {}
            Event::Sum { reply } => effects.push(Effect::Answer(reply, Answer::Totals(self.totals))),
            Event::Look { pool, reply } => effects.push(Effect::Look { pool, reply }),
            Event::Drain { reply } => self.start_drain(reply, effects),
            Event::Drained(pool) => self.drain.pool_drained(pool),
            Event::Force => effects.extend(self.ledger.pool_ids().map(Effect::Force)),
            Event::Scale { pool, min, max } => effects.push(Effect::Scale { pool, min, max }),
            Event::Pause { pool, paused } => effects.push(Effect::Pause { pool, paused }),
        }
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.asks.repeat(now, effects);
        self.expire(now, effects);
    }

    fn end_turn(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.flush_settlements(now, effects);
        self.flush_posts(now, effects);
        self.ask_for_work(now, effects);
        self.go_on_draining(now, effects);
    }

    fn next_wakeup(&self) -> Wakeup {
        let basket = self.basket.next_wakeup(self.settings.horizon);
        self.asks.next_wakeup().or(basket).or(self.ledger.next_expiry())
    }

    fn check_invariants(&self) {
        self.ledger.check_invariants();
    }
}
