//! Claims, preloads and promotions: how rows leave the board for a yard.

use std::sync::Arc;

use super::Board;
use super::row::Row;
use crate::dispatch::Outcome;
use crate::id::{PoolId, TaskId};
use crate::store::{Answer, Claimed, RowState};
use crate::task::{DueAt, Task};
use crate::time::{Now, Timestamp};

/// The two ways to claim; each remembers its last answer, so that a repeated question gets the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Claim,
    Preload,
}

/// The last answer of a kind for a pool.
#[derive(Debug, Default)]
pub(super) struct Last {
    no: u64,
    ids: Vec<TaskId>,
}

impl Board {
    pub(super) fn claim(&mut self, now: Now, no: u64, pool: PoolId, ready: usize, unjudged: usize) -> Answer {
        if let Some(answer) = self.repeated(no, pool, Kind::Claim) {
            return answer;
        }
        let mut taken = Vec::new();
        let mut expired = Vec::new();
        while taken.len() < ready
            && let Some((order, lane)) = self.ready.first(pool)
        {
            let id = self.ready.remove(lane, self.lanes.pools(lane), order);
            self.take(now, id, pool, DueAt::Now, &mut taken, &mut expired);
        }
        let limit = taken.len() + unjudged;
        while taken.len() < limit
            && let Some((order, lane)) = self.unjudged.first(pool)
        {
            let id = self.unjudged.remove(lane, self.lanes.pools(lane), order);
            self.take(now, id, pool, DueAt::Now, &mut taken, &mut expired);
        }
        self.remember(no, pool, Kind::Claim, &taken, &expired);
        Answer::Claimed { rows: taken, expired }
    }

    pub(super) fn preload(
        &mut self,
        now: Now,
        no: u64,
        pool: PoolId,
        before: Timestamp,
        up_to: usize,
    ) -> Answer {
        if let Some(answer) = self.repeated(no, pool, Kind::Preload) {
            return answer;
        }
        let mut taken = Vec::new();
        let mut expired = Vec::new();
        while taken.len() < up_to
            && let Some(((due, order), lane)) = self.parked.first(pool).filter(|((due, _), _)| *due < before)
        {
            let id = self.parked.remove(lane, self.lanes.pools(lane), (due, order));
            if let Some(row) = id.and_then(|id| self.rows.get_mut(id)) {
                self.keys.admit(row, true);
            }
            self.take(now, id, pool, DueAt::Wall(due), &mut taken, &mut expired);
        }
        self.remember(no, pool, Kind::Preload, &taken, &expired);
        Answer::Claimed { rows: taken, expired }
    }

    /// Claims a row that was taken out of its index, unless it has expired.
    fn take(
        &mut self,
        now: Now,
        id: Option<TaskId>,
        pool: PoolId,
        due: DueAt,
        taken: &mut Vec<Claimed>,
        expired: &mut Vec<Arc<Task>>,
    ) {
        let Some((id, row)) = id.and_then(|id| Some((id, self.rows.get_mut(id)?))) else { return };
        if let Some(expires) = row.expires {
            self.expiring.remove(&(expires, id));
        }
        if is_expired(row, now) {
            expired.push(Arc::clone(&row.task));
            self.end(id, Outcome::Expired);
            return;
        }
        row.state = RowState::Claimed;
        row.epoch += 1;
        taken.push(row.claimed(pool, due));
    }

    fn remember(&mut self, no: u64, pool: PoolId, kind: Kind, taken: &[Claimed], expired: &[Arc<Task>]) {
        if !expired.is_empty() {
            self.remember_told(no, expired);
        }
        let last = self.claims.entry((pool, kind)).or_default();
        last.no = no;
        last.ids.clear();
        last.ids.extend(taken.iter().map(|claimed| claimed.task.id));
    }

    /// The answer to a question that was asked before: the same rows, as far as they are still claimed.
    fn repeated(&self, no: u64, pool: PoolId, kind: Kind) -> Option<Answer> {
        let last = self.claims.get(&(pool, kind)).filter(|last| no <= last.no)?;
        let ids = if no == last.no { last.ids.as_slice() } else { &[] };
        let rows =
            ids.iter().filter_map(|id| self.rows.get(*id)).filter(|row| row.state == RowState::Claimed);
        let due = |row: &Row| if kind == Kind::Preload { DueAt::Wall(row.due) } else { DueAt::Now };
        let rows = rows.map(|row| row.claimed(pool, due(row))).collect();
        Some(Answer::Claimed { rows, expired: self.told_before(no).unwrap_or_default() })
    }

    /// Makes what is due ready, behind or unjudged, and ends what has expired.
    pub(super) fn promote(&mut self, now: Now, no: u64, up_to: usize) -> Answer {
        if let Some(expired) = self.told_before(no) {
            return Answer::Promoted { expired };
        }
        let mut expired = Vec::new();
        while expired.len() < up_to
            && let Some((_, id)) = self.expiring.first().copied().filter(|(at, _)| *at <= now.wall)
        {
            expired.extend(self.rows.get(id).map(|row| Arc::clone(&row.task)));
            self.lift(id);
            self.end(id, Outcome::Expired);
        }
        for _ in 0..up_to {
            let due = self.parked.first_of_all().filter(|((due, _), _)| *due <= now.wall);
            let Some((key, lane)) = due else { break };
            let Some(id) = self.parked.remove(lane, self.lanes.pools(lane), key) else { break };
            if let Some((expires, id)) = self.rows.get(id).and_then(|row| Some((row.expires?, id))) {
                self.expiring.remove(&(expires, id));
            }
            self.file(now, id);
        }
        self.remember_told(no, &expired);
        Answer::Promoted { expired }
    }
}

fn is_expired(row: &Row, now: Now) -> bool {
    row.expires.is_some_and(|at| at <= now.wall)
}
