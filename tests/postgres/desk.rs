//! A dispatcher's place at the board: a store, an owner, and a clock that may be wrong.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use taskyard::store::postgres::Options;
use taskyard::store::{Durability, Postgres, Setup, Store as _};
use taskyard_core::board::Settings;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::PoolId;
use taskyard_core::router::Router;
use taskyard_core::store::{
    Answer, Ask, Asker, Claimed, Counts, OwnerId, Posted, Registration, Reply, Request, Room, Settle,
    Settlement, Status, StoreError, TaskView,
};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Now, TaskId};

use crate::server::Schema;
use crate::task::{New, id};

/// Takes everything.
pub(crate) const POOL: PoolId = PoolId(0);
const LEASE: Duration = Duration::from_mins(1);

pub(crate) struct Desk {
    pub(crate) store: Postgres,
    pub(crate) owner: OwnerId,
    /// How far its clock is ahead, in microseconds.
    pub(crate) ahead: i64,
    no: u64,
    last: Option<Ask>,
    pub(crate) status: Status,
}

pub(crate) fn options(schema: &Schema) -> Options {
    Options {
        schema: schema.name.parse().unwrap(),
        durability: Durability::Normal,
        // Whatever else this machine does meanwhile.
        patience: Duration::from_secs(30),
        ..Options::new(schema.url.parse().unwrap())
    }
}

impl Desk {
    pub(crate) fn at(schema: &Schema) -> Self {
        Self::opened(options(schema), || {})
    }

    pub(crate) fn opened(options: Options, hint: impl Fn() + Send + 'static) -> Self {
        let mut desk = Self::with(options, hint);
        desk.register();
        desk
    }

    pub(crate) fn unregistered(options: Options) -> Self {
        Self::with(options, || {})
    }

    fn with(options: Options, hint: impl Fn() + Send + 'static) -> Self {
        let mut router = Router::default();
        router.bind(POOL, &["#".parse().unwrap()], Some(&["one", "two"].map(|name| name.parse().unwrap())));
        let board = Settings::default();
        let store = Postgres::open(options, Setup { board, ..Setup::new(router) }, hint).unwrap();
        Self { store, owner: OwnerId::SOLE, ahead: 0, no: 0, last: None, status: Status::default() }
    }

    pub(crate) fn register(&mut self) {
        let (host, version) = ("here".into(), "1".into());
        match self.ask(Request::Register(Registration {
            host,
            pid: 1,
            version,
            lease: LEASE,
            patterns: Vec::new(),
        })) {
            Answer::Registered(owner) => self.owner = owner,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn now(&self) -> Now {
        let wall = Timestamp::from(SystemTime::now());
        Now { mono: Instant64(wall.0), wall: Timestamp(wall.0 + self.ahead) }
    }

    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        self.try_ask(request).expect("the store answers")
    }

    pub(crate) fn try_ask(&mut self, request: Request) -> Result<Answer, StoreError> {
        self.last = Some(self.asked(request));
        self.again()
    }

    /// Has the same question answered twice by one call.
    pub(crate) fn ask_twice_at_once(&mut self, request: Request) -> Vec<Answer> {
        let (ask, now) = (self.asked(request), self.now());
        self.last = Some(ask.clone());
        let replies = self.store.answer(now, &[ask.clone(), ask]);
        replies.into_iter().map(|reply| reply.answer.expect("the store answers")).collect()
    }

    /// The answers to requests that are asked together.
    pub(crate) fn try_all<const N: usize>(
        &mut self,
        requests: [Request; N],
    ) -> [Result<Answer, StoreError>; N] {
        let asks = requests.map(|request| self.asked(request));
        let now = self.now();
        let answers = self.store.answer(now, &asks).into_iter().map(|reply| reply.answer);
        answers.collect::<Vec<_>>().try_into().expect("as many replies as requests")
    }

    fn asked(&mut self, request: Request) -> Ask {
        self.no += 1;
        let from = Asker::Conductor;
        Ask { owner: self.owner, from, no: self.no, request: Arc::new(request), oldest_open: self.no }
    }

    /// Asks the last question again.
    pub(crate) fn again(&mut self) -> Result<Answer, StoreError> {
        let ask = self.last.clone().expect("something was asked");
        let now = self.now();
        let Reply { answer, status, .. } = self.store.answer(now, &[ask]).remove(0);
        self.status = status;
        answer
    }

    /// Asks the last question again until there is an answer.
    pub(crate) fn insist(&mut self) -> Answer {
        let begun = std::time::Instant::now();
        loop {
            match self.again() {
                Ok(answer) => return answer,
                Err(why) => assert!(begun.elapsed() < Duration::from_mins(1), "still {why}"),
            }
            // The store itself waits between attempts to connect; this only spares the processor.
            std::thread::yield_now();
        }
    }

    pub(crate) fn post(&mut self, tasks: impl IntoIterator<Item = New>) -> Vec<Posted> {
        let rows = tasks.into_iter().map(New::row).collect();
        match self.ask(Request::Post { rows, room: Room::default() }) {
            Answer::Posted(posted) => posted,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn claim(&mut self, ready: usize) -> Vec<Claimed> {
        claimed(self.ask(Request::Claim { pool: POOL, ready, unjudged: 0 }))
    }

    /// Settles as done. How many were accepted.
    pub(crate) fn finish(&mut self, rows: &[Claimed]) -> usize {
        accepted(&self.ask(finishing(rows)))
    }

    pub(crate) fn promote(&mut self) {
        self.ask(Request::Promote { up_to: 1_000 });
    }

    pub(crate) fn view(&mut self, task: TaskId) -> Option<TaskView> {
        match self.ask(Request::Get(task)) {
            Answer::Task(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn outcome(&mut self, n: u64) -> Option<Outcome> {
        self.view(id(n)).and_then(|view| view.outcome)
    }

    pub(crate) fn counts(&mut self) -> Counts {
        match self.ask(Request::Count) {
            Answer::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn look(&mut self) -> Option<Status> {
        let now = self.now();
        self.store.look(now)
    }
}

pub(crate) fn claimed(answer: Answer) -> Vec<Claimed> {
    match answer {
        Answer::Claimed { rows, .. } => rows,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn accepted(answer: &Answer) -> usize {
    match answer {
        Answer::Settled(settled) => settled.iter().filter(|settled| settled.accepted).count(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn finishing(rows: &[Claimed]) -> Request {
    let done = |row: &Claimed| Settlement {
        id: row.task.id,
        sequence: row.order.sequence,
        epoch: row.epoch,
        settle: Settle::Done(Outcome::Succeeded("null".into())),
        posts: Vec::new(),
    };
    Request::Settle(rows.iter().map(done).collect())
}

pub(crate) fn numbers(rows: &[Claimed]) -> Vec<u64> {
    rows.iter().map(|row| row.task.id.0 as u64).collect()
}
