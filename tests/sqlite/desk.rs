//! A board in a file, and who asks it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::id::PoolId;
use taskyard::core::router::Router;
use taskyard::core::store::{
    Answer, Ask, Asker, Claimed, Counts, Filter, NewRow, OwnerId, Posted, Request, Room, Settle, Settlement,
    Status, StoreError, TaskView,
};
use taskyard::core::task::{DueAt, TaskDefaults};
use taskyard::core::time::Timestamp;
use taskyard::core::{Now, TaskId, dispatch::Outcome, wire};
use taskyard::store::sqlite::{Options, SqliteError};
use taskyard::store::{Setup, Sqlite, Store as _};

pub(crate) const POOL: PoolId = PoolId(0);
pub(crate) const START: Timestamp = Timestamp(1_700_000_000_000_000);

pub(crate) struct Desk {
    pub(crate) store: Sqlite,
    pub(crate) owner: OwnerId,
    pub(crate) now: Now,
    no: u64,
}

/// As usual, with one pool that takes all tasks that are called `one`.
pub(crate) fn options() -> Options {
    let mut router = Router::default();
    router.bind(POOL, &["#".parse().unwrap()], Some(&["one".parse().unwrap()]));
    Options { patience: Duration::from_millis(20), ..Options::new(Setup::new(router)) }
}

impl Desk {
    pub(crate) fn open(path: &Path) -> Self {
        Self::open_with(path, options()).expect("opens")
    }

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Self, SqliteError> {
        let store = Sqlite::open(path, options)?;
        Ok(Self { store, owner: OwnerId::SOLE, now: Now { wall: START, ..Now::default() }, no: 0 })
    }

    pub(crate) fn asked(&mut self, request: Request) -> Ask {
        self.no += 1;
        let from = Asker::Conductor;
        Ask { owner: self.owner, from, no: self.no, request: Arc::new(request), oldest_open: self.no }
    }

    /// The answers to requests that are asked together, and how the board stands.
    pub(crate) fn try_all<const N: usize>(
        &mut self,
        requests: [Request; N],
    ) -> [(Result<Answer, StoreError>, Status); N] {
        let asks = requests.map(|request| self.asked(request));
        let replies = self.store.answer(self.now, &asks);
        assert_eq!(
            replies.iter().map(|reply| reply.no).collect::<Vec<_>>(),
            asks.each_ref().map(|ask| ask.no)
        );
        let answers: Vec<_> = replies.into_iter().map(|reply| (reply.answer, reply.status)).collect();
        answers.try_into().unwrap_or_else(|_| unreachable!("as many replies as requests"))
    }

    pub(crate) fn try_ask(&mut self, request: Request) -> Result<Answer, StoreError> {
        let [(answer, _)] = self.try_all([request]);
        answer
    }

    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        self.try_ask(request).expect("the store is well")
    }

    pub(crate) fn post(&mut self, rows: impl IntoIterator<Item = NewRow>) -> Vec<Posted> {
        match self.ask(post(rows)) {
            Answer::Posted(posted) => posted,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn claim(&mut self, ready: usize) -> Vec<Claimed> {
        match self.ask(Request::Claim { pool: POOL, ready, unjudged: 0 }) {
            Answer::Claimed { rows, .. } => rows,
            other => panic!("{other:?}"),
        }
    }

    /// Asks until no other process is in the way.
    pub(crate) fn insist(&mut self, request: Request) -> Answer {
        let ask = self.asked(request);
        loop {
            match self.store.answer(self.now, std::slice::from_ref(&ask)).remove(0).answer {
                Ok(answer) => return answer,
                Err(StoreError::Unavailable(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }

    pub(crate) fn insist_to_claim(&mut self, ready: usize) -> Vec<Claimed> {
        match self.insist(Request::Claim { pool: POOL, ready, unjudged: 0 }) {
            Answer::Claimed { rows, .. } => rows,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn counts(&mut self) -> Counts {
        match self.ask(Request::Count) {
            Answer::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn view(&mut self, n: u64) -> Option<TaskView> {
        match self.ask(Request::Get(id(n))) {
            Answer::Task(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn verify(&mut self) {
        assert_eq!(self.store.verify(), [""; 0]);
    }
}

pub(crate) fn post(rows: impl IntoIterator<Item = NewRow>) -> Request {
    Request::Post { rows: rows.into_iter().collect(), room: Room::default() }
}

pub(crate) fn settle(claimed: &[Claimed]) -> Request {
    let done = |claimed: &Claimed| Settlement {
        id: claimed.task.id,
        sequence: claimed.order.sequence,
        epoch: claimed.epoch,
        settle: Settle::Done(Outcome::Succeeded("null".into())),
        posts: Vec::new(),
    };
    Request::Settle(claimed.iter().map(done).collect())
}

pub(crate) fn id(n: u64) -> TaskId {
    TaskId(n.into())
}

pub(crate) fn numbers(claimed: &[Claimed]) -> Vec<u64> {
    claimed.iter().map(|claimed| claimed.task.id.0 as u64).collect()
}

pub(crate) fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

/// Task `n`, due at once.
pub(crate) fn task(n: u64) -> NewRow {
    typed(n, r#"{"task":"one","namespace":"a"}"#)
}

/// As large as a body that does not stand in its row.
pub(crate) fn large(n: u64) -> NewRow {
    typed(n, &format!(r#"{{"task":"one","namespace":"a","args":["{:x>2000}"]}}"#, ""))
}

pub(crate) fn typed(n: u64, text: &str) -> NewRow {
    let task = wire::parse_task(text, id(n), &|_| TaskDefaults::default()).unwrap();
    NewRow { task: Arc::new(task), due: DueAt::Now, expires: None, exempt: false, batch: None }
}

pub(crate) fn due_in(row: NewRow, ms: u64) -> NewRow {
    NewRow { due: DueAt::Wall(START + Duration::from_millis(ms)), ..row }
}
