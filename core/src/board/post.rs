//! Taking tasks in, and where a row goes once it is due.

use std::sync::Arc;

use super::row::Row;
use super::{Board, ended::EndedTask, keys::Keys};
use crate::dispatch::Outcome;
use crate::filing;
use crate::id::{PoolId, TaskId};
use crate::lanes::LaneId;
use crate::router::Route;
use crate::store::{Claimed, Known, NewRow, Posted, Refusal, Room, RowState};
use crate::task::DueAt;
use crate::time::{Now, micros};

impl Board {
    pub(super) fn post(&mut self, now: Now, rows: &[NewRow], mut room: Room) -> Vec<Posted> {
        rows.iter().map(|row| self.post_one(now, row, &mut room)).collect()
    }

    pub(super) fn post_one(&mut self, now: Now, new: &NewRow, room: &mut Room) -> Posted {
        let id = new.task.id;
        if let Some(known) = self.known(id) {
            return Posted::Known(Box::new(known));
        }
        let lane = match self.admit(new) {
            Ok(lane) => lane,
            Err(refusal) => return Posted::Refused(refusal),
        };
        self.lanes.enter(lane);
        let mut row = self.new_row(now, new, lane);
        let claimed = self.claim_new(now, &mut row, new.due, room);
        self.rows.add(row);
        match claimed {
            Some(claimed) => Posted::Claimed(claimed),
            None => Posted::Kept(self.file(now, id)),
        }
    }

    fn known(&self, id: TaskId) -> Option<Known> {
        if let Some(row) = self.rows.get(id) {
            let claim = || row.claimed(self.pool_of(row.lane), DueAt::Wall(row.due));
            let claimed = (row.state == RowState::Claimed).then(claim);
            return Some(Known { state: row.state, claimed, outcome: None });
        }
        let ended = self.ended.get(id)?;
        Some(Known { state: RowState::Ended, claimed: None, outcome: Some(ended.outcome.clone()) })
    }

    /// The pool that counts a claim which names none.
    pub(super) fn pool_of(&self, lane: LaneId) -> PoolId {
        self.lanes.pools(lane).first().copied().unwrap_or(PoolId(0))
    }

    fn admit(&mut self, new: &NewRow) -> Result<LaneId, Refusal> {
        if self.rows.len() >= self.settings.board_max && !new.exempt {
            return Err(Refusal::Full);
        }
        let lane = self.lanes.id(&new.task.lane);
        let one_more = self.lanes.is_empty_lane(lane) && !new.exempt;
        if one_more && self.lanes.used() >= self.settings.lanes_max {
            return Err(Refusal::TooManyLanes);
        }
        if self.settings.reject_unroutable && !new.exempt && *self.lanes.route(lane) == Route::Unroutable {
            return Err(Refusal::Unroutable);
        }
        Ok(lane)
    }

    fn new_row(&mut self, now: Now, new: &NewRow, lane: LaneId) -> Row {
        self.sequence += 1;
        let due = filing::wall(new.due, now);
        Row {
            order: filing::order(
                new.task.priority,
                due,
                now.wall,
                self.sequence,
                micros(self.settings.aging),
            ),
            task: Arc::clone(&new.task),
            posted: now.wall,
            due,
            expires: new.expires,
            last_error: None,
            lane,
            epoch: 0,
            attempts: 0,
            setbacks: 0,
            judged: false,
            counted: false,
            state: RowState::Claimed,
        }
    }

    /// Claims a new row in the write that posts it: only if its pool has room and no row of that pool waits.
    fn claim_new(&mut self, now: Now, row: &mut Row, due: DueAt, room: &mut Room) -> Option<Claimed> {
        let state = place(&mut self.keys, now, row);
        let waiting = if state == RowState::Unjudged { &self.unjudged } else { &self.ready };
        let waits = |pool| waiting.first(pool).is_some();
        let pool = filing::claim_new(state, row.due, self.lanes.pools(row.lane), room, waits)?;
        let near = state == RowState::Parked;
        if near {
            self.keys.admit(row, true);
        }
        row.epoch += 1;
        Some(row.claimed(pool, if near { due } else { DueAt::Now }))
    }

    /// Gives a row without a place the one that its due time and its key ask for.
    pub(super) fn file(&mut self, now: Now, id: TaskId) -> RowState {
        let Some(row) = self.rows.get_mut(id) else { return RowState::Ended };
        let state = place(&mut self.keys, now, row);
        if state == RowState::Parked {
            self.release_key(id);
        }
        self.put(id, state);
        state
    }

    /// The row no longer counts as ready or claimed: the next of its key takes its place.
    pub(super) fn release_key(&mut self, id: TaskId) {
        let Some(row) = self.rows.get_mut(id) else { return };
        let next = self.keys.release(row);
        self.follow(next);
    }

    fn follow(&mut self, next: Option<TaskId>) {
        let Some(next) = next else { return };
        self.lift(next);
        if let Some(row) = self.rows.get_mut(next) {
            self.keys.admit(row, true);
        }
        self.put(next, RowState::Ready);
    }

    /// Keeps what is still worth knowing of a row that is gone.
    fn bury(&mut self, row: Row, outcome: Outcome) {
        let Row { task, epoch, attempts, .. } = row;
        let (id, lane) = (task.id, Arc::clone(&task.lane));
        let task = matches!(outcome, Outcome::Trashed(_)).then_some(task);
        self.ended.add(id, EndedTask { lane, task, epoch, attempts, outcome });
    }

    /// Ends a lifted row for good. Whether there was one.
    pub(super) fn end(&mut self, id: TaskId, outcome: Outcome) -> bool {
        let Some(mut row) = self.rows.remove(id) else { return false };
        let next = self.keys.release(&mut row);
        self.follow(next);
        self.lanes.leave(row.lane);
        self.bury(row, outcome);
        true
    }
}

/// Where an unclaimed row goes. It is counted for its key if that is ready.
fn place(keys: &mut Keys, now: Now, row: &mut Row) -> RowState {
    filing::state(row.due, now, row.must_be_judged(), || keys.admit(row, false))
}
