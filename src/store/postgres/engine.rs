//! Transactions, from the outside: all requests of one call in one of them, what is remembered of it once it is committed, and
//! what becomes of one whose commit was not heard of. What a request does is the [turn](super::turn)'s.

use std::time::{Duration, Instant};

use taskyard_core::Now;
use taskyard_core::store::{Answer, Ask, Asker, OwnerId, Reply, Status, StoreError};
use tokio::time::Instant as End;

use super::clock::{Clock, Reading, Skew};
use super::fault::Fault;
use super::heads::Heads;
use super::link::{Link, Session};
use super::listener::Sweeper;
use super::memory::Memory;
use super::turn::{Effects, Turn, is_same};
use super::verify::verify;

/// So often one transaction is tried that others were in the way of.
const TRIES: u32 = 3;
/// The table is swept after so many changes, or after one for so many unfinished tasks: who looks for the first of those that
/// wait passes by all that did since then, and the server by itself sweeps once a minute at best.
const WORN_MAX: i64 = 20_000;
const WORN_PART: i64 = 20;
/// Others are told of changes not more often than this.
const HINT_EVERY: Duration = Duration::from_millis(50);

/// Of these owners those that may write. None of them is fenced before the transaction ends.
const LIVE: &str = "SELECT owner FROM owners WHERE owner = ANY($1) AND NOT fenced FOR SHARE";
const TRANSACTION: &str = "SELECT pg_current_xact_id()::text";
const FATE: &str = "SELECT pg_xact_status($1::text::xid8)";
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const HINT: &str = "SELECT pg_notify($1, $2)";

type Answers = Vec<Result<Answer, StoreError>>;

/// What tells this store from others on the same schema.
pub(super) struct Identity {
    pub(super) channel: String,
    /// By what it knows its own hints.
    pub(super) name: String,
    /// See [`SchemaName::seed`](super::schema::SchemaName::seed).
    pub(super) seed: i64,
}

/// See the [module](self).
pub(super) struct Engine {
    link: Link,
    /// How long the next transaction may take.
    patience: Duration,
    memory: Memory,
    identity: Identity,
    clock: Clock,
    skew: Skew,
    is_measured: bool,
    /// What the open transaction brings about, if it is committed.
    effects: Effects,
    /// The transaction whose commit was asked for and not heard of.
    pending: Option<Pending>,
    hinted: Option<Instant>,
    /// What was said last of how the board stands.
    said: Status,
    sweeper: Sweeper,
    /// How many versions of rows are of no use since the table was swept last.
    worn: i64,
}

struct Pending {
    transaction: String,
    answered: Vec<(Ask, Answer)>,
    effects: Effects,
}

impl Engine {
    pub(super) fn new(
        link: Link,
        memory: Memory,
        identity: Identity,
        clock: Clock,
        sweeper: Sweeper,
    ) -> Self {
        Self {
            patience: link.patience,
            link,
            memory,
            identity,
            clock,
            skew: Skew::default(),
            is_measured: false,
            effects: Effects::default(),
            pending: None,
            hinted: None,
            said: Status::default(),
            sweeper,
            worn: 0,
        }
    }

    pub(super) fn limit(&mut self, span: Option<Duration>) {
        self.patience = span.map_or(self.link.patience, |span| span.min(self.link.patience));
    }

