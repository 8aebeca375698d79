//! A store and the clocks of those who ask it, in the words of the scripts.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::board::Settings;
use taskyard_core::dispatch::{DispatchName, Failure, Outcome, TaskError, Trash};
use taskyard_core::id::PoolId;
use taskyard_core::router::Router;
use taskyard_core::store::{
    Answer, Ask, Asker, Claimed, Counts, Filter, OwnerId, OwnerView, PoolRoom, Posted, Registration, Renewal,
    Reply, Request, RescheduleAnswer, Room, RowState, Settle, Settlement, StoreError, TaskView,
};
use taskyard_core::task::{DueAt, Task};
use taskyard_core::time::Instant64;
use taskyard_core::{Now, TaskId};

use crate::task::{New, START, at, id};

/// Takes `a.#`.
pub(crate) const A: PoolId = PoolId(0);
/// Takes `b.#`, and `a.shared` before A does.
pub(crate) const B: PoolId = PoolId(1);

/// No task at all.
pub(crate) const NONE: [u64; 0] = [];

/// How long the leases of the scripts hold.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A store under test.
pub(crate) trait Store {
    /// The one reply to a request.
    fn answer(&mut self, now: Now, ask: Ask) -> Reply;
    /// Panics if what it keeps does not fit together.
    fn check_invariants(&mut self);
    /// So much time passes on the clock by which leases end.
    fn pass_lease(&mut self, span: Duration);
}

