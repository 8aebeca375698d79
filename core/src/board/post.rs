//! Taking tasks in, and claiming them in the same write.

use std::sync::Arc;

use super::Board;
use super::place::place;
use super::row::Row;
use crate::filing;
use crate::id::{PoolId, TaskId};
use crate::lanes::LaneId;
use crate::router::Route;
use crate::store::{Claimed, Known, NewRow, OwnerId, Posted, Refusal, Room, RowState};
use crate::task::{DueAt, Task};
use crate::time::{Now, Timestamp, micros};

impl Board {
    pub(super) fn post(&mut self, now: Now, owner: OwnerId, rows: &[NewRow], mut room: Room) -> Vec<Posted> {
        rows.iter().map(|row| self.post_one(now, owner, row, &mut room)).collect()
    }

    pub(super) fn post_one(&mut self, now: Now, owner: OwnerId, new: &NewRow, room: &mut Room) -> Posted {
        let id = new.task.id;
        if let Some(known) = self.known(owner, id) {
            return Posted::Known(Box::new(known));
        }
        let lane = match self.admit(now, owner, new) {
            Ok(lane) => lane,
            Err(refusal) => return Posted::Refused(refusal),
        };
        self.lanes.enter(lane);
        let mut row = self.new_row(now, Arc::clone(&new.task), filing::wall(new.due, now), lane);
        row.expires = new.expires.into();
        if let Some(batch) = new.batch.filter(|batch| self.batches.enter(*batch)) {
            row.extras_mut().batch = Some(batch);
        }
        let claimed = self.claim_new(now, owner, &mut row, new.due, room);
        self.rows.add(row);
        match claimed {
            Some(claimed) => Posted::Claimed(claimed),
            None => Posted::Kept(self.file(now, id)),
        }
    }

    fn known(&self, owner: OwnerId, id: TaskId) -> Option<Known> {
        if let Some(row) = self.rows.get(id) {
            let claim = || row.claimed(self.pool_of(row.lane), DueAt::Wall(row.due));
            let claimed = row.is_held_by(owner).then(claim);
            return Some(Known { state: row.state, claimed, outcome: None });
        }
        let ended = self.find_ended(id)?;
        Some(Known { state: RowState::Ended, claimed: None, outcome: Some(ended.outcome.clone()) })
    }

    /// The pool that counts a claim which names none.
    fn pool_of(&self, lane: LaneId) -> PoolId {
        self.lanes.pools(lane).first().copied().unwrap_or(PoolId(0))
    }

    fn admit(&mut self, now: Now, owner: OwnerId, new: &NewRow) -> Result<LaneId, Refusal> {
        if self.rows.len() >= self.settings.board_max && !new.exempt {
            return Err(Refusal::Full);
        }
        let lane = self.lanes.id(&new.task.lane);
        let one_more = self.lanes.is_empty_lane(lane) && !new.exempt;
        if one_more && self.lanes.used() >= self.settings.lanes_max {
            return Err(Refusal::TooManyLanes);
        }
        if self.settings.reject_unroutable
            && !new.exempt
            && *self.lanes.route(lane) == Route::Unroutable
            && !self.owners.others_take(now.mono, owner, &new.task.lane.namespace)
        {
            return Err(Refusal::Unroutable);
        }
        Ok(lane)
    }

    /// A row that is new here and has no place yet.
    pub(super) fn new_row(&mut self, now: Now, task: Arc<Task>, due: Timestamp, lane: LaneId) -> Row {
        self.sequence += 1;
        Row {
            order: filing::order(task.priority, due, now.wall, self.sequence, micros(self.settings.aging)),
            task,
            posted: now.wall,
            due,
            expires: None.into(),
            extras: None,
            owner: OwnerId::SOLE,
            lane,
            epoch: 0,
            attempts: 0,
            judged: false,
            counted: false,
            state: RowState::Parked,
        }
    }

    /// Claims a new row in the write that posts it: only if its pool has room and no row of that pool waits.
    fn claim_new(
        &mut self,
        now: Now,
        owner: OwnerId,
        row: &mut Row,
        due: DueAt,
        room: &mut Room,
    ) -> Option<Claimed> {
        let state = place(&mut self.keys, now, row);
        let waiting = if state == RowState::Unjudged { &self.unjudged } else { &self.ready };
        let waits = |pool| waiting.first(pool).is_some();
        let pool = filing::claim_new(state, row.due, self.lanes.pools(row.lane), room, waits)?;
        let near = state == RowState::Parked;
        if near {
            self.keys.admit(row, true);
        }
        row.begin(owner);
        self.owners.hold(owner, row.order.sequence, row.task.id);
        Some(row.claimed(pool, if near { due } else { DueAt::Now }))
    }
}
