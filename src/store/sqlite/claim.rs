//! Claims and preloads: how rows leave the board for a yard. The heads of the lanes are merged: no row is looked at that
//! cannot be taken.

use std::sync::Arc;

use rusqlite::params;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::PoolId;
use taskyard_core::store::{Answer, Claimed, RowState};
use taskyard_core::task::{DueAt, Task};
use taskyard_core::time::Timestamp;

use super::Sql;
use super::mirror::{ParkedPlace, Place};
use super::row::{Row, select_rows};
use super::turn::Turn;
use crate::store::lanes::LaneNo;

/// How many rows are read at once.
const CHUNK: usize = 256;

/// What a claim has so far.
#[derive(Default)]
struct Taken {
    rows: Vec<Claimed>,
    expired: Vec<Arc<Task>>,
}

impl Turn<'_> {
    pub(super) fn claim(&mut self, pool: PoolId, ready: usize, unjudged: usize) -> Sql<Answer> {
        let mut taken = Taken::default();
        self.claim_waiting(pool, RowState::Ready, ready, &mut taken)?;
        let limit = taken.rows.len() + unjudged;
        self.claim_waiting(pool, RowState::Unjudged, limit, &mut taken)?;
        Ok(Answer::Claimed { rows: taken.rows, expired: taken.expired })
    }

    fn claim_waiting(&mut self, pool: PoolId, state: RowState, limit: usize, taken: &mut Taken) -> Sql<()> {
        while taken.rows.len() < limit {
            let chunk = self.next_waiting(Some(pool), state, limit - taken.rows.len())?;
            if chunk.is_empty() {
                break;
            }
            for row in chunk {
                if !self.take(row, pool, DueAt::Now, taken)? {
                    // What waited behind it may go before the others.
                    break;
                }
            }
        }
        Ok(())
    }

    pub(super) fn preload(&mut self, pool: PoolId, before: Timestamp, up_to: usize) -> Sql<Answer> {
        let mut taken = Taken::default();
        while taken.rows.len() < up_to {
            let last = Timestamp(before.0.saturating_sub(1));
            let chunk = self.next_parked(Some(pool), last, up_to - taken.rows.len())?;
            if chunk.is_empty() {
                break;
            }
            for row in chunk {
                let due = DueAt::Wall(row.due);
                self.take(row, pool, due, &mut taken)?;
            }
        }
        Ok(Answer::Claimed { rows: taken.rows, expired: taken.expired })
    }

    /// Claims a row, unless it has expired or can't be understood.
    fn take(&mut self, before: Row, pool: PoolId, due: DueAt, taken: &mut Taken) -> Sql<bool> {
        let task = match self.task_of(&before)? {
            Ok(task) => task,
            Err(why) => return self.trash_unreadable(&before, why).map(|()| false),
        };
        if before.expires.is_some_and(|at| at <= self.now.wall) {
            taken.expired.push(task);
            return self.end(&before, &Outcome::Expired).map(|()| false);
        }
        let mut row = before.clone();
        Self::admit_anyway(&mut row);
        self.begin(&mut row);
        self.update(&before, &row)?;
        taken.rows.push(row.claimed(task, pool, due, self.aging()));
        Ok(true)
    }

    /// The first ready (or unjudged) rows that a pool takes, at most so many and all of one lane; none if there is none.
    fn next_waiting(&mut self, pool: Option<PoolId>, state: RowState, at_most: usize) -> Sql<Vec<Row>> {
        self.mirror.look_up_waiting(self.db()?, state)?;
        let unjudged = state == RowState::Unjudged;
        let heads = if unjudged { &self.mirror.unjudged } else { &self.mirror.ready };
        let Some((lane, _, end)) = heads.first(pool) else { return Ok(Vec::new()) };
        let query = if unjudged { UNJUDGED } else { READY };
        let (rank, sequence) = end.unwrap_or(Place::from((i64::MAX, i64::MAX as u64)));
        let chunk = params![lane.0, rank, sequence as i64, at_most.min(CHUNK) as i64];
        self.db()?.prepare_cached(query)?.query_map(chunk, Row::read)?.collect()
    }

    /// The first rows that are parked until `last` at the latest and that a pool takes (`None`: of all), at most so many and
    /// all of one lane; none if there is none.
    pub(super) fn next_parked(
        &mut self,
        pool: Option<PoolId>,
        last: Timestamp,
        at_most: usize,
    ) -> Sql<Vec<Row>> {
        self.mirror.look_up_parked(self.db()?)?;
        match self.mirror.parked.first(pool) {
            Some((lane, (due, ..), end)) if due <= last => self.parked_before(lane, last, end, at_most),
            _ => Ok(Vec::new()),
        }
    }

    fn parked_before(
        &self,
        lane: LaneNo,
        last: Timestamp,
        end: Option<ParkedPlace>,
        at_most: usize,
    ) -> Sql<Vec<Row>> {
        let last = end.map_or(last, |(due, ..)| due.min(last));
        let chunk = params![lane.0, last.0, at_most.min(CHUNK) as i64];
        let mut query = self.db()?.prepare_cached(PARKED)?;
        let rows = query.query_map(chunk, Row::read)?;
        let is_before = |row: &Row| end.is_none_or(|end| row.parked_place() < end);
        // Rows of the same due time as the next lane's first may go after it.
        rows.take_while(|row| row.as_ref().map_or(true, is_before)).collect()
    }
}

const READY: &str = select_rows!(
    "INDEXED BY task_waiting WHERE state IN (2, 3) AND state = 3 AND lane = ?1 AND (rank, sequence) < (?2, ?3)
     ORDER BY rank, sequence LIMIT ?4"
);
const UNJUDGED: &str = select_rows!(
    "INDEXED BY task_waiting WHERE state IN (2, 3) AND state = 2 AND lane = ?1 AND (rank, sequence) < (?2, ?3)
     ORDER BY rank, sequence LIMIT ?4"
);
const PARKED: &str = select_rows!(
    "INDEXED BY task_parked WHERE state = 0 AND lane = ?1 AND due <= ?2
     ORDER BY due, priority DESC, sequence LIMIT ?3"
);
