//! A store and the clocks of those who ask it, in the words of the scripts.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::Now;
use taskyard_core::board::Settings;
use taskyard_core::id::PoolId;
use taskyard_core::router::Router;
use taskyard_core::store::{Answer, Ask, Asker, OwnerId, Reply, Request, StoreError};
use taskyard_core::time::Instant64;

use crate::suite::task::START;

mod owners;
mod tasks;
mod words;

pub(crate) use words::*;

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
}

/// Who asks such a thing.
fn asker(request: &Request) -> Asker {
    match request {
        Request::Register(_) | Request::Renew | Request::TakeOver { .. } | Request::Release => Asker::Lease,
        _ => Asker::Conductor,
    }
}
