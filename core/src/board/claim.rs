//! Claims, preloads and promotions: how rows leave the board for a yard.

use std::sync::Arc;

use super::Board;
use super::row::Row;
use super::told::Asked;
use crate::dispatch::Outcome;
use crate::id::{PoolId, TaskId};
use crate::store::{Answer, Claimed};
use crate::task::{DueAt, Task};
use crate::time::{Now, Timestamp};

/// The two ways to claim; each remembers its last answer, so that a repeated question gets the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Claim,
    Preload,
}

/// The last answer of a kind for a pool of an owner.
#[derive(Debug, Default)]
pub(super) struct Last {
    no: u64,
    ids: Vec<TaskId>,
}

/// What a claim brings together.
struct Haul {
    asked: Asked,
    pool: PoolId,
    rows: Vec<Claimed>,
    expired: Vec<Arc<Task>>,
}

impl Haul {
    fn new(asked: Asked, pool: PoolId) -> Self {
        Self { asked, pool, rows: Vec::new(), expired: Vec::new() }
    }
}

impl Board {
    pub(super) fn claim(
        &mut self,
        now: Now,
        asked: Asked,
        pool: PoolId,
        ready: usize,
        unjudged: usize,
    ) -> Answer {
        if let Some(answer) = self.repeated(asked, pool, Kind::Claim) {
            return answer;
        }
        let mut haul = Haul::new(asked, pool);
        while haul.rows.len() < ready
            && let Some((order, lane)) = self.ready.first(pool)
        {
            let id = self.ready.remove(lane, self.lanes.pools(lane), order);
            self.take(now, id, DueAt::Now, &mut haul);
        }
        let limit = haul.rows.len() + unjudged;
        while haul.rows.len() < limit
            && let Some((order, lane)) = self.unjudged.first(pool)
        {
            let id = self.unjudged.remove(lane, self.lanes.pools(lane), order);
            self.take(now, id, DueAt::Now, &mut haul);
        }
        self.bring_home(haul, Kind::Claim)
    }

    pub(super) fn preload(
        &mut self,
        now: Now,
        asked: Asked,
        pool: PoolId,
        before: Timestamp,
        up_to: usize,
    ) -> Answer {
        if let Some(answer) = self.repeated(asked, pool, Kind::Preload) {
            return answer;
        }
        let mut haul = Haul::new(asked, pool);
        while haul.rows.len() < up_to
            && let Some(((due, order), lane)) = self.parked.first(pool).filter(|((due, _), _)| *due < before)
        {
            let id = self.parked.remove(lane, self.lanes.pools(lane), (due, order));
            if let Some(row) = id.and_then(|id| self.rows.get_mut(id)) {
                self.keys.admit(row, true);
            }
            self.take(now, id, DueAt::Wall(due), &mut haul);
        }
        self.bring_home(haul, Kind::Preload)
    }

    /// Claims a row that was taken out of its index, unless it has expired.
    fn take(&mut self, now: Now, id: Option<TaskId>, due: DueAt, haul: &mut Haul) {
        let Some((id, row)) = id.and_then(|id| Some((id, self.rows.get_mut(id)?))) else { return };
        if let Some(expires) = row.expires.at() {
            self.expiring.remove(&(expires, id));
        }
        if row.expires.has_come(now) {
            haul.expired.push(Arc::clone(&row.task));
            return self.end(now, id, Outcome::Expired);
        }
        row.begin(haul.asked.owner);
        self.owners.hold(row.owner, row.order.sequence, id);
        haul.rows.push(row.claimed(haul.pool, due));
    }

    /// Remembers what is claimed, and answers.
    fn bring_home(&mut self, Haul { asked, pool, rows, expired }: Haul, kind: Kind) -> Answer {
        if !expired.is_empty() {
            self.told.remember(asked, Answer::Promoted { expired: expired.clone() });
        }
        let last = self.claims.entry((asked.owner, pool, kind)).or_default();
        last.no = asked.no;
        last.ids.clear();
        last.ids.extend(rows.iter().map(|claimed| claimed.task.id));
        Answer::Claimed { rows, expired }
    }

    /// The answer to a question that was asked before: the same rows, as far as they are still claimed.
    fn repeated(&self, asked: Asked, pool: PoolId, kind: Kind) -> Option<Answer> {
        let last = self.claims.get(&(asked.owner, pool, kind)).filter(|last| asked.no <= last.no)?;
        let ids = if asked.no == last.no { last.ids.as_slice() } else { &[] };
        let rows = ids.iter().filter_map(|id| self.rows.get(*id)).filter(|row| row.is_held_by(asked.owner));
        let due = |row: &Row| if kind == Kind::Preload { DueAt::Wall(row.due) } else { DueAt::Now };
        let rows = rows.map(|row| row.claimed(pool, due(row))).collect();
        Some(Answer::Claimed { rows, expired: self.told_expired(asked).unwrap_or_default() })
    }

    /// What expired by this request when it was asked before; `None`: nothing is known of it.
    fn told_expired(&self, asked: Asked) -> Option<Vec<Arc<Task>>> {
        match self.told.before(asked)? {
            Answer::Promoted { expired } => Some(expired.clone()),
            _ => None,
        }
    }

    /// Makes what is due ready, behind or unjudged, and ends what has expired.
    pub(super) fn promote(&mut self, now: Now, up_to: usize) -> Answer {
        let mut expired = Vec::new();
        while expired.len() < up_to
            && let Some((_, id)) = self.expiring.first().copied().filter(|(at, _)| *at <= now.wall)
        {
            expired.extend(self.rows.get(id).map(|row| Arc::clone(&row.task)));
            self.lift(id);
            self.end(now, id, Outcome::Expired);
        }
        for _ in 0..up_to {
            let due = self.parked.first_of_all().filter(|((due, _), _)| *due <= now.wall);
            let Some((key, lane)) = due else { break };
            let Some(id) = self.parked.remove(lane, self.lanes.pools(lane), key) else { break };
            if let Some((expires, id)) = self.rows.get(id).and_then(|row| Some((row.expires.at()?, id))) {
                self.expiring.remove(&(expires, id));
            }
            self.file(now, id);
        }
        Answer::Promoted { expired }
    }
}
