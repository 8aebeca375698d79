//! All machines in one place, mail carried at once, workers that succeed at once (or never, with one slot).

use std::collections::VecDeque;
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
    mail: VecDeque<Mail>,
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
            mail: VecDeque::new(),
            succeeds: slots > 1,
            outcomes: 0,
        };
        let mut effects = Vec::new();
        local.pool.start(NOW, &mut effects);
        local.mail.extend(effects.into_iter().map(Mail::from));
        let report = Report::Ready { concurrency: slots, ahead: 0, names };
        local.mail.push_back(Mail::Pool(POOL, pool::Event::Worker { worker: 1, report }));
        local.carry();
        local
    }

    pub(crate) fn tell(&mut self, event: conductor::Event) {
        self.mail.push_back(Mail::Conductor(event));
        self.carry();
    }

    /// Turns are ended when the mail for a machine runs out, as a batch of mail ends one in an actor.
    fn carry(&mut self) {
        loop {
            while let Some(mail) = self.mail.pop_front() {
                self.deliver(mail);
            }
            turn(&mut self.mail, |effects| self.conductor.end_turn(NOW, effects));
            turn(&mut self.mail, |effects| self.queuer.end_turn(NOW, effects));
            turn(&mut self.mail, |effects| self.pool.end_turn(NOW, effects));
            if self.mail.is_empty() {
                return;
            }
        }
    }

    fn deliver(&mut self, mail: Mail) {
        let out = &mut self.mail;
        match mail {
            Mail::Conductor(event) => turn(out, |effects| self.conductor.handle(NOW, event, effects)),
            Mail::Delayer(event) => turn(out, |effects| self.delayer.handle(NOW, event, effects)),
            Mail::Blocker(event) => turn(out, |effects| self.blocker.handle(NOW, event, effects)),
            Mail::InProgress(event) => turn(out, |effects| self.in_progress.handle(NOW, event, effects)),
            Mail::Queuer(event) => turn(out, |effects| self.queuer.handle(NOW, event, effects)),
            Mail::Pool(_, event) => turn(out, |effects| self.pool.handle(NOW, event, effects)),
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
            self.mail.push_back(Mail::Pool(POOL, pool::Event::Worker { worker: worker.number, report }));
        }
    }
}

fn turn<E: Into<Mail>>(mail: &mut VecDeque<Mail>, step: impl FnOnce(&mut Vec<E>)) {
    let mut effects = Vec::new();
    step(&mut effects);
    mail.extend(effects.into_iter().map(Into::into));
}
