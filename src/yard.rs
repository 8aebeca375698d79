//! The handle to a yard: puts questions to the Conductor and waits for its answers at the desk. It decides nothing.

mod ending;

use std::fmt;
use std::sync::{Arc, Weak};

use taskyard_actors::clock::Clock;
use taskyard_actors::guardian::{Closed, Guardian};
use taskyard_actors::inlet::Inlet;
use taskyard_actors::store::{Health, StoreStatus};
use taskyard_core::conductor::{
    Accepted, Answer, CancelAnswer, Event, Happened, RescheduleResult, Submission, SubmitRefusal, Totals,
};
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::{PoolId, Token};
use taskyard_core::live::{Live, LiveIndex, Stage};
use taskyard_core::status::PoolStatus;
use taskyard_core::store::{self, BatchId, Filter, OwnerId, Request};
use taskyard_core::task::{Due, Task};
use taskyard_core::{Now, TaskId};
use tokio::sync::broadcast;

use crate::builder::{Builder, check_bounds};
use crate::desk::Desk;
use crate::errors::{AskError, CancelError, NoOutcome, ScaleError, SubmitError, YardDown};
use crate::registry::Registry;
use crate::task_handle::{BatchHandle, TaskHandle};
use crate::watch::{Watch, Watched};

pub use ending::Remains;

/// The handle to a running yard. Clones are handles to the same yard; they can be used from any thread and any runtime.
///
/// When the last one is dropped the yard ends at once, without a drain. Task handles hold one too.
#[derive(Clone)]
pub struct Yard(pub(crate) Arc<Inner>);

/// A handle that does not keep the yard going.
#[derive(Clone)]
pub struct WeakYard(Weak<Inner>);

impl WeakYard {
    /// The handle, while another one is there.
    pub fn upgrade(&self) -> Option<Yard> {
        self.0.upgrade().map(Yard)
    }
}

impl fmt::Debug for WeakYard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakYard")
    }
}

pub(crate) struct Inner {
    pub(crate) conductor: Arc<Inlet<Event>>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) guardian: Guardian,
    pub(crate) live: Arc<LiveIndex>,
    /// Of the store, if it is one that can fail.
    pub(crate) health: Option<Health>,
    pub(crate) clock: Arc<dyn Clock>,
    /// By [`PoolId`].
    pub(crate) pools: Vec<String>,
    /// The kinds of task whose defaults are known.
    pub(crate) registry: Registry,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.guardian.close(Closed::Abandoned);
    }
}

impl fmt::Debug for Yard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Yard").field("pools", &self.0.pools).finish_non_exhaustive()
    }
}

/// What became of tasks that were submitted together.
#[derive(Debug)]
pub struct Submitted {
    /// For each task, in order, whether it was taken in.
    pub answers: Vec<Result<Accepted, SubmitError>>,
    /// Follows those that were.
    pub batch: BatchHandle,
}

/// How many tasks are in the yard, by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages {
    /// Not due.
    pub delayed: usize,
    /// Waiting for their key.
    pub blocked: usize,
    /// Waiting for a worker.
    pub queued: usize,
    /// With a worker.
    pub running: usize,
}

impl Yard {
    /// Sets up a yard.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// A handle that does not keep the yard going.
    pub fn downgrade(&self) -> WeakYard {
        WeakYard(Arc::downgrade(&self.0))
    }

    /// Submits one task. Returns once it is committed to the board.
    ///
    /// Dropping the future does not take the task back.
    pub async fn submit_task(&self, task: Arc<Task>) -> Result<TaskHandle, SubmitError> {
        let (watch, outcome) = match self.0.desk.await_one() {
            Ok(waiting) => waiting,
            Err(down) => return Err(SubmitError { task, why: AskError::Down(down).into() }),
        };
        let patience = self.0.desk.patience(watch);
        let mut answers = self.enter(vec![Arc::clone(&task)], Entry::watched(watch)).await;
        let answer = answers.pop().unwrap_or(Err(SubmitError { task, why: AskError::Confused.into() }));
        let accepted = answer?;
        patience.hand_over();
        let watch = Watch::new(self.clone(), watch, Watched::One(accepted.id));
        Ok(TaskHandle::new(watch, accepted, outcome))
    }

    /// Submits tasks together, which costs far less than one by one. Returns once they are committed to the board.
    ///
    /// Dropping the future does not take the tasks back.
    pub async fn submit_tasks(&self, tasks: Vec<Arc<Task>>) -> Submitted {
        self.submit_together(tasks, None).await
    }

    /// The same for tasks of a batch: those that the board keeps hold up its end.
    pub async fn submit_tasks_of(&self, batch: BatchId, tasks: Vec<Arc<Task>>) -> Submitted {
        self.submit_together(tasks, Some(batch)).await
    }

