//! Taking tasks in, and claiming in the same write those that may run.

use std::collections::BTreeSet;
use std::sync::Arc;

use taskyard_core::dispatch::Order;
use taskyard_core::filing;
use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::map::{Map, Set};
use taskyard_core::names::Lane;
use taskyard_core::store::{Claimed, Known, NewRow, Posted, Refusal, Room, RowState, others_take};
use taskyard_core::task::DueAt;
use taskyard_core::time::Timestamp;
use taskyard_core::{TaskId, store::BatchId};

use super::fault::Fault;
use super::heads::Heads;
use super::insert::NewRows;
use super::keys::{Counted, serial_twins};
use super::known::uuids;
use super::names;
use super::owners::Live;
use super::turn::Turn;
use crate::store::lanes::LaneNo;

const OPEN_BATCHES: &str = "SELECT batch FROM batches WHERE batch = ANY($1)
    AND NOT (sealed AND NOT EXISTS (SELECT FROM tasks WHERE tasks.batch = batches.batch))";
const LANES_IN_USE: &str =
    "SELECT lane FROM tasks WHERE state = 1 UNION SELECT lane FROM tasks WHERE state = 4";

/// What decides whether a row is kept and where it goes; it changes with each row that is kept.
struct Bounds {
    room: Room,
    /// Pools for which something waits.
    ready: PoolSet,
    unjudged: PoolSet,
    keys: Counted,
    unfinished: usize,
    /// Read only if it matters.
    live: Live,
    /// The lanes that have unfinished tasks, where their number matters.
    lanes: Option<BTreeSet<LaneNo>>,
    batches: BTreeSet<BatchId>,
}

impl Bounds {
    /// A row that these pools take waits from now on.
    fn wait(&mut self, state: RowState, pools: &[PoolId]) {
        let waiting = match state {
            RowState::Ready => &mut self.ready,
            RowState::Unjudged => &mut self.unjudged,
            _ => return,
        };
        *waiting = waiting.union(pools.iter().copied().collect());
    }
}

/// What became of a row, until the server has answered.
enum Filed {
    Settled(Posted),
    /// Written, if nobody was faster: as kept or claimed.
    New(RowState, Option<Claimed>),
    /// The same task stands further up.
    Twice,
}

