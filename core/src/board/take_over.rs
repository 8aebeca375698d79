//! What becomes of rows whose owner goes or is gone.

use super::Board;
use crate::dispatch::DispatchName;
use crate::id::TaskId;
use crate::store::{Answer, AttemptEnd, OwnerId, RowState};
use crate::time::Now;

impl Board {
    /// Fences whose lease has ended and gives back what the fenced ones have.
    pub(super) fn take_over(&mut self, now: Now, asking: OwnerId, up_to: usize) -> Answer {
        self.owners.fence(now.mono, asking);
        let orphans = self.owners.orphans(up_to);
        let returned = orphans.into_iter().filter(|id| self.bereave(now, *id)).count();
        for owner in self.owners.bury() {
            self.forget_answers(owner);
        }
        Answer::TakenOver { returned, more: self.owners.any_fenced() }
    }

    /// Gives back a row whose owner is dead; it may have run. Whether it is on the board again.
    fn bereave(&mut self, now: Now, id: TaskId) -> bool {
        let Some(row) = self.rows.get_mut(id) else { return false };
        row.note(now, AttemptEnd::OwnerLost);
        let extras = row.extras_mut();
        extras.crash_marks = extras.crash_marks.max(1);
        self.put_back(now, id, None, false)
    }

    /// The asking owner goes.
    pub(super) fn release(&mut self, now: Now, owner: OwnerId) -> Answer {
        for DispatchName { id, .. } in self.held(owner) {
            self.put_back(now, id, None, false);
        }
        self.owners.remove(owner);
        self.forget_answers(owner);
        Answer::Released
    }

    fn forget_answers(&mut self, owner: OwnerId) {
        self.told.forget_owner(owner);
        self.claims.retain(|(asker, _, _), _| *asker != owner);
    }

    /// What an owner has, oldest first.
    pub(super) fn held(&self, owner: OwnerId) -> Vec<DispatchName> {
        let name = |id: TaskId| Some(DispatchName { id, epoch: self.rows.get(id)?.epoch });
        if owner != OwnerId::SOLE {
            return self.owners.held(owner).filter_map(name).collect();
        }
        let (rows, _) = self.rows.page(0, usize::MAX);
        let held = rows.into_iter().filter(|row| row.is_held_by(owner));
        held.map(|row| DispatchName { id: row.task.id, epoch: row.epoch }).collect()
    }

    /// A task whose last delivery ended unreported is about to start. Whether it may: the asking owner has it.
    pub(super) fn mark_start(&mut self, owner: OwnerId, name: DispatchName) -> bool {
        let row = self.rows.get_mut(name.id);
        let Some(row) = row.filter(|row| row.is_held_by(owner) && row.epoch == name.epoch) else {
            return false;
        };
        row.extras_mut().crash_marks += 1;
        true
    }

    /// Panics unless the owners hold what is claimed, and nothing else.
    pub(super) fn check_owners(&self) {
        let held = |row: &&super::row::Row| row.state == RowState::Claimed && row.owner != OwnerId::SOLE;
        self.owners.check_invariants(self.rows.values().filter(held).count(), |owner, sequence, id| {
            self.rows.get(id).is_some_and(|row| row.is_held_by(owner) && row.order.sequence == sequence)
        });
    }
}
