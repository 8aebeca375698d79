//! The first row of each lane in each state that waits for something, as the server sees it: what waits for which pool, what
//! is due next, and where a claim begins. A question costs the number of lanes in which something waits, not of rows.

use std::collections::BTreeMap;

use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::store::{RowState, Status};
use taskyard_core::time::Timestamp;

use super::clock::Skew;
use super::fault::Fault;
use super::link::Session;
use super::memory::Memory;
use super::names;
use crate::store::lanes::LaneNo;
use crate::store::record;

/// From each lane straight to the next one that has such a row.
macro_rules! walk {
    ($name:literal, $state:literal, $at:literal) => {
        concat!(
            $name,
            " AS ((SELECT lane, ",
            $at,
            " AS at FROM tasks WHERE state = ",
            $state,
            " ORDER BY lane, ",
            $at,
            " LIMIT 1) UNION ALL SELECT next.lane, next.at FROM ",
            $name,
            " CROSS JOIN LATERAL (SELECT lane, ",
            $at,
            " AS at FROM tasks WHERE state = ",
            $state,
            " AND lane > ",
            $name,
            ".lane ORDER BY lane, ",
            $at,
            " LIMIT 1) AS next)"
        )
    };
}

/// Beside the heads (by state) the first expiry (as state -1) and the server's clock (as -2).
const HEADS: &str = concat!(
    "WITH RECURSIVE ",
    walk!("ready", "3", "rank"),
    ", ",
    walk!("unjudged", "2", "rank"),
    ", ",
    walk!("parked", "0", "due"),
    " SELECT 3::smallint, lane, at FROM ready
    UNION ALL SELECT 2::smallint, lane, at FROM unjudged
    UNION ALL SELECT 0::smallint, lane, at FROM parked
    UNION ALL (SELECT -1::smallint, 0::bigint, expires FROM tasks
      WHERE state <> 4 AND expires IS NOT NULL ORDER BY expires LIMIT 1)
    UNION ALL SELECT -2::smallint, 0::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
);

const NEXT_EXPIRY: i16 = -1;
const SERVER_CLOCK: i16 = -2;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// By lane the rank of its first ready row.
    ready: BTreeMap<LaneNo, i64>,
    unjudged: BTreeMap<LaneNo, i64>,
    /// By lane the time when its first parked row is due.
    parked: BTreeMap<LaneNo, i64>,
    next_expiry: Option<Timestamp>,
    pub(super) server_clock: i64,
}

impl Heads {
    /// Asks the server, and for the names of lanes that are new here.
    pub(super) async fn ask(session: &Session, memory: &mut Memory) -> Result<Self, Fault> {
        let mut heads = Self::default();
        for row in session.rows(HEADS, &[]).await? {
            heads.add(row.get(0), LaneNo(row.get(1)), row.get(2));
        }
        names::load(session, memory, heads.lanes()).await?;
        Ok(heads)
    }

    fn add(&mut self, kind: i16, lane: LaneNo, at: i64) {
        match kind {
            NEXT_EXPIRY => self.next_expiry = Some(Timestamp(at)),
            SERVER_CLOCK => self.server_clock = at,
            state => drop(self.of_mut(record::state(state)).insert(lane, at)),
        }
    }

    fn of_mut(&mut self, state: RowState) -> &mut BTreeMap<LaneNo, i64> {
        match state {
            RowState::Ready => &mut self.ready,
            RowState::Unjudged => &mut self.unjudged,
            _ => &mut self.parked,
        }
    }

    fn of(&self, state: RowState) -> &BTreeMap<LaneNo, i64> {
        match state {
            RowState::Ready => &self.ready,
            RowState::Unjudged => &self.unjudged,
            _ => &self.parked,
        }
    }

    /// All lanes in which something waits.
    pub(super) fn lanes(&self) -> impl Iterator<Item = LaneNo> {
        self.ready.keys().chain(self.unjudged.keys()).chain(self.parked.keys()).copied()
    }

    /// The pools for which something waits in this state.
    pub(super) fn pools(&self, memory: &Memory, state: RowState) -> PoolSet {
        self.of(state).keys().flat_map(|lane| memory.lanes.pools(*lane)).copied().collect()
    }

    /// The lanes in which something waits in this state, the first first; of a pool, or all. No more than `at_most`: so
    /// many rows that are first of all stand in so many of the first lanes.
    pub(super) fn first_lanes(
        &self,
        memory: &Memory,
        state: RowState,
        pool: Option<PoolId>,
        at_most: usize,
    ) -> Vec<i64> {
        let takes = |lane: LaneNo| pool.is_none_or(|pool| memory.lanes.pools(lane).contains(&pool));
        let mut lanes: Vec<_> = self.of(state).iter().filter(|(lane, _)| takes(**lane)).collect();
        lanes.sort_unstable_by_key(|(lane, at)| (**at, **lane));
        lanes.into_iter().take(at_most).map(|(lane, _)| lane.0).collect()
    }

    /// Whether a row that nobody has, has expired.
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.next_expiry.is_some_and(|at| at <= now)
    }

    /// What the yard is told of it.
    pub(super) fn status(&self, memory: &Memory, skew: Skew) -> Status {
        let next_due = self.parked.values().copied().reduce(i64::min).map(Timestamp);
        Status {
            ready: self.pools(memory, RowState::Ready),
            unjudged: self.pools(memory, RowState::Unjudged),
            next_due: next_due.map(|at| skew.to_yard(at)),
            next_expiry: self.next_expiry.map(|at| skew.to_yard(at)),
        }
    }
}