/// A store, and the owner that asks it: a registered one, but where a script says otherwise.
pub(crate) struct Rig {
    store: Box<dyn Store>,
    pub(crate) now: Now,
    owner: OwnerId,
    no: u64,
    last: Option<Ask>,
    /// What the last reply said beside its answer.
    said: Option<Reply>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self::through(settings, |store| store)
    }

    /// With something between the store and those who ask it.
    pub(crate) fn through(settings: Settings, line: impl FnOnce(Box<dyn Store>) -> Box<dyn Store>) -> Self {
        let names = ["one", "two"].map(|name| name.parse().unwrap());
        let mut router = Router::default();
        router.bind(A, &["a.#".parse().unwrap()], Some(&names));
        router.bind(B, &["b.#".parse().unwrap(), "a.shared".parse().unwrap()], Some(&names));
        let now = Now { mono: Instant64(0), wall: START };
        let store = line(crate::store(settings, router));
        let mut rig = Self { store, now, owner: OwnerId::SOLE, no: 0, last: None, said: None };
        rig.owner = rig.register();
        rig
    }

    /// Another owner; who asks remains the same.
    pub(crate) fn register(&mut self) -> OwnerId {
        let (host, version) = ("here".into(), "1".into());
        match self.ask(Request::Register(Registration { host, pid: 7, version, lease: LEASE })) {
            Answer::Registered(owner) => owner,
            other => panic!("{other:?}"),
        }
    }

    /// Who asks now.
    pub(crate) fn owner(&self) -> OwnerId {
        self.owner
    }

    /// From now on this owner asks.
    pub(crate) fn as_owner(&mut self, owner: OwnerId) -> &mut Self {
        self.owner = owner;
        self
    }

    /// Time passes for those who ask.
    pub(crate) fn pass(&mut self, ms: u64) -> &mut Self {
        let span = Duration::from_millis(ms);
        (self.now.mono, self.now.wall) = (self.now.mono + span, self.now.wall + span);
        self
    }

    /// Time passes for the leases.
    pub(crate) fn pass_lease(&mut self, span: Duration) -> &mut Self {
        self.store.pass_lease(span);
        self
    }

    /// Asks under a new number; every request before it was answered.
    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        self.try_ask(request).expect("the store is well")
    }

    /// Asks what a fenced owner may not.
    pub(crate) fn is_refused(&mut self, request: Request) -> bool {
        matches!(self.try_ask(request), Err(StoreError::Fenced))
    }

    fn try_ask(&mut self, request: Request) -> Result<Answer, StoreError> {
        self.no += 1;
        let ask = self.numbered(Arc::new(request), self.no);
        self.last = Some(ask.clone());
        self.send(ask)
    }

    fn numbered(&self, request: Arc<Request>, oldest_open: u64) -> Ask {
        Ask { owner: self.owner, from: asker(&request), no: self.no, request, oldest_open }
    }

    /// Asks the last question again, under its number.
    pub(crate) fn repeat(&mut self) -> Answer {
        let ask = self.last();
        self.ask_again(ask)
    }

    /// The last question, to be asked again later.
    pub(crate) fn last(&self) -> Ask {
        self.last.clone().expect("something was asked")
    }

    pub(crate) fn ask_again(&mut self, ask: Ask) -> Answer {
        self.send(ask).expect("the store is well")
    }

    fn send(&mut self, ask: Ask) -> Result<Answer, StoreError> {
        let (no, from) = (ask.no, ask.from);
        let mut reply = self.store.answer(self.now, ask);
        self.store.check_invariants();
        assert_eq!((reply.no, reply.to), (no, from));
        let answer = std::mem::replace(&mut reply.answer, Ok(Answer::Learned));
        self.said = Some(reply);
        answer
    }

    pub(crate) fn said(&self) -> &Reply {
        self.said.as_ref().expect("something was asked")
    }

    pub(crate) fn post<const N: usize>(&mut self, tasks: [New; N]) -> Vec<Posted> {
        self.post_with(Room::default(), tasks)
    }

    /// Posts in one write.
    pub(crate) fn post_many(&mut self, tasks: impl IntoIterator<Item = New>) -> Vec<Posted> {
        let rows = tasks.into_iter().map(New::row).collect();
        posted(self.ask(Request::Post { rows, room: Room::default() }))
    }

    /// Posts while an earlier question is open, as far as anybody knows.
    pub(crate) fn post_while_open<const N: usize>(&mut self, oldest_open: u64, tasks: [New; N]) {
        self.no += 1;
        let rows = tasks.map(New::row).into();
        let request = Arc::new(Request::Post { rows, room: Room::default() });
        let ask = self.numbered(request, oldest_open);
        self.ask_again(ask);
    }

    /// Posts, with room for claims in the same write.
    pub(crate) fn post_with<const N: usize>(&mut self, room: Room, tasks: [New; N]) -> Vec<Posted> {
        let rows = tasks.map(New::row).into();
        posted(self.ask(Request::Post { rows, room }))
    }

    pub(crate) fn claim(&mut self, pool: PoolId, ready: usize) -> Vec<u64> {
        ids(&self.claim_rows(pool, ready, 0))
    }

    pub(crate) fn claim_rows(&mut self, pool: PoolId, ready: usize, unjudged: usize) -> Vec<Claimed> {
        claimed(self.ask(Request::Claim { pool, ready, unjudged })).0
    }

    /// Claims what is due before `before_ms`.
    pub(crate) fn preload(&mut self, pool: PoolId, before_ms: u64, up_to: usize) -> Vec<u64> {
        ids(&claimed(self.ask(Request::Preload { pool, before: at(before_ms), up_to })).0)
    }

    pub(crate) fn settle(&mut self, n: u64, epoch: u32, settle: Settle) -> bool {
        self.settle_posting(n, epoch, settle, Vec::new())
    }

    pub(crate) fn settle_posting(&mut self, n: u64, epoch: u32, settle: Settle, posts: Vec<New>) -> bool {
        let posts = posts.into_iter().map(New::row).collect();
        let sequence = self.sequence(n);
        let answer =
            self.ask(Request::Settle(vec![Settlement { id: id(n), sequence, epoch, settle, posts }]));
        settled(&answer)
    }

    /// The sequence of an unfinished task; 0 if there is none.
    fn sequence(&mut self, n: u64) -> u64 {
        let before = self.last.clone();
        let sequence = self.view(n).and_then(|view| view.order).map_or(0, |order| order.sequence);
        self.last = before;
        sequence
    }

    /// Tasks that expired.
    pub(crate) fn promote(&mut self) -> Vec<u64> {
        expired(self.ask(Request::Promote { up_to: 1_000 }))
    }

    /// Tasks that were cancelled, and those that had ended.
    pub(crate) fn cancel(&mut self, filter: Filter) -> (Vec<u64>, Vec<u64>) {
        cancelled(self.ask(Request::Cancel { filter, after: 0 }))
    }

    /// Tasks that were cancelled, those that others have, and where to go on.
    pub(crate) fn cancel_from(&mut self, filter: Filter, after: u64) -> (Vec<u64>, Vec<u64>, Option<u64>) {
        match self.ask(Request::Cancel { filter, after }) {
            Answer::Cancelled { tasks: gone, elsewhere, more, .. } => {
                (tasks(&gone), numbers(&elsewhere), more)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn reschedule(&mut self, n: u64, ms: u64) -> RescheduleAnswer {
        match self.ask(Request::Reschedule { id: id(n), due: DueAt::Wall(at(ms)) }) {
            Answer::Rescheduled(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn view(&mut self, n: u64) -> Option<TaskView> {
        match self.ask(Request::Get(id(n))) {
            Answer::Task(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    /// Where each of the tasks is.
    pub(crate) fn states<const N: usize>(&mut self, tasks: [u64; N]) -> [RowState; N] {
        tasks.map(|n| self.view(n).expect("the task is known").state)
    }

    pub(crate) fn outcome(&mut self, n: u64) -> Option<Outcome> {
        self.view(n)?.outcome
    }

    /// A page of the list, and where the next begins.
    pub(crate) fn page(&mut self, filter: Filter, after: u64, limit: usize) -> (Vec<u64>, Option<u64>) {
        match self.ask(Request::List { filter, after, limit }) {
            Answer::Tasks { tasks, more } => (views(&tasks), more),
            other => panic!("{other:?}"),
        }
    }

    /// The whole list, page by page.
    pub(crate) fn list(&mut self, filter: Filter, limit: usize) -> Vec<u64> {
        pages(|after| self.page(filter.clone(), after, limit))
    }

    pub(crate) fn outcomes(&mut self, tasks: &[u64]) -> Vec<(u64, Option<Outcome>)> {
        match self.ask(Request::Outcomes(tasks.iter().map(|n| id(*n)).collect())) {
            Answer::Outcomes(outcomes) => {
                outcomes.into_iter().map(|(id, outcome)| (id.0 as u64, outcome)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn counts(&mut self) -> Counts {
        match self.ask(Request::Count) {
            Answer::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }

    /// What who asks has, with its epochs, oldest first.
    pub(crate) fn held(&mut self) -> Vec<(u64, u32)> {
        match self.ask(Request::Held) {
            Answer::Held(names) => names.iter().map(|name| (name.id.0 as u64, name.epoch)).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn renew(&mut self) -> Renewal {
        match self.ask(Request::Renew) {
            Answer::Renewed(renewal) => renewal,
            other => panic!("{other:?}"),
        }
    }

    /// How many rows were given back, and whether there are more.
    pub(crate) fn take_over(&mut self, up_to: usize) -> (usize, bool) {
        match self.ask(Request::TakeOver { up_to }) {
            Answer::TakenOver { returned, more } => (returned, more),
            other => panic!("{other:?}"),
        }
    }

    /// Takes over all there is, in steps of so many rows. How many were given back.
    pub(crate) fn take_over_all(&mut self, step: usize) -> usize {
        let mut returned = 0;
        for _ in 0..1_000 {
            let (some, more) = self.take_over(step);
            returned += some;
            if !more {
                return returned;
            }
        }
        panic!("there is always more to take over");
    }

    pub(crate) fn owners(&mut self) -> Vec<OwnerView> {
        match self.ask(Request::Owners) {
            Answer::Owners(owners) => owners,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn mark_start(&mut self, n: u64, epoch: u32) -> bool {
        match self.ask(Request::MarkStart(DispatchName { id: id(n), epoch })) {
            Answer::Marked(marked) => marked,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn learn(&mut self, pool: PoolId, name: &str) {
        self.ask(Request::Learn { pool, names: vec![name.parse().unwrap()] });
    }
}

/// Who asks such a thing.
fn asker(request: &Request) -> Asker {
    match request {
        Request::Register(_) | Request::Renew | Request::TakeOver { .. } | Request::Release => Asker::Lease,
        _ => Asker::Conductor,
    }
}

/// All pages, each from where the one before says.
pub(crate) fn pages(mut page: impl FnMut(u64) -> (Vec<u64>, Option<u64>)) -> Vec<u64> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let (tasks, more) = page(after);
        found.extend(tasks);
        match more {
            Some(more) if more > after => after = more,
            Some(more) => panic!("{more} is no way on from {after}"),
            None => return found,
        }
    }
}

pub(crate) fn views(tasks: &[TaskView]) -> Vec<u64> {
    tasks.iter().map(|view| view.id.0 as u64).collect()
}

/// Room in A for so many due rows and so many that are due within two seconds.
pub(crate) fn room(ready: usize, near: usize) -> Room {
    let pools = vec![PoolRoom { pool: A, ready, near }];
    Room { pools, total: ready + near, before: at(2_000) }
}

pub(crate) fn posted(answer: Answer) -> Vec<Posted> {
    match answer {
        Answer::Posted(posted) => posted,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn claimed(answer: Answer) -> (Vec<Claimed>, Vec<u64>) {
    match answer {
        Answer::Claimed { rows, expired } => (rows, tasks(&expired)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn expired(answer: Answer) -> Vec<u64> {
    match answer {
        Answer::Promoted { expired } => tasks(&expired),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn cancelled(answer: Answer) -> (Vec<u64>, Vec<u64>) {
    match answer {
        Answer::Cancelled { tasks: gone, ended, .. } => (tasks(&gone), numbers(&ended)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn settled(answer: &Answer) -> bool {
    match answer {
        Answer::Settled(settled) => settled.iter().all(|settled| settled.accepted),
        other => panic!("{other:?}"),
    }
}

fn tasks(tasks: &[Arc<Task>]) -> Vec<u64> {
    tasks.iter().map(|task| task.id.0 as u64).collect()
}

pub(crate) fn numbers(ids: &[TaskId]) -> Vec<u64> {
    ids.iter().map(|id| id.0 as u64).collect()
}

pub(crate) fn ids(rows: &[Claimed]) -> Vec<u64> {
    rows.iter().map(|row| row.task.id.0 as u64).collect()
}

pub(crate) fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

pub(crate) fn only(ids: &[u64]) -> Filter {
    Filter { ids: ids.iter().map(|n| id(*n)).collect(), ..Filter::default() }
}

pub(crate) fn done() -> Settle {
    Settle::Done(Outcome::Succeeded("null".into()))
}

/// A settlement by an owner that knows no more of the row than its dispatch.
pub(crate) fn settlement(n: u64, epoch: u32, settle: Settle) -> Request {
    Request::Settle(vec![Settlement { id: id(n), sequence: 1, epoch, settle, posts: Vec::new() }])
}

pub(crate) fn failure() -> Failure {
    let (kind, message) = ("Broken".into(), "for a test".into());
    Failure::Error(Box::new(TaskError { kind, message, trace: None, retry: true }))
}

pub(crate) fn retry(ms: u64) -> Settle {
    Settle::Retry { due: at(ms), error: failure() }
}

/// Back to its place, due as it was.
pub(crate) fn give_back() -> Settle {
    Settle::GiveBack { due: DueAt::Now, setback: false, renew: false, started: true }
}

pub(crate) fn trash() -> Settle {
    Settle::Trash(Outcome::Trashed(Trash::Refused(failure())))
}
