//! Follows the tasks of a file, line by line, to their ends.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use taskyard::core::TaskId;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::Refusal;
use taskyard::producers::file::LineNews;
use taskyard::{BatchHandle, Ended, NotTaken, Yard, YardDown};

use crate::summary::{How, Problem, Summary};

/// The next end of a batch, and the batch.
pub(crate) type Next = (Result<Option<Ended>, YardDown>, BatchHandle);

/// The lines that were read, and those whose tasks have not ended.
pub(crate) struct Tracker {
    yard: Yard,
    following: FuturesUnordered<BoxFuture<'static, Next>>,
    open: HashMap<TaskId, Vec<Open>>,
    /// Cancelled since nobody takes them.
    unroutable: BTreeSet<TaskId>,
    lines: u64,
    total: Arc<OnceLock<u64>>,
    summary: Summary,
}

struct Open {
    line: u64,
    task: String,
    since: Instant,
}

impl Tracker {
    pub(crate) fn new(yard: Yard) -> Self {
        Self {
            yard,
            following: FuturesUnordered::new(),
            open: HashMap::new(),
            unroutable: BTreeSet::new(),
            lines: 0,
            total: Arc::default(),
            summary: Summary::default(),
        }
    }

    /// How many tasks there are, once all lines are read.
    pub(crate) fn total(&self) -> Arc<OnceLock<u64>> {
        Arc::clone(&self.total)
    }

    /// No more lines come.
    pub(crate) fn all_read(&self) {
        self.total.get_or_init(|| self.lines);
    }

    /// What became of lines.
    pub(crate) fn hear(&mut self, news: LineNews) {
        match news {
            LineNews::Bad { line, why } => self.summary.problem(Problem::of_line(line, How::BadLine, why)),
            LineNews::NotTaken { line, error } => {
                let unroutable = NotTaken::Refused(SubmitRefusal::Board(Refusal::Unroutable));
                let how = if error.why == unroutable { How::Unroutable } else { How::NotTaken };
                self.summary.problem(Problem {
                    id: Some(error.task.id),
                    task: error.task.name().to_string(),
                    ..Problem::of_line(line, how, error.why.to_string())
                });
            }
            LineNews::Taken { lines, batches } => {
                self.lines += lines.len() as u64;
                let since = Instant::now();
                for (line, task, accepted) in lines {
                    let open = Open { line, task: task.name().to_string(), since };
                    self.open.entry(accepted.id).or_default().push(open);
                }
                self.following.extend(batches.into_iter().map(next));
            }
        }
    }

    /// Nobody takes these; they are about to be cancelled.
    pub(crate) fn unroutable(&mut self, ids: &[TaskId]) {
        self.unroutable.extend(ids);
    }

    /// Whether any task has not ended.
    pub(crate) fn is_following(&self) -> bool {
        !self.following.is_empty()
    }

    /// Waits for the next end, if there is one to wait for. Dropping the future loses nothing; what it gives must be
    /// [taken in](Self::take_in).
    pub(crate) async fn next(&mut self) -> Option<Next> {
        self.following.next().await
    }

    /// Takes an end in.
    pub(crate) fn take_in(&mut self, (ended, batch): Next) {
        if let Ok(Some(ended)) = ended {
            self.following.push(next(batch));
            self.ended(ended);
        }
    }

    /// Takes in all ends that came before the yard's.
    pub(crate) async fn follow_to_the_end(&mut self) {
        while let Some(next) = self.next().await {
            self.take_in(next);
        }
    }

    /// Asks how many attempts each problem had, while the yard still knows.
    pub(crate) async fn ask_for_attempts(&mut self) {
        for problem in self.summary.problems_mut() {
            if let Some(id) = problem.id {
                let view = self.yard.get(id).await.ok().flatten();
                problem.attempts = view.map(|view| view.attempts);
            }
        }
    }

    /// What never ended was not run to its end.
    pub(crate) fn into_summary(mut self) -> Summary {
        let mut left: Vec<_> =
            self.open.drain().flat_map(|(id, all)| all.into_iter().map(move |open| (id, open))).collect();
        left.sort_by_key(|(_, open)| open.line);
        for (id, open) in left {
            self.summary.problem(open.problem(id, How::NotRun, "the supervisor ended first".into()));
        }
        self.summary
    }

    fn ended(&mut self, ended: Ended) {
        let Some(open) = self.open.get_mut(&ended.id).and_then(Vec::pop) else { return };
        if self.open.get(&ended.id).is_some_and(Vec::is_empty) {
            self.open.remove(&ended.id);
        }
        let (how, why) = match ended.outcome {
            Some(Outcome::Cancelled) if self.unroutable.contains(&ended.id) => {
                (How::Unroutable, "no pool's workers know it".into())
            }
            outcome => How::read(outcome.as_ref()),
        };
        if how == How::Succeeded {
            return self.summary.count(how);
        }
        self.summary.problem(open.problem(ended.id, how, why));
    }
}

impl Open {
    fn problem(self, id: TaskId, how: How, why: String) -> Problem {
        Problem {
            line: self.line,
            id: Some(id),
            task: self.task,
            how,
            why,
            attempts: None,
            took: Some(self.since.elapsed()),
        }
    }
}

fn next(mut batch: BatchHandle) -> BoxFuture<'static, Next> {
    Box::pin(async move { (batch.next().await, batch) })
}
