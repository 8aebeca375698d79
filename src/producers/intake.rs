//! A producer's way into the yard: tells messages apart, puts chunks together, waits while the board is full. It never
//! drops a task: each gets an answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::chunks::Chunks;
use taskyard_core::conductor::{Accepted, SubmitRefusal};
use taskyard_core::store::{BatchId, Refusal};
use taskyard_core::task::Task;
use taskyard_core::wire::Rejected;

use super::status::{Status, WaitsForRoom};
use crate::control::{Control, Incoming};
use crate::errors::{NotTaken, SubmitError};
use crate::ids::fresh_id;
use crate::submit::{read_task, read_task_as};
use crate::task_handle::BatchHandle;
use crate::yard::Yard;

/// The pauses between looks at a full board.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A message from outside, read.
#[derive(Debug)]
pub enum Message {
    /// A task.
    Task(Arc<Task>),
    /// A control command.
    Control(Control),
    /// A part of a message that is not complete.
    Part,
}

/// What became of tasks that were submitted to be followed.
#[derive(Debug, Default)]
pub struct Taken {
    /// For each task, in order, whether it was taken in.
    pub answers: Vec<TaskAnswer>,
    /// These follow those that were.
    pub batches: Vec<BatchHandle>,
}

/// One producer's way into the yard. Clones count for the same producer.
#[derive(Debug, Clone)]
pub struct Intake {
    yard: Yard,
    status: Arc<Status>,
    chunks: Arc<Mutex<Chunks>>,
}

impl Intake {
    /// The way of the producer whose status this is.
    pub fn new(yard: Yard, status: Arc<Status>) -> Self {
        Self { yard, status, chunks: Arc::default() }
    }

    /// What the producer says of itself.
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// The yard.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Reads a message, whatever it is.
    pub fn read(&self, text: &str) -> Result<Message, Rejected> {
        self.read_as(fresh_id(), text)
    }

    /// The same; a task that brings no id is called `id`.
    pub fn read_as(&self, id: TaskId, text: &str) -> Result<Message, Rejected> {
        self.status.received(1);
        self.tell_apart(id, text).inspect_err(|_| self.status.rejected())
    }

    /// Reads a task of the program's own, which is called `id` if it brings no id.
    pub fn read_own(&self, id: Option<TaskId>, text: &str) -> Result<Arc<Task>, Rejected> {
        self.status.received(1);
        let registry = self.yard.registry();
        let read = id.map_or_else(|| read_task(registry, text), |id| read_task_as(registry, id, text));
        read.map(Arc::new).inspect_err(|_| self.status.rejected())
    }

    /// A message came that can't be read at all.
    pub fn refuse(&self) {
        self.status.received(1);
        self.status.rejected();
    }

    /// Drops the parts of messages that were not complete in time.
    pub fn forget_old_parts(&self) {
        let now = self.yard.now().mono;
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).wake(now);
    }

    /// How many messages in chunks are not complete.
    pub fn incomplete(&self) -> usize {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Submits tasks, and waits for room for all of them.
    pub async fn post(&self, tasks: Vec<Arc<Task>>) -> Vec<TaskAnswer> {
        let mut patience = Patience::new(tasks);
        while let Some(tasks) = patience.next(&self.status).await {
            patience.answered(self.yard.post_tasks(tasks).await);
        }
        self.count_refused(patience.answers())
    }

    /// Submits tasks that are followed, and waits for room for all of them, and for a store that fails. They hold up the
    /// end of the batch, if there is one.
    pub async fn submit(&self, tasks: Vec<Arc<Task>>, batch: Option<BatchId>) -> Taken {
        let mut patience = Patience { for_the_store: true, ..Patience::new(tasks) };
        let mut batches = Vec::new();
        while let Some(tasks) = patience.next(&self.status).await {
            let submitted = match batch {
                Some(batch) => self.yard.submit_tasks_of(batch, tasks).await,
                None => self.yard.submit_tasks(tasks).await,
            };
            patience.answered(submitted.answers);
            batches.push(submitted.batch);
        }
        Taken { answers: self.count_refused(patience.answers()), batches }
    }

    fn count_refused(&self, answers: Vec<TaskAnswer>) -> Vec<TaskAnswer> {
        answers.iter().filter(|answer| answer.is_err()).for_each(|_| self.status.rejected());
        answers
    }

    fn tell_apart(&self, id: TaskId, text: &str) -> Result<Message, Rejected> {
        match Incoming::parse(text)? {
            Incoming::Task(text) => self.task(id, text),
            Incoming::Control(control) => Ok(Message::Control(control)),
            Incoming::Chunk(text) => {
                let now = self.yard.now().mono;
                let whole = self.chunks.lock().unwrap_or_else(PoisonError::into_inner).take_in(now, text)?;
                whole.map_or(Ok(Message::Part), |whole| self.read_whole(id, &whole))
            }
        }
    }

    fn read_whole(&self, id: TaskId, text: &str) -> Result<Message, Rejected> {
        match Incoming::parse(text)? {
            Incoming::Task(text) => self.task(id, text),
            Incoming::Control(control) => Ok(Message::Control(control)),
            Incoming::Chunk(_) => Err(Rejected::message("a chunk holds a message and not another chunk")),
        }
    }

    fn task(&self, id: TaskId, text: &str) -> Result<Message, Rejected> {
        read_task_as(self.yard.registry(), id, text).map(Arc::new).map(Message::Task)
    }
}

/// Whether a task was taken in.
pub type TaskAnswer = Result<Accepted, SubmitError>;

/// Tasks that are submitted until none of them meets a full board.
struct Patience {
    /// Nor a store that fails.
    for_the_store: bool,
    /// The tasks to submit next, and their places.
    open: Vec<(usize, Arc<Task>)>,
    answers: Vec<Option<TaskAnswer>>,
    pause: Option<Duration>,
    waits: Option<WaitsForRoom>,
}

impl Patience {
    fn new(tasks: Vec<Arc<Task>>) -> Self {
        let answers = tasks.iter().map(|_| None).collect();
        let open = tasks.into_iter().enumerate().collect();
        Self { for_the_store: false, open, answers, pause: None, waits: None }
    }

    /// What to submit next; waits before it is submitted again.
    async fn next(&mut self, status: &Arc<Status>) -> Option<Vec<Arc<Task>>> {
        if self.open.is_empty() {
            return None;
        }
        if let Some(pause) = self.pause {
            self.waits.get_or_insert_with(|| status.wait_for_room());
            tokio::time::sleep(pause).await;
        }
        Some(self.open.iter().map(|(_, task)| Arc::clone(task)).collect())
    }

    fn answered(&mut self, answers: Vec<TaskAnswer>) {
        let before = self.open.len();
        for ((place, task), answer) in std::mem::take(&mut self.open).into_iter().zip(answers) {
            match answer {
                Err(error) if self.is_worth_waiting(&error.why) => self.open.push((place, task)),
                answer => self.answers[place] = Some(answer),
            }
        }
        let stuck = self.open.len() == before;
        let longer = self.pause.filter(|_| stuck).map(|pause| (pause * 2).min(LONGEST_PAUSE));
        self.pause = Some(longer.unwrap_or(FIRST_PAUSE));
    }

    fn is_worth_waiting(&self, why: &NotTaken) -> bool {
        match why {
            NotTaken::Refused(SubmitRefusal::Board(Refusal::Full)) => true,
            NotTaken::Refused(SubmitRefusal::Store(_)) => self.for_the_store,
            _ => false,
        }
    }

    fn answers(self) -> Vec<TaskAnswer> {
        self.answers.into_iter().flatten().collect()
    }
}
