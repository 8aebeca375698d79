//! All machines in one place, mail carried at once, workers that succeed at once (or never, with one slot).

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::blocker::Blocker;
use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{self, Answer, Conductor};
use taskyard_core::delayer::Delayer;
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::in_progress::InProgress;
use taskyard_core::live::LiveIndex;
use taskyard_core::names::Lane;
use taskyard_core::paired::Paired;
use taskyard_core::pool::{self, Pool};
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;
use taskyard_core::task::{Body, Due, KeyLimits, Priority, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::wiring::Mail;
use taskyard_core::worker::{Command, Report, WorkerEnd};
use taskyard_core::{Machine, Now, TaskId, blocker, delayer, in_progress, queuer};

const POOL: PoolId = PoolId(0);
const NOW: Now = Now { mono: Instant64(1), wall: Timestamp(1_700_000_000_000_000) };

pub(crate) fn task(number: u64, change: impl Fn(&mut Task)) -> Arc<Task> {
    let mut task = Task {
        id: TaskId(u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        lane: Lane { namespace: "bench.noop".parse().unwrap(), name: "bench.noop".parse().unwrap() },
        body: Body::new("{}".into(), 0..0, 0..0).unwrap(),
        due: Due::Now,
        expires: None,
        timeout: None,
        key: None,
        limits: KeyLimits::PARALLEL,
        priority: Priority::default(),
        retry: None,
        extras: None,
    };
    change(&mut task);
    Arc::new(task)
}

pub(crate) struct Local {
    conductor: Paired<Conductor, Board>,
    delayer: Delayer,
    blocker: Blocker,
    in_progress: InProgress,
    queuer: Queuer,
    pool: Pool,
    mail: Waiting,
}

impl Local {
    /// With a slot count above 1 every task succeeds at once; with 1 the first task keeps the only slot for ever.
    pub(crate) fn new(slots: u32) -> Self {
        let names = vec!["bench.noop".parse().unwrap()];
        let mut router = Router::default();
        router.bind(POOL, &["#".parse().unwrap()], Some(&names));
        let most = 2_000_000;
        let conductor = Conductor::new(
            conductor::Settings { live_max: most, near_max: most, ..conductor::Settings::default() },
            1,
            Arc::new(LiveIndex::default()),
        );
        let board =
            Board::new(board::Settings { board_max: most, ..board::Settings::default() }, router.clone());
        let settings = pool::Settings {
            min: 1,
            max: 1,
            concurrency: slots,
            names: Some(names.clone()),
            idle_for: Duration::from_secs(1_000),
            ..pool::Settings::default()
        };
        let mut local = Self {
            conductor: Paired::new(conductor, board),
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(router),
            pool: Pool::new(POOL, settings),
            mail: Waiting { succeeds: slots > 1, ..Waiting::default() },
        };
        let mut effects = Vec::new();
        local.pool.start(NOW, &mut effects);
        effects.into_iter().for_each(|effect| local.mail.post(effect.into()));
        let report = Report::Ready { concurrency: slots, ahead: 0, names };
        local.mail.post(Mail::Pool(POOL, pool::Event::Worker { worker: 1, report }));
        local.carry();
        local
    }

    pub(crate) fn tell(&mut self, event: conductor::Event) {
        self.mail.conductor.push(event);
        self.carry();
    }

    /// Machine by machine a turn with all mail that waits for it, as the actors do.
    fn carry(&mut self) {
        let out = &mut self.mail;
        while !out.is_empty() {
            turn(out, |mail| &mut mail.conductor, &mut self.conductor);
            turn(out, |mail| &mut mail.delayer, &mut self.delayer);
            turn(out, |mail| &mut mail.blocker, &mut self.blocker);
            turn(out, |mail| &mut mail.queuer, &mut self.queuer);
            turn(out, |mail| &mut mail.pool, &mut self.pool);
            turn(out, |mail| &mut mail.in_progress, &mut self.in_progress);
        }
    }

    pub(crate) fn outcomes(&self) -> usize {
        self.mail.outcomes
    }
}

/// What waits for whom.
#[derive(Default)]
struct Waiting {
    conductor: Vec<conductor::Event>,
    delayer: Vec<delayer::Event>,
    blocker: Vec<blocker::Event>,
    in_progress: Vec<in_progress::Event>,
    queuer: Vec<queuer::Event>,
    pool: Vec<pool::Event>,
    succeeds: bool,
    outcomes: usize,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.conductor.is_empty()
            && self.delayer.is_empty()
            && self.blocker.is_empty()
            && self.in_progress.is_empty()
            && self.queuer.is_empty()
            && self.pool.is_empty()
    }

    fn post(&mut self, mail: Mail) {
        match mail {
            Mail::Conductor(event) => self.conductor.push(event),
            Mail::Delayer(event) => self.delayer.push(event),
            Mail::Blocker(event) => self.blocker.push(event),
            Mail::InProgress(event) => self.in_progress.push(event),
            Mail::Queuer(event) => self.queuer.push(event),
            Mail::Pool(_, event) => self.pool.push(event),
            Mail::Worker(worker, Command::Run { live, .. }) if self.succeeds => {
                self.succeed(worker, live.task.id)
            }
            Mail::Answer(_, Answer::Outcome(..)) => self.outcomes += 1,
            Mail::Board(_) | Mail::Worker(..) | Mail::Answer(..) | Mail::Happened(_) => {}
        }
    }

    fn succeed(&mut self, worker: WorkerId, id: TaskId) {
        let null: Arc<str> = "null".into();
        for report in [Report::Started { id }, Report::Done { id, end: WorkerEnd::Succeeded(null) }] {
            self.pool.push(pool::Event::Worker { worker: worker.number, report });
        }
    }
}

fn turn<M: Machine>(
    waiting: &mut Waiting,
    queue: impl Fn(&mut Waiting) -> &mut Vec<M::Event>,
    machine: &mut M,
) where
    M::Effect: Into<Mail>,
{
    let mut events = std::mem::take(queue(waiting));
    if events.is_empty() {
        return;
    }
    let mut effects = Vec::with_capacity(events.len());
    for event in events.drain(..) {
        machine.handle(NOW, event, &mut effects);
    }
    machine.end_turn(NOW, &mut effects);
    *queue(waiting) = events;
    effects.into_iter().for_each(|effect| waiting.post(effect.into()));
}
