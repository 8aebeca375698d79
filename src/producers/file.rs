//! Tasks from a file of JSON lines, or from standard input. What becomes of each line is told to whoever follows.

use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt as _;
use taskyard_core::TaskId;
use taskyard_core::conductor::{Accepted, SubmitRefusal};
use taskyard_core::task::Task;
use tokio::fs::File;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use super::batch::Run;
use super::intake::{Intake, Message};
use super::lines::{Line, LineError, lines};
use super::{Producer, ProducerError};
use crate::errors::{NotTaken, SubmitError};
use crate::ids::fresh_id;
use crate::task_handle::BatchHandle;

/// How many lines are submitted together.
const BATCH: usize = 1_000;

/// Where the lines are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard input, `-` on a command line.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// What became of lines.
#[derive(Debug)]
pub enum LineNews {
    /// Can't be read, and why.
    Bad {
        /// Its number.
        line: u64,
        /// Why.
        why: String,
    },
    /// Was read and not taken.
    NotTaken {
        /// Its number.
        line: u64,
        /// Why.
        error: SubmitError,
    },
    /// Were taken.
    Taken {
        /// The lines with their tasks.
        lines: Vec<(u64, Arc<Task>, Accepted)>,
        /// These follow them.
        batches: Vec<BatchHandle>,
    },
}

/// Pulls tasks from JSON lines.
#[derive(Debug)]
pub struct JsonLines {
    source: Source,
    news: mpsc::Sender<LineNews>,
    run: Option<Run>,
    /// Whether each line is dealt with for good: posted, or refused in a way that another look would not change.
    all_taken: bool,
    /// The number of the last line that was dealt with: where to go on after a failure.
    done: u64,
}

impl JsonLines {
    /// Lines from `source`, reported to `news`; a reporter that is behind holds them up.
    pub fn new(source: Source, news: mpsc::Sender<LineNews>) -> Self {
        Self { source, news, run: None, all_taken: true, done: 0 }
    }

    /// As a run: its tasks belong to a batch, and lines that bring no id have the same one whenever the run is gone on with.
    pub fn of_run(self, run: Run) -> Self {
        Self { run: Some(run), ..self }
    }

    /// What its source is called.
    pub fn name(&self) -> String {
        match &self.source {
            Source::Stdin => "standard input".into(),
            Source::File(path) => path.display().to_string(),
        }
    }

    async fn pull<R: AsyncRead + Send + Unpin>(
        &mut self,
        source: R,
        intake: &Intake,
    ) -> Result<(), ProducerError> {
        // A file begins anew with its first line, standard input where it broke off.
        let (skipped, before) = match self.source {
            Source::File(_) => (self.done, 0),
            Source::Stdin => (0, self.done),
        };
        let mut batches = lines(source).ready_chunks(BATCH);
        while let Some(batch) = batches.next().await {
            let batch: Result<Vec<_>, _> = batch.into_iter().collect();
            let batch = batch.map_err(|error| ProducerError::source(self.name(), error))?;
            let new = batch.into_iter().filter(|line| number(line) > skipped);
            self.take_in(new.collect(), before, intake).await;
        }
        if intake.incomplete() > 0 {
            let why = format!("messages in chunks that are not complete at the end: {}", intake.incomplete());
            self.tell(LineNews::Bad { line: self.done, why }).await;
        }
        Ok(())
    }

    async fn take_in(&mut self, batch: Vec<Result<Line, LineError>>, before: u64, intake: &Intake) {
        let mut read = Vec::with_capacity(batch.len());
        for line in batch {
            self.done = before + number(&line);
            let id = self.run.map_or_else(fresh_id, |run| run.id(self.done));
            match task(line, id, intake) {
                Ok(Some(task)) => read.push((self.done, task)),
                Ok(None) => {}
                Err(why) => self.tell(LineNews::Bad { line: self.done, why }).await,
            }
        }
        let tasks = read.iter().map(|(_, task)| Arc::clone(task)).collect();
        let taken = intake.submit(tasks, self.run.map(|run| run.batch())).await;
        let mut lines = Vec::with_capacity(read.len());
        for ((line, task), answer) in read.into_iter().zip(taken.answers) {
            match answer {
                Ok(accepted) => lines.push((line, task, accepted)),
                Err(error) => {
                    self.all_taken &= is_final(&error.why);
                    self.tell(LineNews::NotTaken { line, error }).await;
                }
            }
        }
        self.tell(LineNews::Taken { lines, batches: taken.batches }).await;
    }

    async fn tell(&self, news: LineNews) {
        // Nobody follows: the tasks go on without.
        drop(self.news.send(news).await);
    }
}

impl Producer for JsonLines {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        match &self.source {
            Source::Stdin => self.pull(tokio::io::stdin(), intake).await?,
            Source::File(path) => {
                let file =
                    File::open(path).await.map_err(|error| ProducerError::source(self.name(), error))?;
                self.pull(file, intake).await?;
            }
        }
        match self.run.filter(|_| self.all_taken) {
            Some(run) => Ok(run.seal(intake.yard()).await?),
            None => Ok(()),
        }
    }
}

/// Whether the same line would be refused again. If not, its run is not over.
fn is_final(why: &NotTaken) -> bool {
    let passes = matches!(why, NotTaken::Refused(SubmitRefusal::Draining | SubmitRefusal::Store(_)));
    !passes && !matches!(why, NotTaken::Unanswered(_))
}

fn number(line: &Result<Line, LineError>) -> u64 {
    match line {
        Ok(Line { number, .. }) | Err(LineError::TooLong { number } | LineError::NotUtf8 { number }) => {
            *number
        }
    }
}

/// The task of a line; `None` for a chunk whose message is not complete.
fn task(line: Result<Line, LineError>, id: TaskId, intake: &Intake) -> Result<Option<Arc<Task>>, String> {
    let line = line.map_err(|error| {
        intake.refuse();
        error.to_string()
    })?;
    match intake.read_as(id, &line.text) {
        Ok(Message::Task(task)) => Ok(Some(task)),
        Ok(Message::Part) => Ok(None),
        Ok(Message::Control(_)) => Err("only tasks may stand here, no control commands".into()),
        Err(rejected) => Err(rejected.to_string()),
    }
}
