//! What a submitter holds of its tasks: their ids, their ends, and the way to cancel them. Dropping a handle changes
//! nothing for the tasks.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use taskyard_core::TaskId;
use taskyard_core::conductor::{Accepted, Answer, CancelAnswer};
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Filter, RowState};
use tokio::sync::{mpsc, oneshot};

use crate::errors::{AskError, CancelError, NoOutcome, TaskFailed, YardDown};
use crate::watch::Watch;
use crate::yard::read_outcome;

/// The end of a task of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Which task.
    pub id: TaskId,
    /// How it ended; `None`: it was known already, and ended so long ago that nobody remembers how.
    pub outcome: Option<Outcome>,
}

impl Ended {
    pub(crate) fn read(answer: Answer) -> Option<Self> {
        match answer {
            Answer::Outcome(id, outcome) => Some(Self { id, outcome: Some(outcome) }),
            Answer::Unknown(id) => Some(Self { id, outcome: None }),
            _ => None,
        }
    }
}

/// What a handle is for that tells outcomes as the yard has them: values stay JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Untyped;

/// A task that was taken in, whose handler gives back an `O`.
pub struct TaskHandle<O = Untyped> {
    watch: Watch,
    accepted: Accepted,
    outcome: Waiting,
    output: PhantomData<fn() -> O>,
}

#[derive(Debug)]
enum Waiting {
    Still(oneshot::Receiver<Answer>),
    Over(Result<Outcome, NoOutcome>),
}

impl TaskHandle {
    pub(crate) fn new(watch: Watch, accepted: Accepted, outcome: oneshot::Receiver<Answer>) -> Self {
        Self { watch, accepted, outcome: Waiting::Still(outcome), output: PhantomData }
    }

    /// Waits until the task has ended for good, after all its attempts. Can be dropped and called again.
    pub async fn outcome(&mut self) -> Result<Outcome, NoOutcome> {
        self.ended().await
    }
}

impl<O: DeserializeOwned> TaskHandle<O> {
    /// Waits until the task has ended for good, after all its attempts, and gives its value. Can be dropped and called
    /// again.
    pub async fn outcome(&mut self) -> Result<O, TaskFailed> {
        read_value(self.ended().await)
    }
}

impl<O> TaskHandle<O> {
    /// The same task, whose value is read as a `P`.
    pub fn typed<P>(self) -> TaskHandle<P> {
        let Self { watch, accepted, outcome, output: PhantomData } = self;
        TaskHandle { watch, accepted, outcome, output: PhantomData }
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.accepted.id
    }

    /// `Some` if the id was known when the task was submitted: nothing was changed then, and this handle follows the task
    /// that was there.
    pub fn was_known(&self) -> Option<RowState> {
        self.accepted.known
    }

    async fn ended(&mut self) -> Result<Outcome, NoOutcome> {
        if let Waiting::Still(answer) = &mut self.outcome {
            let outcome = match answer.await {
                Ok(answer) => read_outcome(answer),
                Err(_) => Err(AskError::Down(self.watch.yard().down()).into()),
            };
            self.watch.over();
            self.outcome = Waiting::Over(outcome);
        }
        match &self.outcome {
            Waiting::Over(outcome) => outcome.clone(),
            Waiting::Still(_) => Err(AskError::Confused.into()),
        }
    }

    /// Cancels the task; one that runs is told to end, and made to where its worker can be killed.
    pub async fn cancel(&self) -> Result<CancelAnswer, CancelError> {
        let filter = Filter { ids: vec![self.id()], ..Filter::default() };
        let answers = self.watch.yard().cancel(filter).await?;
        Ok(answers.first().map_or(CancelAnswer::Absent, |(_, answer)| *answer))
    }
}

impl<O> fmt::Debug for TaskHandle<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("accepted", &self.accepted).finish_non_exhaustive()
    }
}

