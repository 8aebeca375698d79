//! Workers as the world models them: they come to be or not, run, answer, answer twice, ignore and die.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::TaskError;
use taskyard_core::id::WorkerId;
use taskyard_core::live::Live;
use taskyard_core::worker::{Command, Report, Signal, WorkerEnd};

use crate::rng::Rng;

/// What a worker will do at a time of its own.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    GetReady,
    Finish(TaskId),
    GiveIn(TaskId),
    Die(&'static str),
}

#[derive(Debug, Default)]
struct Worker {
    concurrency: u32,
    ahead: u32,
    running: BTreeMap<TaskId, Arc<Live>>,
    waiting: VecDeque<Arc<Live>>,
    stopping: bool,
    /// It broke the protocol: the pool reads nothing more of it, and what it still starts may run again elsewhere.
    faulty: bool,
    /// Some of its tasks run for longer than a lease holds.
    long: bool,
}

/// All workers that exist.
pub(crate) struct Workers {
    all: BTreeMap<WorkerId, Worker>,
    pub(crate) faults: bool,
    /// Whether some tasks run for longer than a lease holds.
    long: bool,
}

/// What came of a step: reports to the pool, and what happens later (in microseconds).
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) reports: Vec<Report>,
    pub(crate) later: Vec<(i64, Act)>,
    pub(crate) started: Vec<Arc<Live>>,
    pub(crate) stopped: Vec<Arc<Live>>,
}

impl Workers {
    pub(crate) fn new(faults: bool, long: bool) -> Self {
        Self { all: BTreeMap::new(), faults, long }
    }

    pub(crate) fn command(&mut self, rng: &mut Rng, id: WorkerId, command: Command) -> Outcome {
        let mut outcome = Outcome::default();
        if let Command::Launch = command {
            let shape = rng.pick(&[(1, 0), (1, 4), (2, 0), (3, 2)]);
            let (concurrency, ahead) = shape;
            let long = self.long;
            self.all.insert(id, Worker { concurrency, ahead, long, ..Worker::default() });
            let never = self.faults && rng.permille(100);
            let act = if never { Act::Die("exit status 1") } else { Act::GetReady };
            outcome.later.push((1_000 + rng.below(400_000) as i64, act));
            return outcome;
        }
        // A worker that died reads nothing any more.
        let Some(worker) = self.all.get_mut(&id) else { return outcome };
        match command {
            Command::Launch => {}
            Command::Run { live, .. } => {
                let held = worker.running.len() + worker.waiting.len();
                assert!(held < (worker.concurrency + worker.ahead) as usize, "a slot got two tasks");
                worker.waiting.push_back(live);
                start_next(rng, worker, &mut outcome);
            }
            Command::Cancel { id, .. } => {
                if worker.running.contains_key(&id) && rng.permille(600) {
                    outcome.later.push((rng.below(100_000) as i64, Act::GiveIn(id)));
                }
            }
            Command::Recall { id } => {
                if let Some(place) = worker.waiting.iter().position(|live| live.task.id == id) {
                    worker.waiting.remove(place);
                    outcome.reports.push(Report::Returned { id });
                }
            }
            Command::Stop => {
                worker.stopping = true;
                if worker.running.is_empty() && worker.waiting.is_empty() {
                    outcome.later.push((rng.below(10_000) as i64, Act::Die("exit status 0")));
                }
            }
            Command::Signal(Signal::Term) => {
                if rng.permille(500) {
                    outcome.later.push((rng.below(200_000) as i64, Act::Die("signal 15")));
                }
            }
            Command::Signal(Signal::Kill) => {
                outcome.later.push((rng.below(5_000) as i64, Act::Die("signal 9")));
            }
        }
        outcome
    }

    pub(crate) fn act(&mut self, rng: &mut Rng, id: WorkerId, act: Act) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(worker) = self.all.get_mut(&id) else { return outcome };
        match act {
            Act::GetReady => {
                let names = vec!["one".parse().unwrap(), "two".parse().unwrap()];
                let (concurrency, ahead) = (worker.concurrency, worker.ahead);
                outcome.reports.push(Report::Ready { concurrency, ahead, names });
                if self.faults && rng.permille(150) {
                    outcome.later.push((rng.below(2_000_000) as i64, Act::Die("signal 9")));
                }
            }
            Act::Finish(task) => finish(rng, worker, task, None, self.faults, &mut outcome),
            Act::GiveIn(task) => finish(rng, worker, task, Some(WorkerEnd::Cancelled), false, &mut outcome),
            Act::Die(status) => {
                let worker = self.all.remove(&id).unwrap();
                outcome.stopped.extend(worker.running.into_values());
                outcome.reports.push(Report::Exited { status: status.into(), output: String::new() });
            }
        }
        outcome
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Arc<Live>> {
        self.all.values().flat_map(|worker| worker.running.values())
    }
}

fn start_next(rng: &mut Rng, worker: &mut Worker, outcome: &mut Outcome) {
    while worker.running.len() < worker.concurrency as usize
        && let Some(live) = worker.waiting.pop_front()
    {
        let id = live.task.id;
        outcome.reports.push(Report::Started { id });
        if !worker.faulty {
            outcome.started.push(Arc::clone(&live));
        }
        worker.running.insert(id, live);
        let run = match rng.below(100) {
            0..=69 => rng.below(900),
            70..=82 if worker.long => rng.below(12_000_000),
            _ => rng.below(800_000),
        };
        outcome.later.push((run as i64, Act::Finish(id)));
    }
}

fn finish(
    rng: &mut Rng,
    worker: &mut Worker,
    id: TaskId,
    end: Option<WorkerEnd>,
    faults: bool,
    outcome: &mut Outcome,
) {
    let Some(live) = worker.running.remove(&id) else { return };
    outcome.stopped.push(live);
    let end = end.unwrap_or_else(|| match rng.below(10) {
        0 => WorkerEnd::Failed(Box::new(error(true))),
        1 => WorkerEnd::Failed(Box::new(error(false))),
        2 if rng.permille(300) => WorkerEnd::Snoozed(std::time::Duration::from_millis(rng.below(3_000))),
        _ => WorkerEnd::Succeeded("null".into()),
    });
    outcome.reports.push(Report::Done { id, end: end.clone() });
    if faults && rng.permille(20) {
        outcome.reports.push(Report::Done { id, end });
        worker.faulty = true;
    }
    start_next(rng, worker, outcome);
    if worker.stopping && worker.running.is_empty() && worker.waiting.is_empty() {
        outcome.later.push((rng.below(10_000) as i64, Act::Die("exit status 0")));
    }
}

fn error(retry: bool) -> TaskError {
    TaskError { kind: "drawn".into(), message: "by the seed".into(), trace: None, retry }
}
