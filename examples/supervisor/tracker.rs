//! Follows the tasks of a file, line by line, to their ends, and what their ends bring.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use taskyard::core::TaskId;
use taskyard::core::conductor::{Accepted, SubmitRefusal};
use taskyard::core::dispatch::Outcome;
use taskyard::core::names::Lane;
use taskyard::core::store::{Refusal, RowState};
use taskyard::core::task::Task;
use taskyard::producers::file::LineNews;
use taskyard::{BatchHandle, Ended, NotTaken, Yard, YardDown};

use crate::follow_ups::follow_ups;
use crate::progress::Progress;
use crate::summary::{How, Problem, Summary};

/// Something that was waited for; to be [taken in](Tracker::take_in).
pub(crate) enum Next {
    /// The next end of a batch, and the batch.
    End(Result<Option<Ended>, YardDown>, BatchHandle),
    /// What a task's end had brought is over.
    FollowUps,
}

/// The lines that were read, and those whose tasks have not ended.
pub(crate) struct Tracker {
    yard: Yard,
    following: FuturesUnordered<BoxFuture<'static, Next>>,
    open: HashMap<TaskId, Open>,
    /// A task of each lane.
    lanes: BTreeMap<Arc<Lane>, TaskId>,
    /// Cancelled since nobody takes them.
    unroutable: BTreeSet<TaskId>,
    progress: Arc<Progress>,
    /// Lines whose tasks had ended before, and of which it is not told yet how.
    before: u64,
    summary: Summary,
}

/// A line whose task has not ended, as far as is known here. There may be millions: nothing that is not needed.
struct Open {
    line: u64,
    lane: Arc<Lane>,
    since: Instant,
    /// The whole task, if anything may follow its end.
    followed: Option<Arc<Task>>,
    /// It had ended when the line was posted.
    before: bool,
    /// Another line with the same id.
    twin: Option<Box<Open>>,
}

impl Tracker {
    pub(crate) fn new(yard: Yard) -> Self {
        Self {
            yard,
            following: FuturesUnordered::new(),
            open: HashMap::new(),
            lanes: BTreeMap::new(),
            unroutable: BTreeSet::new(),
            progress: Arc::default(),
            before: 0,
            summary: Summary::default(),
        }
    }

    /// How far it is.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// How many lines were done before this run, of how many; once it is known.
    pub(crate) fn done_before(&self) -> Option<(u64, u64)> {
        let lines = self.progress.total().filter(|_| self.before == 0)?;
        Some((self.summary.counted(How::DoneBefore), lines))
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
                let since = Instant::now();
                for (line, task, accepted) in lines {
                    self.taken(line, task, accepted, since);
                }
                self.following.extend(batches.into_iter().map(next));
            }
        }
    }

    fn taken(&mut self, line: u64, task: Arc<Task>, accepted: Accepted, since: Instant) {
        self.progress.taken();
        self.lanes.entry(Arc::clone(&task.lane)).or_insert(task.id);
        let before = accepted.known == Some(RowState::Ended);
        self.before += u64::from(before);
        let twin = self.open.remove(&accepted.id).map(Box::new);
        let open = Open {
            line,
            lane: Arc::clone(&task.lane),
            since,
            followed: task.extras.is_some().then_some(task),
            before,
            twin,
        };
        self.open.insert(accepted.id, open);
    }

    /// Takes out the lanes of which tasks came since the last call, with a task of each.
    pub(crate) fn new_lanes(&mut self) -> impl Iterator<Item = TaskId> + use<> {
        std::mem::take(&mut self.lanes).into_values()
    }

    /// Nobody takes the lane of this task: its open tasks are about to be cancelled.
    pub(crate) fn unroutable(&mut self, like: TaskId) -> Vec<TaskId> {
        let Some(lane) = self.open.get(&like).map(|open| Arc::clone(&open.lane)) else { return Vec::new() };
        let alike = self.open.iter().filter(|(_, open)| open.lane == lane);
        let ids: Vec<_> = alike.map(|(id, _)| *id).collect();
        self.unroutable.extend(&ids);
        ids
    }

    /// Whether anything has not ended.
    pub(crate) fn is_following(&self) -> bool {
        !self.following.is_empty()
    }

    /// Waits for the next end, if there is one to wait for. Dropping the future loses nothing; what it gives must be
    /// [taken in](Self::take_in).
    pub(crate) async fn next(&mut self) -> Option<Next> {
        self.following.next().await
    }

    /// Takes an end in.
    pub(crate) fn take_in(&mut self, next_one: Next) {
        if let Next::End(Ok(Some(ended)), batch) = next_one {
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
            let Some(id) = problem.id else { continue };
            // A store that fails would be waited for each time.
            let Ok(view) = self.yard.get(id).await else { return };
            problem.attempts = view.map(|view| view.attempts);
        }
    }

    /// What never ended was not run to its end.
    pub(crate) fn into_summary(mut self, why_not_run: &str) -> Summary {
        let each = |(id, open): (TaskId, Open)| open.each().into_iter().map(move |open| (id, open));
        let mut left: Vec<_> = self.open.into_iter().flat_map(each).collect();
        left.sort_by_key(|(_, open)| open.line);
        for (id, open) in left {
            self.summary.problem(open.problem(id, How::NotRun, why_not_run.into()));
        }
        self.summary
    }

    fn ended(&mut self, ended: Ended) {
        let Some(mut open) = self.open.remove(&ended.id) else { return };
        if let Some(twin) = open.twin.take() {
            self.open.insert(ended.id, *twin);
        }
        self.progress.ended();
        self.before -= u64::from(open.before);
        if let Some(task) = open.followed.take() {
            let over = follow_ups(self.yard.clone(), task);
            self.following.push(over.map(|()| Next::FollowUps).boxed());
        }
        let (how, why) = match ended.outcome {
            Some(Outcome::Cancelled) if self.unroutable.contains(&ended.id) => {
                (How::Unroutable, "no pool's workers know it".into())
            }
            outcome => How::read(outcome.as_ref()),
        };
        match how {
            How::Succeeded if open.before => self.summary.count(How::DoneBefore),
            How::Succeeded => self.summary.count(how),
            _ => self.summary.problem(open.problem(ended.id, how, why)),
        }
    }
}

impl Open {
    fn each(mut self) -> Vec<Self> {
        let mut twins = self.twin.take().map(|twin| twin.each()).unwrap_or_default();
        twins.push(self);
        twins
    }

    fn problem(self, id: TaskId, how: How, why: String) -> Problem {
        Problem {
            line: self.line,
            id: Some(id),
            task: self.lane.name.to_string(),
            how,
            why,
            attempts: None,
            // Nobody here saw how long it took.
            took: Some(self.since.elapsed()).filter(|_| !self.before),
        }
    }
}

fn next(mut batch: BatchHandle) -> BoxFuture<'static, Next> {
    async move { Next::End(batch.next().await, batch) }.boxed()
}
