//! The board in an SQLite file: one writer, whose requests are committed together.
//!
//! Several processes may share the file; each reads anew what another changed, under the write lock. A board that only this
//! process uses is read at the start and never again, but for the rows that are asked for. The file is opened and migrated
//! in `open`, its tables stand in `schema`; what the answers are is decided in `turn` and below.

mod attempts;
mod batches;
mod cancel;
mod claim;
mod clock;
mod end;
mod error;
mod file;
mod heads;
mod keys;
mod late;
mod log;
mod mirror;
mod open;
mod owners;
mod post;
mod promote;
mod prune;
mod query;
mod row;
mod schedules;
mod schema;
mod settle;
mod table;
mod take_over;
mod tallies;
mod trash;
mod turn;
mod verify;

use std::cell::RefCell;

use rusqlite::Connection;
use taskyard_actors::store::Store;
use taskyard_core::Now;
use taskyard_core::store::{Answer, Ask, Reply, Request, Status, StoreError};

pub use clock::{BootClock, KernelClock};
pub use error::SqliteError;
pub use open::Options;

use self::error::{concerns_all, refusal};
use self::file::Identity;
use self::late::Late;
use self::log::LogKeeper;
use self::mirror::Mirror;
use self::turn::{Failed, Rules, Turn};
use crate::store::remembered::{Remembered, must_be_kept};

/// What a statement gives, or SQLite's error.
type Sql<T> = rusqlite::Result<T>;

/// A board in an SQLite file. See the [module](self).
pub struct Sqlite {
    /// Before the connection: the last one that closes writes back what is left.
    log: LogKeeper,
    db: Connection,
    file: Identity,
    mirror: Mirror,
    late: RefCell<Late>,
    rules: Rules,
    remembered: Remembered<Answer>,
    stale_writes: u64,
}

/// The answers of a transaction, and how the board stands after it.
type Answers = (Vec<Result<Answer, StoreError>>, Status);

impl Sqlite {
    /// How many requests were refused because the lease of the asking owner had been taken.
    pub fn stale_writes(&self) -> u64 {
        self.stale_writes
    }

    /// Answers all in one transaction.
    fn commit(&mut self, now: Now, asks: &[Ask]) -> Sql<Answers> {
        let looks = asks.iter().all(|ask| ask.request.only_looks());
        self.execute(if looks { "BEGIN" } else { "BEGIN IMMEDIATE" })?;
        let committed = self.within(now, asks).and_then(|answers| self.execute("COMMIT").map(|()| answers));
        match &committed {
            Err(_) => self.roll_back(asks),
            Ok(_) if !looks => self.tend_the_log(),
            Ok(_) => {}
        }
        committed
    }

    /// What was committed stays so if this fails: the next commit meets what is wrong.
    fn tend_the_log(&mut self) {
        if let Err(error) = self.log.committed(&self.db) {
            tracing::debug!(%error, "the log was not written back");
        }
    }

    fn within(&mut self, now: Now, asks: &[Ask]) -> Sql<Answers> {
        self.mirror.refresh(&self.db)?;
        let mut answers = Vec::with_capacity(asks.len());
        for ask in asks {
            answers.push(match self.answer_one(now, ask) {
                Ok(answer) => Ok(answer),
                Err(Failed::Refused(error)) => Err(error),
                Err(Failed::Broken(error)) => return Err(error),
            });
        }
        self.late.get_mut().write(&self.db)?;
        self.mirror.flush(&self.db)?;
        Ok((answers, self.mirror.status(&self.db)?))
    }

    fn answer_one(&mut self, now: Now, ask: &Ask) -> Result<Answer, Failed> {
        let Self { db, mirror, late, rules, remembered, .. } = self;
        let mut turn = Turn { others: db, late, mirror, rules, now, owner: ask.owner };
        turn.check_owner(&ask.request)?;
        if let Some(answer) = remembered.recall(ask) {
            return Ok(turn.repeated(answer)?);
        }
        if remembered.is_late(ask) {
            return Ok(Answer::Claimed { rows: Vec::new(), expired: Vec::new() });
        }
        let answer = turn.carry_out(&ask.request)?;
        if must_be_kept(&ask.request) {
            remembered.keep(ask, answer.clone());
        }
        Ok(answer)
    }

    /// Nothing of it was done, and nothing was said.
    fn roll_back(&mut self, asks: &[Ask]) {
        if !self.db.is_autocommit() {
            // If even this fails the connection is of no use; each later request will say so.
            let _ = self.execute("ROLLBACK");
        }
        self.mirror.doubt();
        self.late.get_mut().drop_all();
        for ask in asks {
            self.remembered.discard(ask);
        }
    }

    fn execute(&self, statement: &str) -> Sql<()> {
        self.db.prepare_cached(statement)?.execute([]).map(drop)
    }

    /// Each in a transaction of its own: what one of them meets does not spoil the others.
    fn answer_alone(&mut self, now: Now, ask: &Ask) -> Reply {
        let asks = std::slice::from_ref(ask);
        match self.commit(now, asks) {
            Ok((mut answers, status)) => {
                let nothing = || Err(StoreError::Unknown("no answer".into()));
                self.reply(ask, answers.pop().unwrap_or_else(nothing), status)
            }
            Err(error) => self.reply(ask, Err(refusal(&error)), Status::default()),
        }
    }

    fn reply(&mut self, ask: &Ask, answer: Result<Answer, StoreError>, status: Status) -> Reply {
        match (&answer, &*ask.request) {
            (Err(StoreError::Fenced), _) => {
                self.stale_writes += 1;
                self.remembered.forget_owner(ask.owner);
            }
            (Ok(Answer::Released), Request::Release) => self.remembered.forget_owner(ask.owner),
            _ => {}
        }
        let status = if answer.is_ok() { status } else { Status::default() };
        Reply { to: ask.from, no: ask.no, answer, status }
    }

    fn refuse_all(asks: &[Ask], error: &StoreError) -> Vec<Reply> {
        let refuse = |ask: &Ask| Reply {
            to: ask.from,
            no: ask.no,
            answer: Err(error.clone()),
            status: Status::default(),
        };
        asks.iter().map(refuse).collect()
    }

    fn look_anew(&mut self) -> Sql<Option<Status>> {
        self.execute("BEGIN")?;
        let looked = self
            .mirror
            .refresh(&self.db)
            .and_then(|changed| if changed { self.mirror.status(&self.db).map(Some) } else { Ok(None) });
        self.execute("COMMIT")?;
        looked
    }
}

impl Store for Sqlite {
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        if let Err(error) = self.file.check() {
            return Self::refuse_all(asks, &error);
        }
        match self.commit(now, asks) {
            Ok((answers, status)) => {
                let replies = asks.iter().zip(answers);
                replies.map(|(ask, answer)| self.reply(ask, answer, status)).collect()
            }
            Err(error) if asks.len() == 1 || concerns_all(&error) => Self::refuse_all(asks, &refusal(&error)),
            Err(_) => asks.iter().map(|ask| self.answer_alone(now, ask)).collect(),
        }
    }

    fn look(&mut self, _now: Now) -> Option<Status> {
        self.file.check().ok()?;
        let looked = self.look_anew();
        if looked.is_err() {
            self.roll_back(&[]);
        }
        looked.ok().flatten()
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("file", &self.file).finish_non_exhaustive()
    }
}
