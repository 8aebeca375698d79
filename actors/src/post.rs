//! Carries mail: collects what one turn of an actor says, by addressee, and sends each addressee one message at its end.
//! Order is kept per addressee. It decides nothing; who is meant stands in the mail.

use std::sync::Arc;

use actix::Recipient;
use taskyard_core::conductor::{Answer, Happened};
use taskyard_core::id::{PoolId, Token};
use taskyard_core::store::Ask;
use taskyard_core::wiring::Mail;
use taskyard_core::{blocker, conductor, delayer, in_progress, lease, pool, queuer};

use crate::in_flight::InFlight;
use crate::tell::Tell;
use crate::workers::Workers;

/// Where answers and news leave the actors. Called on the yard's thread: it must neither block nor panic.
pub trait Edge: Send + Sync + 'static {
    /// Answers for whoever asked.
    fn answer(&self, answers: Vec<(Token, Answer)>);

    /// News for whoever observes.
    fn tell(&self, news: Vec<Happened>);
}

/// Who plays which role. In tests a probe can stand in any place.
#[derive(Clone)]
pub struct Roles {
    /// Takes in, claims, judges and settles.
    pub conductor: Recipient<Tell<conductor::Event>>,
    /// Keeps the tasks; `None` where the board is answered within the Conductor's turn.
    pub board: Option<Recipient<Tell<Ask>>>,
    /// Keeps the registration at the board; `None` likewise.
    pub lease: Option<Recipient<Tell<lease::Event>>>,
    /// Holds what is not due.
    pub delayer: Recipient<Tell<delayer::Event>>,
    /// Holds what shares a key.
    pub blocker: Recipient<Tell<blocker::Event>>,
    /// Counts keys.
    pub in_progress: Recipient<Tell<in_progress::Event>>,
    /// Holds what waits for a worker.
    pub queuer: Recipient<Tell<queuer::Event>>,
    /// The pools, by [`PoolId`].
    pub pools: Vec<Recipient<Tell<pool::Event>>>,
    /// Where answers go.
    pub edge: Arc<dyn Edge>,
    /// Counts the mail of all of them.
    pub in_flight: InFlight,
}

/// One actor's outgoing mail.
pub struct Post {
    conductor: Outbox<conductor::Event>,
    board: Option<Outbox<Ask>>,
    lease: Option<Outbox<lease::Event>>,
    delayer: Outbox<delayer::Event>,
    blocker: Outbox<blocker::Event>,
    in_progress: Outbox<in_progress::Event>,
    queuer: Outbox<queuer::Event>,
    pools: Vec<Outbox<pool::Event>>,
    workers: Option<Workers>,
    answers: Vec<(Token, Answer)>,
    news: Vec<Happened>,
    edge: Arc<dyn Edge>,
    in_flight: InFlight,
}

impl Post {
    /// An actor's way to all the others.
    pub fn new(roles: &Roles) -> Self {
        Self {
            conductor: Outbox::new(&roles.conductor),
            board: roles.board.as_ref().map(Outbox::new),
            lease: roles.lease.as_ref().map(Outbox::new),
            delayer: Outbox::new(&roles.delayer),
            blocker: Outbox::new(&roles.blocker),
            in_progress: Outbox::new(&roles.in_progress),
            queuer: Outbox::new(&roles.queuer),
            pools: roles.pools.iter().map(Outbox::new).collect(),
            workers: None,
            answers: Vec::new(),
            news: Vec::new(),
            edge: Arc::clone(&roles.edge),
            in_flight: roles.in_flight.clone(),
        }
    }

    /// A pool's: its commands go to these workers.
    pub fn with_workers(mut self, workers: Workers) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Takes a message in.
    pub fn put(&mut self, mail: Mail) {
        match mail {
            Mail::Conductor(event) => self.conductor.put(event),
            Mail::Board(ask) => put_or_complain(self.board.as_mut(), ask, "the board"),
            Mail::Lease(event) => put_or_complain(self.lease.as_mut(), event, "the lease"),
            Mail::Delayer(event) => self.delayer.put(event),
            Mail::Blocker(event) => self.blocker.put(event),
            Mail::InProgress(event) => self.in_progress.put(event),
            Mail::Queuer(event) => self.queuer.put(event),
            Mail::Pool(PoolId(index), event) => {
                put_or_complain(self.pools.get_mut(usize::from(index)), event, "a pool");
            }
            Mail::Worker(worker, command) => match &mut self.workers {
                Some(workers) => workers.put(worker, command),
                None => complain("a worker"),
            },
            Mail::Answer(token, answer) => self.answers.push((token, answer)),
            Mail::Happened(happened) => self.news.push(happened),
        }
    }

    /// Sends what was taken in, at the end of a turn.
    pub fn deliver(&mut self) {
        let in_flight = &self.in_flight;
        self.conductor.deliver(in_flight);
        self.delayer.deliver(in_flight);
        self.blocker.deliver(in_flight);
        self.in_progress.deliver(in_flight);
        self.queuer.deliver(in_flight);
        self.board.iter_mut().for_each(|outbox| outbox.deliver(in_flight));
        self.lease.iter_mut().for_each(|outbox| outbox.deliver(in_flight));
        self.pools.iter_mut().for_each(|outbox| outbox.deliver(in_flight));
        self.workers.iter_mut().for_each(Workers::deliver);
        if !self.answers.is_empty() {
            self.edge.answer(std::mem::take(&mut self.answers));
        }
        if !self.news.is_empty() {
            self.edge.tell(std::mem::take(&mut self.news));
        }
    }
}

fn put_or_complain<E: Send + 'static>(outbox: Option<&mut Outbox<E>>, event: E, role: &'static str) {
    match outbox {
        Some(outbox) => outbox.put(event),
        None => complain(role),
    }
}

/// Mail for a role that this yard does not have: a fault in the set-up, never in a task.
fn complain(role: &'static str) {
    tracing::error!(role, "mail for a role that nobody plays was dropped");
}

/// Mail for one addressee.
pub(crate) struct Outbox<E: Send + 'static> {
    to: Recipient<Tell<E>>,
    batch: Vec<E>,
}

impl<E: Send + 'static> Outbox<E> {
    pub(crate) fn new(to: &Recipient<Tell<E>>) -> Self {
        Self { to: to.clone(), batch: Vec::new() }
    }

    pub(crate) fn put(&mut self, event: E) {
        self.batch.push(event);
    }

    pub(crate) fn deliver(&mut self, in_flight: &InFlight) {
        if !self.batch.is_empty() {
            self.to.do_send(Tell::new(std::mem::take(&mut self.batch), in_flight));
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.to.connected()
    }
}
