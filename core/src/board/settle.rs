//! Settlements: how claimed rows change when their pass ends.

use super::Board;
use super::row::Row;
use crate::dispatch::Outcome;
use crate::filing;
use crate::id::TaskId;
use crate::store::{AttemptEnd, OwnerId, Room, RowState, Settle, Settled, Settlement};
use crate::task::DueAt;
use crate::time::{Now, micros};

/// How the record stands to a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is awaited.
    Open,
    /// It was recorded before.
    Recorded,
    /// It is another's, or of another pass.
    Stale,
}

impl Board {
    pub(super) fn settle(&mut self, now: Now, owner: OwnerId, item: &Settlement) -> Settled {
        let standing = self.standing(owner, item);
        if standing == Standing::Open {
            self.record(now, item.id, &item.settle);
            for new in &item.posts {
                self.post_one(now, owner, new, &mut Room::default());
            }
        }
        Settled { id: item.id, epoch: item.epoch, accepted: standing != Standing::Stale }
    }

    fn standing(&self, owner: OwnerId, item: &Settlement) -> Standing {
        let Some(row) = self.rows.get(item.id) else {
            let ours = self.find_ended(item.id);
            let ours = ours.is_some_and(|ended| ended.epoch == item.epoch && ended.owner == owner);
            return if ours { Standing::Recorded } else { Standing::Stale };
        };
        let ours = row.epoch == item.epoch && row.owner == owner && row.order.sequence == item.sequence;
        match row.state {
            _ if !ours => Standing::Stale,
            RowState::Claimed => Standing::Open,
            _ => Standing::Recorded,
        }
    }

    fn record(&mut self, now: Now, id: TaskId, settle: &Settle) {
        let Some(row) = self.rows.get_mut(id) else { return };
        note(row, now, settle);
        match settle {
            Settle::Done(outcome) | Settle::Trash(outcome) => self.end(now, id, outcome.clone()),
            Settle::Retry { due, .. } => {
                self.put_back(now, id, Some(DueAt::Wall(*due)), true);
            }
            Settle::GiveBack { due, renew, .. } => {
                self.put_back(now, id, *due, *renew);
            }
        }
    }

    /// Gives a claimed row that did not end its next due time, or leaves it the one that it had; one that somebody wants cancelled ends now. Whether it is
    /// on the board again. Whatever takes it in again does not judge it anew, unless it was not yet due and so has not
    /// been judged at all.
    pub(super) fn put_back(&mut self, now: Now, id: TaskId, due: Option<DueAt>, renew: bool) -> bool {
        let Some(row) = self.rows.get_mut(id) else { return false };
        if row.is_unwanted() {
            self.end(now, id, Outcome::Cancelled);
            return false;
        }
        self.owners.let_go(row.owner, row.order.sequence);
        row.judged |= row.due <= now.wall;
        row.due = due.map_or(row.due, |due| filing::wall(due, now));
        if renew {
            self.renew_order(now, id);
            self.release_key(id);
        }
        // Otherwise it keeps its place among its twins too: one that waits behind it must not be let past.
        self.file(now, id);
        true
    }

    pub(super) fn renew_order(&mut self, now: Now, id: TaskId) {
        let aging = micros(self.settings.aging);
        if let Some(row) = self.rows.get_mut(id) {
            row.order = filing::order(row.task.priority, row.due, now.wall, row.order.sequence, aging);
        }
    }
}

/// Records what a pass counts. Of a task that never went wrong nothing is written.
fn note(row: &mut Row, now: Now, settle: &Settle) {
    row.attempts += settle.attempts();
    match settle {
        Settle::Done(_) if row.has_log() => row.note(now, AttemptEnd::Ended),
        Settle::Trash(_) => row.note(now, AttemptEnd::Ended),
        Settle::Retry { error, .. } => row.note(now, AttemptEnd::Failed(error.clone())),
        Settle::GiveBack { setback: true, .. } => {
            row.note(now, AttemptEnd::Setback);
            row.extras_mut().setbacks += 1;
        }
        Settle::Done(_) | Settle::GiveBack { .. } => {}
    }
    let Some(extras) = row.extras.as_deref_mut() else { return };
    if matches!(settle, Settle::Retry { .. }) {
        extras.setbacks = 0;
    }
    if !matches!(settle, Settle::GiveBack { started: false, .. }) {
        extras.crash_marks = 0;
    }
}
