//! What becomes of rows whose owner goes or is gone.

use rusqlite::params;
use taskyard_core::dispatch::DispatchName;
use taskyard_core::id::Sequence;
use taskyard_core::store::{Answer, AttemptEnd};

use super::Sql;
use super::row::Row;
use super::turn::Turn;

impl Turn<'_> {
    /// Fences whose lease has ended and gives back what the fenced ones have.
    pub(super) fn take_over(&mut self, up_to: usize) -> Sql<Answer> {
        let (clock, owner) = (&self.rules.clock, self.owner.0 as i64);
        self.db()?.prepare_cached(FENCE)?.execute(params![owner, clock.boot(), clock.micros()])?;
        let mut returned = 0;
        for sequence in self.orphans(up_to)? {
            if let Some(row) = self.row_at(sequence)? {
                returned += usize::from(self.bereave(&row)?);
            }
        }
        self.db()?.prepare_cached(BURY)?.execute([])?;
        let more = "SELECT EXISTS (SELECT 1 FROM owner WHERE fenced)";
        let more = self.db()?.prepare_cached(more)?.query_row([], |row| row.get(0))?;
        Ok(Answer::TakenOver { returned, more })
    }

    /// What the fenced owners have, oldest first, at most so much.
    fn orphans(&self, up_to: usize) -> Sql<Vec<Sequence>> {
        let mut fenced = self.db()?.prepare_cached("SELECT id FROM owner WHERE fenced")?;
        let fenced: Vec<i64> = fenced.query_map([], |row| row.get(0))?.collect::<Sql<_>>()?;
        let mut orphans = Vec::new();
        for owner in fenced {
            orphans.extend(self.held_by(owner, up_to as i64)?);
        }
        orphans.sort_unstable();
        orphans.truncate(up_to);
        Ok(orphans)
    }

    fn held_by(&self, owner: i64, up_to: i64) -> Sql<Vec<Sequence>> {
        let mut held = self.db()?.prepare_cached(HELD)?;
        let sequences = held.query_map([owner, up_to], |row| row.get(0))?;
        sequences.map(|sequence| sequence.map(|sequence: i64| sequence as u64)).collect()
    }

    /// Gives back a row whose owner is dead; it may have run. Whether it is on the board again.
    fn bereave(&mut self, before: &Row) -> Sql<bool> {
        self.note(before, &AttemptEnd::OwnerLost)?;
        let row = Row { crash_marks: before.crash_marks.max(1), ..before.clone() };
        self.put_back(before, row, None, false)
    }

    /// The asking owner goes; what it still has is given back.
    pub(super) fn release(&mut self) -> Sql<Answer> {
        let owner = self.owner.0 as i64;
        for sequence in self.held_by(owner, i64::MAX)? {
            if let Some(row) = self.row_at(sequence)? {
                self.put_back(&row, row.clone(), None, false)?;
            }
        }
        self.db()?.prepare_cached("DELETE FROM owner WHERE id = ?1")?.execute([owner])?;
        Ok(Answer::Released)
    }

    /// A task whose last delivery ended unreported is about to start. Whether it may: the asking owner has it.
    pub(super) fn mark_start(&mut self, name: DispatchName) -> Sql<bool> {
        let row = self.row_of(name.id)?;
        let Some(before) = row.filter(|row| row.is_held_by(self.owner) && row.epoch == name.epoch) else {
            return Ok(false);
        };
        if before.marked != Some(name.epoch) {
            let crash_marks = before.crash_marks + 1;
            let row = Row { marked: Some(name.epoch), crash_marks, ..before.clone() };
            self.update(&before, &row)?;
        }
        Ok(true)
    }
}

const FENCE: &str =
    "UPDATE owner SET fenced = 1 WHERE id <> ?1 AND NOT fenced AND (boot <> ?2 OR ends <= ?3)";
const BURY: &str = "DELETE FROM owner WHERE fenced
    AND NOT EXISTS (SELECT 1 FROM task INDEXED BY task_claimed WHERE state = 4 AND task.owner = owner.id)";
const HELD: &str = "SELECT sequence FROM task INDEXED BY task_claimed WHERE state = 4 AND owner = ?1 ORDER BY sequence LIMIT ?2";
