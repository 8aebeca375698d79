//! One request within a transaction: who asks, at what time, and how the answer is found.

use std::cell::RefCell;

use rusqlite::Connection;
use taskyard_core::Now;
use taskyard_core::board::Settings;
use taskyard_core::id::PoolId;
use taskyard_core::names::TaskName;
use taskyard_core::store::{Answer, OwnerId, Request, StoreError};
use taskyard_core::time::micros;

use super::Sql;
use super::clock::BootClock;
use super::late::Late;
use super::mirror::Mirror;
use crate::store::setup::Defaults;

/// What is the same for all requests.
pub(super) struct Rules {
    pub(super) settings: Settings,
    pub(super) defaults: Defaults,
    pub(super) clock: Box<dyn BootClock>,
}

/// A request at work.
pub(super) struct Turn<'t> {
    /// For the other tables: those of tasks and of history are asked through [`Turn::db`].
    pub(super) others: &'t Connection,
    /// What is to be written to those two.
    pub(super) late: &'t RefCell<Late>,
    pub(super) mirror: &'t mut Mirror,
    pub(super) rules: &'t Rules,
    pub(super) now: Now,
    /// Who asks.
    pub(super) owner: OwnerId,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(super) enum Failed {
    /// It is refused for good; others are not concerned.
    Refused(StoreError),
    /// The transaction is lost.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl<'t> Turn<'t> {
    /// Refuses what an owner that is gone or fenced may not.
    pub(super) fn check_owner(&self, request: &Request) -> Result<(), Failed> {
        if request.is_for_anybody() || self.may_write()? {
            Ok(())
        } else {
            Err(Failed::Refused(StoreError::Fenced))
        }
    }

    /// The answer to a request that was answered before: the same, but for rows that were settled since.
    pub(super) fn repeated(&self, answer: &Answer) -> Sql<Answer> {
        let Answer::Claimed { rows, expired } = answer else { return Ok(answer.clone()) };
        let mut held = Vec::new();
        for claimed in rows {
            let row = self.row_at(claimed.order.sequence)?.filter(|row| row.is_held_by(self.owner));
            held.extend(row.filter(|row| row.epoch == claimed.epoch).map(|_| claimed.clone()));
        }
        Ok(Answer::Claimed { rows: held, expired: expired.clone() })
    }

    /// The answer to a request that was not answered before.
    pub(super) fn carry_out(&mut self, request: &Request) -> Sql<Answer> {
        Ok(match request {
            Request::Post { rows, room } => Answer::Posted(self.post(rows, room.clone())?),
            Request::Claim { pool, ready, unjudged } => self.claim(*pool, *ready, *unjudged)?,
            Request::Preload { pool, before, up_to } => self.preload(*pool, *before, *up_to)?,
            Request::Settle(items) => Answer::Settled(self.settle(items)?),
            Request::MarkStart(name) => Answer::Marked(self.mark_start(*name)?),
            Request::Promote { up_to } => self.promote(*up_to)?,
            Request::Cancel { filter, after } => self.cancel(filter, *after)?,
            Request::Reschedule { id, due } => Answer::Rescheduled(self.reschedule(*id, *due)?),
            Request::Get(id) => Answer::Task(self.view(*id)?.map(Box::new)),
            Request::List { filter, after, limit } => self.list(filter, *after, *limit)?,
            Request::Count => Answer::Counts(self.counts()),
            Request::CountOf { filter, after } => self.counts_of(filter, *after)?,
            Request::Outcomes(ids) => Answer::Outcomes(self.outcomes(ids)?),
            Request::Learn { pool, names } => self.learn(*pool, names),
            Request::Register(registration) => Answer::Registered(self.register(registration)?),
            Request::Renew => Answer::Renewed(self.renew()?),
            Request::TakeOver { up_to } => self.take_over(*up_to)?,
            Request::Release => self.release()?,
            Request::Held => Answer::Held(self.held()?),
            Request::Owners => Answer::Owners(self.owners()?),
            Request::ListTrash { filter, after, limit } => self.list_trash(filter, *after, *limit)?,
            Request::Requeue { filter, up_to } => self.requeue(filter, *up_to)?,
            Request::Purge { filter, up_to } => self.purge(filter, *up_to)?,
            Request::Schedule { name, begin } => Answer::Schedule(self.schedule(name, *begin)?),
            Request::Tick { name, from, to, rows } => Answer::Ticked(self.tick(name, *from, *to, rows)?),
            Request::PauseSchedule { name, paused } => Answer::Schedule(self.pause_schedule(name, *paused)?),
            Request::Schedules => Answer::Schedules(self.schedules()?),
            Request::OpenBatch { hash } => Answer::Batch(self.open_batch(hash)?),
            Request::SealBatch(batch) => self.seal_batch(*batch)?,
            Request::Prune { ended_before, results_before, keep, up_to } => {
                self.prune(*ended_before, *results_before, *keep, *up_to)?
            }
        })
    }

    fn learn(&mut self, pool: PoolId, names: &[TaskName]) -> Answer {
        self.mirror.lanes.learn(pool, names);
        self.mirror.reroute();
        Answer::Learned
    }

    /// For the tables of tasks and of history, in which all now stands that was to be written.
    pub(super) fn db(&self) -> Sql<&'t Connection> {
        self.late.borrow_mut().write(self.others)?;
        Ok(self.others)
    }

    /// See [`Order`](taskyard_core::dispatch::Order).
    pub(super) fn aging(&self) -> i64 {
        micros(self.rules.settings.aging)
    }
}
