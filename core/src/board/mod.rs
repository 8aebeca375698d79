//! The memory Board: the record of every accepted task, answered as the durable stores answer.
//!
//! It never reads a clock and never decides what becomes of a task: it keeps, claims and settles as it is asked.

mod answer;
mod arrivals;
mod batches;
mod cancel;
mod claim;
mod ended;
mod extras;
mod keys;
mod owners;
mod place;
mod post;
mod prune;
mod query;
mod row;
mod rows;
mod schedules;
mod settle;
mod take_over;
mod told;
mod trash;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::defaults;
use crate::dispatch::Order;
use crate::id::{PoolId, PoolSet, TaskId};
use crate::lanes::{LaneTable, Laned};
use crate::machine::Machine;
use crate::names::TaskName;
use crate::router::Router;
use crate::store::{Answer, Ask, OwnerId, Reply, RowState, ScheduleState, Status, StoreError};
use crate::time::{Now, Timestamp};
use batches::Batches;
use ended::EndedTasks;
use keys::Keys;
use owners::Owners;
use rows::Rows;
use told::{Asked, Told};
use trash::Trash;

/// How a board is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many unfinished tasks it keeps.
    pub board_max: usize,
    /// How many lanes may have unfinished tasks.
    pub lanes_max: usize,
    /// See [`Order`]; zero: strictly by priority.
    pub aging: Duration,
    /// Whether a task that no pool takes is refused at submit, instead of waiting for a pool. Of other owners whose lease holds
    /// count the patterns: see [`others_take`](crate::store::others_take).
    pub reject_unroutable: bool,
    /// How many ended tasks are remembered; and as many of those in the trash, beside.
    pub remembered: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            board_max: defaults::BOARD_MAX,
            lanes_max: defaults::LANES_MAX,
            aging: defaults::AGING,
            reject_unroutable: false,
            remembered: defaults::REMEMBERED,
        }
    }
}

/// The memory board.
#[derive(Debug)]
pub struct Board {
    settings: Settings,
    sequence: u64,
    rows: Rows,
    lanes: LaneTable,
    parked: Laned<(Timestamp, Order), TaskId>,
    ready: Laned<Order, TaskId>,
    unjudged: Laned<Order, TaskId>,
    keys: Keys,
    expiring: BTreeSet<(Timestamp, TaskId)>,
    ended: EndedTasks,
    trash: Trash,
    owners: Owners,
    claims: BTreeMap<(OwnerId, PoolId, claim::Kind), claim::Last>,
    told: Told,
    schedules: BTreeMap<Box<str>, ScheduleState>,
    batches: Batches,
    stale_writes: u64,
    pools: Vec<PoolId>,
}

impl Board {
    /// An empty board whose tasks are routed by `router`.
    pub fn new(settings: Settings, router: Router) -> Self {
        let lanes = LaneTable::new(router);
        Self {
            ended: EndedTasks::new(settings.remembered),
            trash: Trash::new(settings.remembered),
            batches: Batches::new(settings.remembered),
            pools: lanes.all_pools(),
            settings,
            sequence: 0,
            rows: Rows::default(),
            lanes,
            parked: Laned::default(),
            ready: Laned::default(),
            unjudged: Laned::default(),
            keys: Keys::default(),
            expiring: BTreeSet::new(),
            owners: Owners::default(),
            claims: BTreeMap::new(),
            told: Told::default(),
            schedules: BTreeMap::new(),
            stale_writes: 0,
        }
    }

    /// How many tasks are unfinished.
    pub fn unfinished(&self) -> usize {
        self.rows.len()
    }

    /// How many requests were refused because the lease of the asking owner had been taken.
    pub fn stale_writes(&self) -> u64 {
        self.stale_writes
    }

    fn learn(&mut self, pool: PoolId, names: &[TaskName]) -> Answer {
        for change in self.lanes.learn(pool, names) {
            self.parked.reroute(&change);
            self.ready.reroute(&change);
            self.unjudged.reroute(&change);
        }
        Answer::Learned
    }

    fn status(&self) -> Status {
        Status {
            ready: self.pools_with(&self.ready),
            unjudged: self.pools_with(&self.unjudged),
            next_due: self.parked.first_of_all().map(|((due, _), _)| due),
            next_expiry: self.expiring.first().map(|(at, _)| *at),
        }
    }

    /// The pools for which some of these rows wait.
    fn pools_with(&self, rows: &Laned<Order, TaskId>) -> PoolSet {
        self.pools.iter().copied().filter(|pool| rows.first(*pool).is_some()).collect()
    }
}

impl Machine for Board {
    type Event = Ask;
    type Effect = Reply;

    fn handle(
        &mut self,
        now: Now,
        Ask { owner, from, no, request, oldest_open }: Ask,
        replies: &mut Vec<Reply>,
    ) {
        let asked = Asked { owner, from, no };
        self.told.forget_before(asked, oldest_open);
        if self.refuses(asked, &request) {
            self.stale_writes += 1;
            let answer = Err(StoreError::Fenced);
            return replies.push(Reply { to: from, no, answer, status: Status::default() });
        }
        let answer = Ok(self.answer(now, asked, &request));
        replies.push(Reply { to: from, no, answer, status: self.status() });
    }

    fn check_invariants(&self) {
        let pools = |lane| self.lanes.pools(lane).into();
        self.parked.check_invariants(pools);
        self.ready.check_invariants(pools);
        self.unjudged.check_invariants(pools);
        self.rows.check_invariants();
        self.keys.check_invariants(&self.rows);
        let count = |state| self.rows.values().filter(|row| row.state == state).count();
        assert_eq!(count(RowState::Parked), self.parked.len());
        assert_eq!(count(RowState::Ready), self.ready.len());
        assert_eq!(count(RowState::Unjudged), self.unjudged.len());
        assert_eq!(count(RowState::Ended), 0);
        let expiring =
            self.rows.values().filter(|row| row.state != RowState::Claimed && row.expires.at().is_some());
        assert_eq!(expiring.count(), self.expiring.len());
        self.check_owners();
        self.batches.check_invariants(|batch| {
            let extras = self.rows.values().filter_map(|row| row.extras.as_ref());
            extras.filter(|extras| extras.batch == Some(batch)).count()
        });
    }
}
