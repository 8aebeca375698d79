//! The memory Board: the record of every accepted task, answered as the durable stores answer.
//!
//! It never reads a clock and never decides what becomes of a task: it keeps, claims and settles as it is asked.

mod claim;
mod ended;
mod keys;
mod post;
mod query;
mod row;
mod rows;
mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::defaults;
use crate::dispatch::Order;
use crate::id::{PoolId, PoolSet, TaskId};
use crate::lanes::{LaneTable, Laned};
use crate::machine::Machine;
use crate::router::Router;
use crate::store::{Answer, Ask, Reply, Request, RowState, Status};
use crate::task::Task;
use crate::time::{Now, Timestamp};
use ended::EndedTasks;
use keys::Keys;
use rows::Rows;

/// How a board is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many unfinished tasks it keeps.
    pub board_max: usize,
    /// How many lanes may have unfinished tasks.
    pub lanes_max: usize,
    /// See [`Order`]; zero: strictly by priority.
    pub aging: Duration,
    /// Whether a task that no pool takes is refused at submit, instead of waiting for a pool.
    pub reject_unroutable: bool,
    /// How many ended tasks are remembered.
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
    claims: BTreeMap<(PoolId, claim::Kind), claim::Last>,
    /// Tasks that ended by a request whose answer may be lost, by the request's number. A repetition is told the same and
    /// ends no others: of its second answer nobody takes notice if the first one was only late.
    told: BTreeMap<u64, Vec<Arc<Task>>>,
    pools: Vec<PoolId>,
}

impl Board {
    /// An empty board whose tasks are routed by `router`.
    pub fn new(settings: Settings, router: Router) -> Self {
        let lanes = LaneTable::new(router);
        Self {
            ended: EndedTasks::new(settings.remembered),
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
            claims: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// How many tasks are unfinished.
    pub fn unfinished(&self) -> usize {
        self.rows.len()
    }

    fn answer(&mut self, now: Now, no: u64, request: &Request) -> Answer {
        match request {
            Request::Post { rows, room } => Answer::Posted(self.post(now, rows, room.clone())),
            Request::Claim { pool, ready, unjudged } => self.claim(now, no, *pool, *ready, *unjudged),
            Request::Preload { pool, before, up_to } => self.preload(now, no, *pool, *before, *up_to),
            Request::Settle(items) => {
                Answer::Settled(items.iter().map(|item| self.settle(now, item)).collect())
            }
            Request::Promote { up_to } => self.promote(now, no, *up_to),
            Request::Cancel { filter, .. } => self.cancel(no, filter),
            Request::Reschedule { id, due } => Answer::Rescheduled(self.reschedule(now, *id, *due)),
            Request::Get(id) => Answer::Task(self.view(*id).map(Box::new)),
            Request::List { filter, after, limit } => self.list(filter, *after, *limit),
            Request::Count => Answer::Counts(self.counts()),
            Request::Learn { pool, names } => {
                for change in self.lanes.learn(*pool, names) {
                    self.parked.reroute(&change);
                    self.ready.reroute(&change);
                    self.unjudged.reroute(&change);
                }
                Answer::Learned
            }
            // The rest is answered by a board that is shared.
            _ => Answer::Learned,
        }
    }

    /// Remembers what ended by this request, for as long as it may be asked again.
    fn remember_told(&mut self, no: u64, tasks: &[Arc<Task>]) {
        self.told.insert(no, tasks.to_vec());
    }

    /// What ended by this request when it was asked before; `None`: it was not.
    fn told_before(&self, no: u64) -> Option<Vec<Arc<Task>>> {
        self.told.get(&no).cloned()
    }

    /// Takes a row out of the index of its state. Its state then no longer holds until it is [`put`](Self::put) anew.
    fn lift(&mut self, id: TaskId) {
        let Some(row) = self.rows.get(id) else { return };
        let (lane, order) = (row.lane, row.order);
        let pools = self.lanes.pools(lane);
        match row.state {
            RowState::Parked => drop(self.parked.remove(lane, pools, (row.due, order))),
            RowState::Ready => drop(self.ready.remove(lane, pools, order)),
            RowState::Unjudged => drop(self.unjudged.remove(lane, pools, order)),
            RowState::Behind => self.keys.leave_behind(row),
            RowState::Claimed | RowState::Ended => {}
        }
        if row.state != RowState::Claimed
            && let Some(expires) = row.expires
        {
            self.expiring.remove(&(expires, id));
        }
    }

    /// Gives a lifted (or new) row a state and its place in that state's index.
    fn put(&mut self, id: TaskId, state: RowState) {
        let Some(row) = self.rows.get_mut(id) else { return };
        row.state = state;
        let (lane, order) = (row.lane, row.order);
        let pools = self.lanes.pools(lane);
        match state {
            RowState::Parked => self.parked.insert(lane, pools, (row.due, order), id),
            RowState::Ready => self.ready.insert(lane, pools, order, id),
            RowState::Unjudged => self.unjudged.insert(lane, pools, order, id),
            RowState::Behind => self.keys.wait_behind(row),
            RowState::Claimed | RowState::Ended => {}
        }
        if state != RowState::Claimed
            && let Some(expires) = row.expires
        {
            self.expiring.insert((expires, id));
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
        Ask { from, no, request, oldest_open, .. }: Ask,
        replies: &mut Vec<Reply>,
    ) {
        if self.told.first_key_value().is_some_and(|(told, _)| *told < oldest_open) {
            self.told = self.told.split_off(&oldest_open);
        }
        let answer = self.answer(now, no, &request);
        replies.push(Reply {
            to: from,
            no,
            answer: Ok(answer),
            status: Status {
                ready: self.pools_with(&self.ready),
                unjudged: self.pools_with(&self.unjudged),
                next_due: self.parked.first_of_all().map(|((due, _), _)| due),
                next_expiry: self.expiring.first().map(|(at, _)| *at),
            },
        });
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
            self.rows.values().filter(|row| row.state != RowState::Claimed && row.expires.is_some());
        assert_eq!(expiring.count(), self.expiring.len());
    }
}