    async fn submit_together(&self, tasks: Vec<Arc<Task>>, batch: Option<BatchId>) -> Submitted {
        let (watch, ended) = match self.0.desk.await_ends(tasks.len()) {
            Ok(waiting) => waiting,
            Err(down) => {
                let answers = refuse_all(tasks, &AskError::Down(down));
                let nobody = Watch::new(self.clone(), Token::default(), Watched::Many(Arc::default()));
                return Submitted { answers, batch: BatchHandle::empty(nobody) };
            }
        };
        let patience = self.0.desk.patience(watch);
        let answers = self.enter(tasks, Entry { batch, ..Entry::watched(watch) }).await;
        patience.hand_over();
        let ids: Arc<[TaskId]> = answers.iter().flatten().map(|accepted| accepted.id).collect();
        self.0.desk.expect_fewer(watch, answers.len() - ids.len());
        let watch = Watch::new(self.clone(), watch, Watched::Many(Arc::clone(&ids)));
        Submitted { answers, batch: BatchHandle::new(watch, ids, ended) }
    }

    /// Submits tasks whose outcomes the submitter does not wait for.
    pub async fn post_tasks(&self, tasks: Vec<Arc<Task>>) -> Vec<Result<Accepted, SubmitError>> {
        self.enter(tasks, Entry::default()).await
    }

    /// Submits tasks on behalf of one that runs: they are taken in even while the yard drains.
    pub async fn post_tasks_from_inside(&self, tasks: Vec<Arc<Task>>) -> Vec<Result<Accepted, SubmitError>> {
        self.enter(tasks, Entry { inside: true, ..Entry::default() }).await
    }

    /// Waits until the task has ended for good and says how, if anybody knows it. On a board that outlives the yard that
    /// may be a task of another process, or of a yard that was here before.
    pub async fn outcome(&self, id: TaskId) -> Result<Outcome, NoOutcome> {
        let (reply, answer) = self.0.desk.await_one().map_err(AskError::from)?;
        let mut watch = Watch::new(self.clone(), reply, Watched::One(id));
        self.0.conductor.put([Event::Watch { id, reply }]);
        let answer = answer.await.map_err(|_| AskError::from(self.down()))?;
        watch.over();
        read_outcome(answer)
    }

    /// Cancels all tasks that the filter picks; the answers say what became of each. A running task is told to end.
    pub async fn cancel(&self, filter: Filter) -> Result<Vec<(TaskId, CancelAnswer)>, CancelError> {
        match self.ask(|reply| Event::Cancel { filter: Box::new(filter), reply }).await? {
            Answer::Cancelled(answers) => Ok(answers?),
            _ => Err(AskError::Confused.into()),
        }
    }

    /// Gives a task that has not started another due time.
    pub async fn reschedule(&self, id: TaskId, due: Due) -> Result<RescheduleResult, AskError> {
        match self.ask(|reply| Event::Reschedule { id, due, reply }).await? {
            Answer::Rescheduled(result) => Ok(result),
            _ => Err(AskError::Confused),
        }
    }

    /// How many tasks ended in which way since the yard started.
    pub async fn totals(&self) -> Result<Totals, AskError> {
        match self.ask(|reply| Event::Sum { reply }).await? {
            Answer::Totals(totals) => Ok(totals),
            _ => Err(AskError::Confused),
        }
    }

    /// How each pool is, by name, in the order in which they were added.
    pub async fn pools(&self) -> Result<Vec<(String, PoolStatus)>, AskError> {
        let mut pools = Vec::with_capacity(self.0.pools.len());
        for (index, name) in self.0.pools.iter().enumerate() {
            match self.ask(|reply| Event::Look { pool: PoolId(index as u8), reply }).await? {
                Answer::Pool(status) => pools.push((name.clone(), *status)),
                _ => return Err(AskError::Confused),
            }
        }
        Ok(pools)
    }

    /// The name of a pool, by its number.
    pub fn pool_name(&self, pool: PoolId) -> Option<&str> {
        self.0.pools.get(usize::from(pool.0)).map(String::as_str)
    }

    /// The yard's own reading of both clocks; what [`running`](Self::running) and [`pools`](Self::pools) say counts by it.
    pub fn now(&self) -> Now {
        self.0.clock.now()
    }

    /// How the store is: a yard without one is not ready for new tasks. Enters no mailbox, so it answers whatever happens.
    pub fn store_status(&self) -> StoreStatus {
        // Memory does not fail, and has one owner, who need not register.
        let memory = || StoreStatus { owner: Some(OwnerId::SOLE), ..StoreStatus::default() };
        self.0.health.as_ref().map_or_else(memory, Health::look)
    }

