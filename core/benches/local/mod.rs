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
use taskyard_core::{Machine, Now, TaskId};

const POOL: PoolId = PoolId(0);
const NOW: Now = Now { mono: Instant64(1), wall: Timestamp(1_700_000_000_000_000) };

pub(crate) fn lane() -> Arc<Lane> {
    Arc::new(Lane { namespace: "bench.noop".parse().unwrap(), name: "bench.noop".parse().unwrap() })
}

pub(crate) fn task(lane: &Arc<Lane>, number: u64, change: impl Fn(&mut Task)) -> Arc<Task> {
    let mut task = Task {
        id: TaskId(u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        lane: Arc::clone(lane),
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

/// A machine with the mail that waits for it.
struct Seat<M: Machine> {
    machine: M,
    inbox: Vec<M::Event>,
    effects: Vec<M::Effect>,
}

impl<M: Machine> Seat<M>
where
    M::Effect: Into<Mail>,
{
    fn new(machine: M) -> Self {
        Self { machine, inbox: Vec::new(), effects: Vec::new() }
    }

    /// A turn with all mail that waits, as an actor takes it.
    fn turn(&mut self, out: &mut Vec<Mail>) {
        if self.inbox.is_empty() {
            return;
        }
        for event in self.inbox.drain(..) {
            self.machine.handle(NOW, event, &mut self.effects);
        }
        self.machine.end_turn(NOW, &mut self.effects);
        out.extend(self.effects.drain(..).map(Into::into));
    }
}

pub(crate) struct Local {
    conductor: Seat<Paired<Conductor, Board>>,
    delayer: Seat<Delayer>,
    blocker: Seat<Blocker>,
    in_progress: Seat<InProgress>,
    queuer: Seat<Queuer>,
    pool: Seat<Pool>,
    mail: Vec<Mail>,
    succeeds: bool,
    pub(crate) outcomes: usize,
}

impl Local {
    /// With a slot count above 1 every task succeeds at once; with 1 the first task keeps the only slot for ever.
    pub(crate) fn new(slots: u32) -> Self {
        let names = vec!["bench.noop".parse().unwrap()];
        let mut router = Router::default();
        router.bind(POOL, &["#".parse().unwrap()], Some(&names));
        let most = 2_000_000;
        let conductor =
            conductor::Settings { live_max: most, near_max: most, ..conductor::Settings::default() };
        let conductor = Conductor::new(conductor, 1, Arc::new(LiveIndex::default()));
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
        let mut pool = Seat::new(Pool::new(POOL, settings));
        pool.machine.start(NOW, &mut pool.effects);
        let mut local = Self {
            conductor: Seat::new(Paired::new(conductor, board)),
            delayer: Seat::new(Delayer::default()),
            blocker: Seat::new(Blocker::default()),
            in_progress: Seat::new(InProgress::default()),
            queuer: Seat::new(Queuer::new(router)),
            pool,
            mail: Vec::new(),
            succeeds: slots > 1,
            outcomes: 0,
        };
        let report = Report::Ready { concurrency: slots, ahead: 0, names };
        local.pool.inbox.push(pool::Event::Worker { worker: 1, report });
        local.carry();
        local
    }

    pub(crate) fn tell(&mut self, event: conductor::Event) {
        self.conductor.inbox.push(event);
        self.carry();
    }

    fn carry(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        loop {
            self.conductor.turn(&mut mail);
            self.deliver(&mut mail);
            self.delayer.turn(&mut mail);
            self.deliver(&mut mail);
            self.blocker.turn(&mut mail);
            self.deliver(&mut mail);
            self.queuer.turn(&mut mail);
            self.deliver(&mut mail);
            self.pool.turn(&mut mail);
            self.deliver(&mut mail);
            self.in_progress.turn(&mut mail);
            self.deliver(&mut mail);
            if self.is_quiet() {
                self.mail = mail;
                return;
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.conductor.inbox.is_empty()
            && self.delayer.inbox.is_empty()
            && self.blocker.inbox.is_empty()
            && self.in_progress.inbox.is_empty()
            && self.queuer.inbox.is_empty()
            && self.pool.inbox.is_empty()
    }

    fn deliver(&mut self, mail: &mut Vec<Mail>) {
        for mail in mail.drain(..) {
            match mail {
                Mail::Conductor(event) => self.conductor.inbox.push(event),
                Mail::Delayer(event) => self.delayer.inbox.push(event),
                Mail::Blocker(event) => self.blocker.inbox.push(event),
                Mail::InProgress(event) => self.in_progress.inbox.push(event),
                Mail::Queuer(event) => self.queuer.inbox.push(event),
                Mail::Pool(_, event) => self.pool.inbox.push(event),
                Mail::Worker(worker, Command::Run { live, .. }) if self.succeeds => {
                    self.succeed(worker, live.task.id);
                }
                Mail::Answer(_, Answer::Outcome(..)) => self.outcomes += 1,
                Mail::Board(_) | Mail::Lease(_) | Mail::Worker(..) | Mail::Answer(..) | Mail::Happened(_) => {
                }
            }
        }
    }

    fn succeed(&mut self, worker: WorkerId, id: TaskId) {
        let null: Arc<str> = "null".into();
        for report in [Report::Started { id }, Report::Done { id, end: WorkerEnd::Succeeded(null) }] {
            self.pool.inbox.push(pool::Event::Worker { worker: worker.number, report });
        }
    }
}