impl Turn<'_> {
    /// Keeps new tasks. Their keys are locked.
    pub(super) async fn post(&mut self, rows: &[NewRow], room: Room) -> Result<Vec<Posted>, Fault> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = self.known(&uuids(rows.iter().map(|row| &row.task.id))).await?;
        let mut bounds = self.bounds(rows, room).await?;
        let mut new = NewRows::default();
        let mut seen = Set::default();
        let filed = rows.iter().map(|row| self.file_new(row, &known, &mut seen, &mut bounds, &mut new));
        let filed: Vec<_> = filed.collect();
        let written = self.insert(new).await?;
        let lost = |(row, filed): (&NewRow, &Filed)| {
            (matches!(filed, Filed::New(..)) && !written.contains_key(&row.task.id)).then_some(row.task.id)
        };
        let late: Vec<_> = rows.iter().zip(&filed).filter_map(lost).collect();
        if !late.is_empty() {
            known.extend(self.known(&uuids(&late)).await?);
        }
        Ok(answers(rows, filed, &written, known))
    }

    async fn bounds(&mut self, rows: &[NewRow], room: Room) -> Result<Bounds, Fault> {
        let keys: BTreeSet<_> = rows.iter().filter_map(|row| serial_twins(&row.task)).collect();
        let keys = self.count_keys(keys.into_iter().collect()).await?;
        // Without room nothing is claimed, whatever waits.
        let heads = if room.total == 0 { Heads::default() } else { self.heads().await? };
        let room = Room { before: self.skew.to_server(room.before), ..room };
        let live = self.live_beside(rows).await?;
        let lanes = self.enter_lanes(rows, &live).await?;
        Ok(Bounds {
            room,
            ready: heads.pools(self.memory, RowState::Ready),
            unjudged: heads.pools(self.memory, RowState::Unjudged),
            keys,
            unfinished: self.unfinished().await?,
            live,
            lanes,
            batches: self.open_batches(rows).await?,
        })
    }

    /// The owners whose leases hold, if it matters what their pools take.
    async fn live_beside(&mut self, rows: &[NewRow]) -> Result<Live, Fault> {
        let matters = rows.iter().any(|row| self.is_unwelcome(row, &Live::new()));
        if matters { self.live().await } else { Ok(Live::new()) }
    }

    /// Whether a task is refused because nobody takes it, here or at one of the others that are alive.
    fn is_unwelcome(&self, row: &NewRow, live: &Live) -> bool {
        let lane = &row.task.lane;
        let patterns = live.iter().map(|(id, patterns)| (*id, patterns.as_slice()));
        self.memory.settings.reject_unroutable
            && !row.exempt
            && self.memory.lanes.is_unroutable(lane)
            && !others_take(patterns, self.owner, &lane.namespace)
    }

    /// Gives new lanes their numbers, if there may be so many. Which lanes have unfinished tasks, if there may not.
    async fn enter_lanes(&mut self, rows: &[NewRow], live: &Live) -> Result<Option<BTreeSet<LaneNo>>, Fault> {
        let new = |row: &&NewRow| {
            !self.is_unwelcome(row, live) && self.memory.lanes.number(&row.task.lane).is_none()
        };
        let new: BTreeSet<_> = rows.iter().filter(new).map(|row| &row.task.lane).collect();
        let lanes_max = self.memory.settings.lanes_max;
        if self.memory.lanes.len() + new.len() <= lanes_max {
            self.name_lanes(&new.into_iter().map(Arc::clone).collect::<Vec<_>>()).await?;
            return Ok(None);
        }
        let mut used: BTreeSet<_> = self.heads().await?.lanes().collect();
        let others = self.session.rows_anew(LANES_IN_USE, &[]).await?;
        used.extend(others.iter().map(|row| LaneNo(row.get(0))));
        let free = lanes_max.saturating_sub(used.len());
        let exempt: BTreeSet<_> = rows.iter().filter(|row| row.exempt).map(|row| &row.task.lane).collect();
        let (kept, others): (Vec<_>, Vec<_>) = new.into_iter().partition(|lane| exempt.contains(lane));
        let first: Vec<_> = kept.into_iter().chain(others.into_iter().take(free)).map(Arc::clone).collect();
        self.name_lanes(&first).await?;
        Ok(Some(used))
    }

    async fn name_lanes(&mut self, lanes: &[Arc<Lane>]) -> Result<(), Fault> {
        if !lanes.is_empty() {
            let named = names::enter(self.session, self.memory, lanes).await?;
            self.effects.lanes.extend(named);
        }
        Ok(())
    }

    async fn open_batches(&mut self, rows: &[NewRow]) -> Result<BTreeSet<BatchId>, Fault> {
        let batches: BTreeSet<_> = rows.iter().filter_map(|row| row.batch).collect();
        if batches.is_empty() {
            return Ok(batches);
        }
        let numbers: Vec<_> = batches.iter().map(|batch| batch.0 as i64).collect();
        let rows = self.session.rows(OPEN_BATCHES, &[&numbers]).await?;
        Ok(rows.iter().map(|row| BatchId(row.get::<_, i64>(0) as u64)).collect())
    }

    fn file_new(
        &self,
        row: &NewRow,
        known: &Map<TaskId, Known>,
        seen: &mut Set<TaskId>,
        bounds: &mut Bounds,
        new: &mut NewRows,
    ) -> Filed {
        if let Some(known) = known.get(&row.task.id) {
            return Filed::Settled(Posted::Known(Box::new(known.clone())));
        }
        if !seen.insert(row.task.id) {
            return Filed::Twice;
        }
        match self.admit(row, bounds) {
            Ok(lane) => self.place_new(row, lane, bounds, new),
            Err(refusal) => {
                seen.remove(&row.task.id);
                Filed::Settled(Posted::Refused(refusal))
            }
        }
    }

    fn admit(&self, row: &NewRow, bounds: &mut Bounds) -> Result<LaneNo, Refusal> {
        let settings = &self.memory.settings;
        if bounds.unfinished >= settings.board_max && !row.exempt {
            return Err(Refusal::Full);
        }
        if self.is_unwelcome(row, &bounds.live) {
            return Err(Refusal::Unroutable);
        }
        let lane = self.memory.lanes.number(&row.task.lane).ok_or(Refusal::TooManyLanes)?;
        if let Some(used) = &mut bounds.lanes {
            if !used.contains(&lane) && used.len() >= settings.lanes_max && !row.exempt {
                return Err(Refusal::TooManyLanes);
            }
            used.insert(lane);
        }
        bounds.unfinished += 1;
        Ok(lane)
    }

    /// Gives an admitted row its place.
    fn place_new(&self, row: &NewRow, lane: LaneNo, bounds: &mut Bounds, new: &mut NewRows) -> Filed {
        let task = &row.task;
        let due = Timestamp(self.wall(self.skew.admitted(task.due, row.due)));
        let must_be_judged = filing::must_be_judged(task.key, task.limits, false);
        let state = filing::state(due, self.now, must_be_judged, || bounds.keys.admit(task));
        let waiting = if state == RowState::Unjudged { bounds.unjudged } else { bounds.ready };
        let pools = self.memory.lanes.pools(lane);
        let waits = |pool: PoolId| waiting.contains(pool);
        let pool = filing::claim_new(state, due, pools, &mut bounds.room, waits);
        let order = filing::order(task.priority, due, self.now.wall, 0, self.memory.aging());
        let starts = match (state, row.due) {
            (RowState::Parked, delay @ DueAt::Mono(_)) => delay,
            (RowState::Parked, _) => DueAt::Wall(self.skew.to_yard(due)),
            _ => DueAt::Now,
        };
        let claimed = pool.map(|pool| claim(row, pool, order, starts, self));
        if claimed.is_some() && state == RowState::Parked {
            bounds.keys.force(task);
        }
        if claimed.is_none() {
            bounds.wait(state, pools);
        }
        let state = if claimed.is_some() { RowState::Claimed } else { state };
        let batch = row.batch.filter(|batch| bounds.batches.contains(batch));
        let expires = row.expires.map(|at| self.skew.admitted_expiry(task.expires, at));
        new.add(task, lane, order, due, expires, batch, state);
        Filed::New(state, claimed)
    }
}

