//! Where a row belongs, and how it gets into the index of its state and out again.

use super::Board;
use super::ended::EndedTask;
use super::keys::Keys;
use super::row::Row;
use crate::dispatch::Outcome;
use crate::filing;
use crate::id::TaskId;
use crate::store::RowState;
use crate::time::Now;

/// Where an unclaimed row goes. It is counted for its key if that is ready.
pub(super) fn place(keys: &mut Keys, now: Now, row: &mut Row) -> RowState {
    filing::state(row.due, now, row.must_be_judged(), || keys.admit(row, false))
}

impl Board {
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

    /// Takes a row out of the index of its state. Its state then no longer holds until it is [`put`](Self::put) anew.
    pub(super) fn lift(&mut self, id: TaskId) {
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
            && let Some(expires) = row.expires.at()
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
            && let Some(expires) = row.expires.at()
        {
            self.expiring.insert((expires, id));
        }
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

    /// Ends a lifted or claimed row for good.
    pub(super) fn end(&mut self, now: Now, id: TaskId, outcome: Outcome) {
        let Some(mut row) = self.rows.remove(id) else { return };
        let next = self.keys.release(&mut row);
        self.follow(next);
        self.lanes.leave(row.lane);
        if row.state == RowState::Claimed {
            self.owners.let_go(row.owner, row.order.sequence);
        }
        if let Some(batch) = row.extras.as_ref().and_then(|extras| extras.batch) {
            self.batches.leave(batch);
        }
        self.bury(now, row, outcome);
    }

    /// Keeps what is still worth knowing of a row that is gone.
    fn bury(&mut self, now: Now, row: Row, outcome: Outcome) {
        let Row { task, owner, epoch, attempts, extras, .. } = row;
        let (id, lane) = (task.id, std::sync::Arc::clone(&task.lane));
        let trashed = matches!(outcome, Outcome::Trashed(_));
        let task = trashed.then_some(task);
        let ended = EndedTask { id, lane, task, owner, epoch, attempts, ended: now.wall, outcome, extras };
        if trashed {
            self.trash.add(ended);
        } else {
            self.ended.add(ended);
        }
    }
}