/// The value that a handler gave.
fn read_value<O: DeserializeOwned>(outcome: Result<Outcome, NoOutcome>) -> Result<O, TaskFailed> {
    match outcome? {
        Outcome::Succeeded(value) => serde_json::from_str(&value).map_err(TaskFailed::Value),
        Outcome::ValueGone => Err(TaskFailed::ValueGone),
        Outcome::Cancelled => Err(TaskFailed::Cancelled),
        Outcome::Expired => Err(TaskFailed::Expired),
        Outcome::Discarded { lost_to } => Err(TaskFailed::Discarded { lost_to }),
        Outcome::Trashed(trash) => Err(trash.into()),
    }
}

/// Tasks that were submitted together and taken in, whose handlers give back an `O`.
pub struct BatchHandle<O = Untyped> {
    watch: Watch,
    ids: Arc<[TaskId]>,
    left: usize,
    ended: mpsc::UnboundedReceiver<Vec<Ended>>,
    /// Received and not given out yet, the next one last.
    ready: Vec<Ended>,
    output: PhantomData<fn() -> O>,
}

impl BatchHandle {
    pub(crate) fn new(
        mut watch: Watch,
        ids: Arc<[TaskId]>,
        ended: mpsc::UnboundedReceiver<Vec<Ended>>,
    ) -> Self {
        let left = ids.len();
        if left == 0 {
            watch.over();
        }
        Self { watch, ids, left, ended, ready: Vec::new(), output: PhantomData }
    }

    pub(crate) fn empty(nobody: Watch) -> Self {
        Self::new(nobody, Arc::default(), mpsc::unbounded_channel().1)
    }

    /// The next task that ends; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Ended>, YardDown> {
        self.next_end().await
    }

    /// All ends that [`next`](Self::next) did not give out yet, as the tasks end; waits for the last.
    pub async fn outcomes(mut self) -> Result<Vec<Ended>, YardDown> {
        let mut ended = Vec::with_capacity(self.left);
        while let Some(next) = self.next().await? {
            ended.push(next);
        }
        Ok(ended)
    }
}

impl<O: DeserializeOwned> BatchHandle<O> {
    /// The next task that ends, with its value; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<(TaskId, Result<O, TaskFailed>)>, YardDown> {
        let next = self.next_end().await?;
        Ok(next.map(|Ended { id, outcome }| (id, read_value(outcome.ok_or(NoOutcome::Unknown(id))))))
    }

    /// All that [`next`](Self::next) did not give out yet, as the tasks end; waits for the last.
    pub async fn outcomes(mut self) -> Result<Vec<(TaskId, Result<O, TaskFailed>)>, YardDown> {
        let mut ended = Vec::with_capacity(self.left);
        while let Some(next) = self.next().await? {
            ended.push(next);
        }
        Ok(ended)
    }
}

impl<O> BatchHandle<O> {
    /// The same tasks, whose values are read as a `P`.
    pub fn typed<P>(self) -> BatchHandle<P> {
        let Self { watch, ids, left, ended, ready, output: PhantomData } = self;
        BatchHandle { watch, ids, left, ended, ready, output: PhantomData }
    }

    /// The ids of those that were taken in, in the order of submission.
    pub fn ids(&self) -> &[TaskId] {
        &self.ids
    }

    async fn next_end(&mut self) -> Result<Option<Ended>, YardDown> {
        if self.left == 0 {
            return Ok(None);
        }
        while self.ready.is_empty() {
            self.ready = self.ended.recv().await.ok_or_else(|| self.watch.yard().down())?;
            self.ready.reverse();
        }
        self.left -= 1;
        if self.left == 0 {
            self.watch.over();
        }
        Ok(self.ready.pop())
    }

    /// Cancels all of them that have not ended.
    pub async fn cancel(&self) -> Result<Vec<(TaskId, CancelAnswer)>, CancelError> {
        if self.ids.is_empty() {
            return Ok(Vec::new());
        }
        self.watch.yard().cancel(Filter { ids: self.ids.to_vec(), ..Filter::default() }).await
    }
}

impl<O> fmt::Debug for BatchHandle<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchHandle")
            .field("ids", &self.ids)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