/// A claim in the write that posts it; its sequence is not known yet.
fn claim(row: &NewRow, pool: PoolId, order: Order, due: DueAt, turn: &Turn<'_>) -> Claimed {
    Claimed {
        task: Arc::clone(&row.task),
        pool,
        order,
        epoch: 1,
        attempts: 0,
        setbacks: 0,
        crash_marks: 0,
        due,
        expires: row.expires,
        judged: false,
        unjudged: filing::must_be_judged(row.task.key, row.task.limits, false),
        posted: turn.skew.to_yard(turn.now.wall),
    }
}

fn answers(
    rows: &[NewRow],
    filed: Vec<Filed>,
    written: &Map<TaskId, i64>,
    mut known: Map<TaskId, Known>,
) -> Vec<Posted> {
    let mut posted = Vec::with_capacity(rows.len());
    for (row, filed) in rows.iter().zip(filed) {
        let id = row.task.id;
        let answer = match filed {
            Filed::Settled(answer) => answer,
            Filed::New(state, mut claimed) if written.contains_key(&id) => {
                if let Some(claimed) = &mut claimed {
                    claimed.order.sequence = written[&id] as u64;
                }
                known.insert(id, Known { state, claimed: claimed.clone(), outcome: None });
                claimed.map_or(Posted::Kept(state), Posted::Claimed)
            }
            // Somebody else posted it between the question and the answer.
            Filed::New(..) | Filed::Twice => match known.get(&id) {
                Some(known) => Posted::Known(Box::new(known.clone())),
                None => {
                    Posted::Known(Box::new(Known { state: RowState::Ended, claimed: None, outcome: None }))
                }
            },
        };
        posted.push(answer);
    }
    posted
}
