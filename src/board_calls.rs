//! What the board alone answers: tasks, counts, the trash, owners, schedules and batches. Each question is put to
//! the Conductor, which passes it on; nothing is decided here.

use taskyard_core::TaskId;
use taskyard_core::store::{
    Answer, BatchId, BatchState, Counts, Filter, NewRow, OwnerView, Request, ScheduleState, TaskView, Ticked,
};
use taskyard_core::time::Timestamp;

use crate::errors::AskError;
use crate::yard::Yard;

/// How many tasks of the trash are put back or forgotten in one write.
const CHUNK: usize = 1_000;

impl Yard {
    /// One task as the board has it, if it is known, with the log of its passes from the first one that went wrong.
    pub async fn get(&self, id: TaskId) -> Result<Option<TaskView>, AskError> {
        match self.query(Request::Get(id)).await? {
            Answer::Task(task) => Ok(task.map(|task| *task)),
            _ => Err(AskError::Confused),
        }
    }

    /// Unfinished tasks in order of arrival: at most `limit` that the filter picks, after the sequence `after` (0: from the
    /// first). With them comes where to go on, if there may be more: a board looks at a bounded number of tasks for one
    /// answer, so a page may be short, or empty, and not the last one.
    ///
    /// ```
    /// # use taskyard::{AskError, Yard, core::store::Filter};
    /// # async fn example(yard: &Yard) -> Result<(), AskError> {
    /// let filter = Filter { namespace: "mail.#".parse().ok(), ..Filter::default() };
    /// let mut next = Some(0);
    /// while let Some(after) = next {
    ///     let (tasks, more) = yard.list(filter.clone(), after, 100).await?;
    ///     tasks.iter().for_each(|task| println!("{} {:?}", task.id, task.state));
    ///     next = more;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list(
        &self,
        filter: Filter,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<TaskView>, Option<u64>), AskError> {
        match self.query(Request::List { filter, after, limit }).await? {
            Answer::Tasks { tasks, more } => Ok((tasks, more)),
            _ => Err(AskError::Confused),
        }
    }

    /// How many tasks are where.
    pub async fn counts(&self) -> Result<Counts, AskError> {
        match self.query(Request::Count).await? {
            Answer::Counts(counts) => Ok(counts),
            _ => Err(AskError::Confused),
        }
    }

    /// How many unfinished tasks of those that the filter picks are where. What comes or goes while it counts may be in it or
    /// not: a board looks at some ten thousand tasks at a time, unless it keeps the numbers of whole namespaces, as the one in
    /// a file does. The trash is not counted.
    pub async fn counts_of(&self, filter: Filter) -> Result<Counts, AskError> {
        let (mut counts, mut next) = (Counts::default(), Some(0));
        while let Some(after) = next {
            match self.query(Request::CountOf { filter: filter.clone(), after }).await? {
                Answer::Counted { counts: page, more } => (counts, next) = (counts + page, more),
                _ => return Err(AskError::Confused),
            }
        }
        Ok(counts)
    }

    /// Tasks in the trash in the order in which they got there: at most `limit` that the filter picks, after the place
    /// `after` (0: from the first). With them comes where to go on, if there may be more.
    pub async fn trash(
        &self,
        filter: Filter,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<TaskView>, Option<u64>), AskError> {
        match self.query(Request::ListTrash { filter, after, limit }).await? {
            Answer::Tasks { tasks, more } => Ok((tasks, more)),
            _ => Err(AskError::Confused),
        }
    }

    /// Takes all that the filter picks out of the trash and posts it again, due at once. How many there were.
    pub async fn requeue(&self, filter: Filter) -> Result<usize, AskError> {
        // What fails again meanwhile is in the trash anew: not more than there was is taken out.
        let there = self.counts().await?.trashed;
        let mut requeued = 0;
        loop {
            match self.query(Request::Requeue { filter: filter.clone(), up_to: CHUNK }).await? {
                Answer::Requeued { ids, more } => {
                    requeued += ids.len();
                    if !more || requeued >= there {
                        return Ok(requeued);
                    }
                }
                _ => return Err(AskError::Confused),
            }
        }
    }

    /// Forgets all in the trash that the filter picks. How many there were.
    pub async fn purge(&self, filter: Filter) -> Result<usize, AskError> {
        let mut purged = 0;
        loop {
            match self.query(Request::Purge { filter: filter.clone(), up_to: CHUNK }).await? {
                Answer::Purged { tasks, more } => {
                    purged += tasks;
                    if !more {
                        return Ok(purged);
                    }
                }
                _ => return Err(AskError::Confused),
            }
        }
    }

    /// The dispatchers that share the board. None if it is not shared.
    pub async fn owners(&self) -> Result<Vec<OwnerView>, AskError> {
        match self.query(Request::Owners).await? {
            Answer::Owners(owners) => Ok(owners),
            _ => Err(AskError::Confused),
        }
    }

    /// A schedule's state on the board. One that is not there yet is made, and begins at `begin`.
    pub async fn schedule(&self, name: &str, begin: Timestamp) -> Result<ScheduleState, AskError> {
        match self.query(Request::Schedule { name: name.into(), begin }).await? {
            Answer::Schedule(Some(state)) => Ok(state),
            _ => Err(AskError::Confused),
        }
    }

    /// Posts what is due of a schedule and moves it on from `from` to `to`, in one write: once across all dispatchers that
    /// share the board, whoever is first.
    pub async fn tick(
        &self,
        name: &str,
        from: Timestamp,
        to: Timestamp,
        rows: Vec<NewRow>,
    ) -> Result<Ticked, AskError> {
        match self.query(Request::Tick { name: name.into(), from, to, rows }).await? {
            Answer::Ticked(ticked) => Ok(ticked),
            _ => Err(AskError::Confused),
        }
    }

    /// Pauses a schedule, or lets it go on, for all dispatchers that share the board. `None`: there is none of that name.
    pub async fn pause_schedule(&self, name: &str, paused: bool) -> Result<Option<ScheduleState>, AskError> {
        match self.query(Request::PauseSchedule { name: name.into(), paused }).await? {
            Answer::Schedule(state) => Ok(state),
            _ => Err(AskError::Confused),
        }
    }

    /// All schedules that the board knows, by name.
    pub async fn schedules(&self) -> Result<Vec<ScheduleState>, AskError> {
        match self.query(Request::Schedules).await? {
            Answer::Schedules(schedules) => Ok(schedules),
            _ => Err(AskError::Confused),
        }
    }

    /// A batch of tasks with this content: the unfinished run of it, or a new run. Its tasks come in by
    /// [`submit_tasks_of`](Self::submit_tasks_of).
    pub async fn open_batch(&self, hash: [u8; 32]) -> Result<BatchState, AskError> {
        match self.query(Request::OpenBatch { hash }).await? {
            Answer::Batch(state) => Ok(state),
            _ => Err(AskError::Confused),
        }
    }

    /// All tasks of the batch are posted: its run is finished with the last of them.
    pub async fn seal_batch(&self, batch: BatchId) -> Result<(), AskError> {
        match self.query(Request::SealBatch(batch)).await? {
            Answer::Sealed => Ok(()),
            _ => Err(AskError::Confused),
        }
    }
}