    /// How many tasks are in the yard, by stage. Enters no mailbox; looks at each.
    pub fn stages(&self) -> Stages {
        let mut stages = Stages::default();
        for live in self.0.live.iter() {
            *match live.stage() {
                Stage::Delayed => &mut stages.delayed,
                Stage::Blocked => &mut stages.blocked,
                Stage::Queued => &mut stages.queued,
                Stage::Running => &mut stages.running,
            } += 1;
        }
        stages
    }

    /// A task that is in the yard now, with the stage it is in. Enters no mailbox.
    pub fn live(&self, id: TaskId) -> Option<Arc<Live>> {
        self.0.live.get(&id).map(|live| Arc::clone(&live))
    }

    /// The tasks that run now, in order of arrival. Enters no mailbox.
    pub fn running(&self) -> Vec<Arc<Live>> {
        let all = self.0.live.iter().map(|live| Arc::clone(&live));
        let mut running: Vec<_> = all.filter(|live| live.stage() == Stage::Running).collect();
        running.sort_unstable_by_key(|live| live.sequence);
        running
    }

    /// Gives a pool other bounds on its number of workers.
    pub fn scale(&self, pool: &str, min: u32, max: u32) -> Result<(), ScaleError> {
        check_bounds(min, max)?;
        let pool = self.pool(pool)?;
        self.0.conductor.put([Event::Scale { pool, min, max }]);
        Ok(())
    }

    /// A pool starts nothing new, or does again. What it runs goes on.
    pub fn pause(&self, pool: &str, paused: bool) -> Result<(), ScaleError> {
        let pool = self.pool(pool)?;
        self.0.conductor.put([Event::Pause { pool, paused }]);
        Ok(())
    }

    /// What happens to tasks from now on, if the yard was built [observed](crate::Builder::observed); else nothing. An
    /// observer that falls some thousand behind misses the oldest, and is told how many. The news end with the yard.
    pub fn observe(&self) -> broadcast::Receiver<Happened> {
        self.0.desk.observe()
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.0.registry
    }

    pub(crate) fn down(&self) -> YardDown {
        self.0.desk.down()
    }

    fn pool(&self, name: &str) -> Result<PoolId, ScaleError> {
        if self.0.guardian.reason().is_some() {
            return Err(self.down().into());
        }
        let index = self.0.pools.iter().position(|pool| pool == name);
        let index = index.ok_or_else(|| ScaleError::UnknownPool(name.into()))?;
        Ok(PoolId(index as u8))
    }

    async fn enter(&self, tasks: Vec<Arc<Task>>, entry: Entry) -> Vec<Result<Accepted, SubmitError>> {
        let kept = tasks.clone();
        let Entry { watch, inside, batch } = entry;
        let answer = self.ask(|reply| Event::Submit(Submission { tasks, reply, watch, inside, batch })).await;
        match answer {
            Ok(Answer::Submitted(answers)) => {
                let pairs = kept.into_iter().zip(answers);
                let refused = |task| move |why: SubmitRefusal| SubmitError { task, why: why.into() };
                pairs.map(|(task, answer)| answer.map_err(refused(task))).collect()
            }
            Ok(_) => refuse_all(kept, &AskError::Confused),
            Err(why) => refuse_all(kept, &why),
        }
    }

    /// Asks the board.
    pub(crate) async fn query(&self, request: Request) -> Result<store::Answer, AskError> {
        match self.ask(|reply| Event::Query { request: Box::new(request), reply }).await? {
            Answer::Board(answer) => Ok((*answer)?),
            _ => Err(AskError::Confused),
        }
    }

    async fn ask(&self, question: impl FnOnce(Token) -> Event) -> Result<Answer, AskError> {
        let (token, answer) = self.0.desk.await_one()?;
        let _patience = self.0.desk.patience(token);
        self.0.conductor.put([question(token)]);
        answer.await.map_err(|_| self.down().into())
    }
}

/// How tasks come in.
#[derive(Default)]
struct Entry {
    watch: Option<Token>,
    inside: bool,
    batch: Option<BatchId>,
}

impl Entry {
    fn watched(watch: Token) -> Self {
        Self { watch: Some(watch), ..Self::default() }
    }
}

fn refuse_all(tasks: Vec<Arc<Task>>, why: &AskError) -> Vec<Result<Accepted, SubmitError>> {
    tasks.into_iter().map(|task| Err(SubmitError { task, why: why.clone().into() })).collect()
}

pub(crate) fn read_outcome(answer: Answer) -> Result<Outcome, NoOutcome> {
    match answer {
        Answer::Outcome(_, outcome) => Ok(outcome),
        Answer::Unknown(id) => Err(NoOutcome::Unknown(id)),
        Answer::Board(answer) => Err(answer.err().map_or(AskError::Confused, AskError::Store).into()),
        _ => Err(AskError::Confused.into()),
    }
}