    pub(super) async fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        let (end, reading) = (End::now() + self.patience, Reading::of(now));
        let is_leases = |ask: &Ask| ask.from == Asker::Lease;
        if asks.iter().all(is_leases) || !asks.iter().any(is_leases) {
            return self.answer_together(end, &reading, asks).await;
        }
        // A renewal waits for nobody's locks and no slow request.
        let (leases, others): (Vec<_>, Vec<_>) = asks.iter().cloned().partition(is_leases);
        let mut leases = self.answer_together(end, &reading, &leases).await.into_iter();
        let mut others = self.answer_together(end, &reading, &others).await.into_iter();
        asks.iter().filter_map(|ask| if is_leases(ask) { leases.next() } else { others.next() }).collect()
    }

    async fn answer_together(&mut self, end: End, reading: &Reading, asks: &[Ask]) -> Vec<Reply> {
        match self.answer_by(end, reading, asks).await {
            Ok(replies) => replies,
            Err(fault) if asks.len() > 1 && fault.concerns_one() => {
                self.answer_each(end, reading, asks).await
            }
            Err(fault) => self.refuse(asks, &fault),
        }
    }

    /// What is wrong with one of them is no business of the others.
    async fn answer_each(&mut self, end: End, reading: &Reading, asks: &[Ask]) -> Vec<Reply> {
        let mut replies = Vec::with_capacity(asks.len());
        for ask in asks.chunks(1) {
            let reply = self.answer_by(end, reading, ask).await;
            replies.extend(reply.unwrap_or_else(|fault| self.refuse(ask, &fault)));
        }
        replies
    }

    async fn answer_by(&mut self, end: End, reading: &Reading, asks: &[Ask]) -> Result<Vec<Reply>, Fault> {
        let patience = self.patience;
        let answered = tokio::time::timeout_at(end, self.transact(reading, asks)).await;
        let (answers, status) = answered.map_err(|_| Fault::Silent(patience))??;
        self.said = status;
        let reply = |(ask, answer): (&Ask, _)| Reply { to: ask.from, no: ask.no, answer, status };
        Ok(asks.iter().zip(answers).map(reply).collect())
    }

    fn refuse(&mut self, asks: &[Ask], fault: &Fault) -> Vec<Reply> {
        self.is_measured = false;
        let refuse = |ask| Reply { answer: Err(self.verdict(ask, fault)), ..nothing(ask) };
        asks.iter().map(refuse).collect()
    }

    /// What is said of a request that was not answered.
    fn verdict(&self, ask: &Ask, fault: &Fault) -> StoreError {
        match &self.pending {
            Some(pending) if pending.answered.iter().any(|(of, _)| is_same(of, ask)) => {
                fault.while_committing()
            }
            _ => fault.nothing_done(),
        }
    }

    /// How the board stands, unless it stands as was said last and nothing waits.
    pub(super) async fn look(&mut self, now: Now) -> Option<Status> {
        let looked = tokio::time::timeout(self.patience, self.look_at(now)).await;
        let status =
            looked.ok()?.inspect_err(|fault| tracing::debug!(%fault, "not looked at the board")).ok()?;
        let idle = status.ready.is_empty() && status.unjudged.is_empty();
        let changed = std::mem::replace(&mut self.said, status) != status;
        (changed || !idle).then_some(status)
    }

    /// What does not fit together, in words.
    pub(super) async fn verify(&mut self) -> Result<Vec<String>, Fault> {
        let session = self.link.session().await?;
        let found = verify(&session).await?;
        session.give_back();
        Ok(found)
    }

    async fn look_at(&mut self, now: Now) -> Result<Status, Fault> {
        let session = self.link.session().await?;
        let status = self.status(&session, &Reading::of(now)).await?;
        session.give_back();
        Ok(status)
    }

    async fn transact(&mut self, reading: &Reading, asks: &[Ask]) -> Result<(Answers, Status), Fault> {
        let session = self.link.session().await?;
        self.settle_pending(&session).await?;
        if !self.is_measured {
            self.measure(&session, reading).await?;
        }
        let mut tries = 1;
        let done = loop {
            match self.try_once(&session, reading, asks).await {
                Err(fault) if fault.is_conflict() && tries < TRIES => {
                    session.batch("ROLLBACK").await?;
                    tries += 1;
                }
                done => break done?,
            }
        };
        session.give_back();
        Ok(done)
    }

    async fn try_once(
        &mut self,
        session: &Session,
        reading: &Reading,
        asks: &[Ask],
    ) -> Result<(Answers, Status), Fault> {
        let now = reading.begin();
        self.abandon();
        if asks.iter().all(|ask| ask.request.only_looks()) {
            let live = self.live(session, asks).await?;
            let (answers, _) = self.turn(session, now, live, asks).await?;
            let status = self.status(session, reading).await?;
            self.commit(Vec::new());
            return Ok((answers, status));
        }
        let begin = futures::future::try_join(session.batch("BEGIN"), session.rows(TRANSACTION, &[]));
        let ((), transaction) = begin.await?;
        let transaction = transaction.first().map(|row| row.get(0)).unwrap_or_default();
        let live = self.live(session, asks).await?;
        let (answers, answered) = self.turn(session, now, live, asks).await?;
        self.hint(session).await?;
        let status = self.status(session, reading).await?;
        let effects = std::mem::take(&mut self.effects);
        self.pending = Some(Pending { transaction, answered, effects });
        match session.batch("COMMIT").await {
            Ok(()) => self.is_committed(),
            Err(fault) => {
                if fault.leaves_the_connection() {
                    self.is_lost();
                }
                return Err(fault);
            }
        }
        Ok((answers, status))
    }

    /// Those who ask and may write.
    async fn live(&self, session: &Session, asks: &[Ask]) -> Result<Vec<OwnerId>, Fault> {
        let mut owners: Vec<_> =
            asks.iter().map(|ask| ask.owner.0 as i64).filter(|owner| *owner != 0).collect();
        owners.sort_unstable();
        owners.dedup();
        let mut live = vec![OwnerId::SOLE];
        if !owners.is_empty() {
            let rows = session.rows(LIVE, &[&owners]).await?;
            live.extend(rows.iter().map(|row| OwnerId(row.get::<_, i64>(0) as u64)));
        }
        Ok(live)
    }

    /// Has all requests answered. The answers, and those that are new with their requests.
    async fn turn(
        &mut self,
        session: &Session,
        now: Now,
        live: Vec<OwnerId>,
        asks: &[Ask],
    ) -> Result<(Answers, Vec<(Ask, Answer)>), Fault> {
        let mut turn = Turn {
            session,
            memory: &mut self.memory,
            now: self.skew.now(now),
            skew: self.skew,
            seed: self.identity.seed,
            owner: OwnerId::SOLE,
            live,
            effects: &mut self.effects,
            answered: Vec::new(),
        };
        turn.lock_keys_of(asks).await?;
        let mut answers = Vec::with_capacity(asks.len());
        for ask in asks {
            answers.push(turn.answer(ask).await?);
        }
        Ok((answers, turn.answered))
    }

    /// Tells others that something waits; they hear it when it is committed.
    async fn hint(&mut self, session: &Session) -> Result<(), Fault> {
        let is_time = self.hinted.is_none_or(|at| at.elapsed() > HINT_EVERY);
        if self.effects.hint && is_time {
            session.rows(HINT, &[&self.identity.channel, &self.identity.name]).await?;
            self.hinted = Some(Instant::now());
        }
        Ok(())
    }

    async fn status(&mut self, session: &Session, reading: &Reading) -> Result<Status, Fault> {
        let asked = reading.wall();
        let heads = Heads::ask(session, &mut self.memory).await?;
        self.clock.learn(&mut self.skew, reading, asked, heads.server_clock);
        Ok(heads.status(&self.memory, self.skew))
    }

    async fn measure(&mut self, session: &Session, reading: &Reading) -> Result<(), Fault> {
        let asked = reading.wall();
        if let Some(row) = session.row(CLOCK, &[]).await? {
            self.clock.learn(&mut self.skew, reading, asked, row.get(0));
        }
        self.is_measured = true;
        Ok(())
    }

    /// Learns what became of a transaction whose commit was not heard of.
    async fn settle_pending(&mut self, session: &Session) -> Result<(), Fault> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let fate = match session.row(FATE, &[&pending.transaction]).await {
            // A follower took over that has not come so far: to it, the transaction is yet to begin.
            Err(fault) if fault.is_bad_value() => None,
            fate => fate?,
        };
        match fate.and_then(|row| row.get::<_, Option<String>>(0)).as_deref() {
            Some("committed") => self.is_committed(),
            Some("in progress") => {
                return Err(Fault::Gone("an earlier commit is still on its way".to_owned()));
            }
            _ => self.is_lost(),
        }
        Ok(())
    }

    fn is_committed(&mut self) {
        if let Some(Pending { answered, effects, .. }) = self.pending.take() {
            self.effects = effects;
            self.commit(answered);
        }
    }

    fn is_lost(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.effects = pending.effects;
            self.abandon();
        }
    }

    /// What was answered holds.
    fn commit(&mut self, answered: Vec<(Ask, Answer)>) {
        let Effects { unfinished, worn, gone, .. } = std::mem::take(&mut self.effects);
        self.memory.unfinished.change(unfinished);
        self.wear(worn);
        for (ask, answer) in answered {
            self.memory.keep(&ask, answer);
        }
        for owner in gone {
            self.memory.forget_owner(owner);
        }
    }

    /// Has the table swept when it is time.
    fn wear(&mut self, worn: i64) {
        self.worn += worn;
        if self.worn > WORN_MAX.max(self.memory.unfinished.tasks() as i64 / WORN_PART) {
            self.worn = 0;
            self.sweeper.sweep();
        }
    }

    /// What the last transaction would have brought about is not.
    fn abandon(&mut self) {
        let Effects { lanes, .. } = std::mem::take(&mut self.effects);
        if !lanes.is_empty() {
            self.memory.lanes.retain(|lane| !lanes.contains(&lane));
        }
    }
}

/// A reply that says nothing yet.
fn nothing(ask: &Ask) -> Reply {
    Reply { to: ask.from, no: ask.no, answer: Ok(Answer::Learned), status: Status::default() }
}
