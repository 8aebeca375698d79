//! How tasks end: out of the table of the unfinished, into history.

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::TaskId;
use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::id::Epoch;
use taskyard_core::store::OwnerId;
use taskyard_core::time::Timestamp;

use super::Sql;
use super::late::EndedRow;
use super::row::{Row, id_bytes};
use super::turn::Turn;
use crate::store::lanes::LaneNo;
use crate::store::record;

/// A task that has ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) place: i64,
    pub(super) id: TaskId,
    pub(super) lane: LaneNo,
    pub(super) outcome: Outcome,
    pub(super) at: Timestamp,
    pub(super) owner: OwnerId,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
}

/// The columns that [`Ended::read`] reads.
macro_rules! select_ended {
    ($tail:literal) => {
        concat!("SELECT place, id, lane, outcome, detail, ended, owner, epoch, attempts FROM history ", $tail)
    };
}
pub(super) use select_ended;

impl Ended {
    pub(super) fn read(row: &rusqlite::Row<'_>) -> Sql<Self> {
        Ok(Self {
            place: row.get(0)?,
            id: TaskId(super::row::wide(row.get_ref(1)?)),
            lane: LaneNo(row.get(2)?),
            outcome: record::outcome(row.get(3)?, row.get_ref(4)?.as_str_or_null()?),
            at: Timestamp(row.get(5)?),
            owner: OwnerId(row.get::<_, Option<i64>>(6)?.unwrap_or_default() as u64),
            epoch: row.get::<_, i64>(7)? as u32,
            attempts: row.get::<_, i64>(8)? as u32,
        })
    }
}

impl Turn<'_> {
    /// A task that has ended, if it is remembered.
    pub(super) fn ended(&self, id: TaskId) -> Sql<Option<Ended>> {
        self.db()?.prepare_cached(ENDED)?.query_row([id_bytes(id)], Ended::read).optional()
    }

    /// Ends a row of the table for good: whatever waits behind it, or for it, goes on.
    pub(super) fn end(&mut self, row: &Row, outcome: &Outcome) -> Sql<()> {
        self.mirror.numbers.place += 1;
        if let Outcome::Trashed(_) = outcome {
            self.mirror.numbers.trashed += 1;
            let kept = params![self.mirror.numbers.place, row.sequence as i64];
            self.db()?.prepare_cached(INTO_TRASH)?.execute(kept)?;
        } else {
            self.mirror.numbers.kept += 1;
        }
        self.delete(row)?;
        self.write_history(row, outcome)?;
        if let Some(batch) = row.batch {
            self.leave_batch(batch)?;
        }
        if row.counted { self.follow(row) } else { Ok(()) }
    }

    fn write_history(&mut self, row: &Row, outcome: &Outcome) -> Sql<()> {
        let place = self.mirror.numbers.place;
        let ended = EndedRow { place, row: row.clone(), outcome: outcome.clone(), at: self.now.wall };
        self.late.borrow_mut().end(self.others, ended)?;
        self.mirror.tallies.ended(row.lane, 1);
        Ok(())
    }

    /// Ends a row whose task can't be understood, with the reason, so that its neighbours go on.
    pub(super) fn trash_unreadable(&mut self, row: &Row, why: Trash) -> Sql<()> {
        self.end(row, &Outcome::Trashed(why))
    }

    /// Takes a row out of history.
    pub(super) fn forget(&mut self, ended: &Ended) -> Sql<()> {
        // A lane of which only history is left may not be known here, and is counted all the same.
        self.mirror.lane(self.others, ended.lane)?;
        self.db()?.prepare_cached("DELETE FROM history WHERE place = ?1")?.execute([ended.place])?;
        if let Outcome::Trashed(_) = ended.outcome {
            self.db()?.prepare_cached("DELETE FROM trash WHERE place = ?1")?.execute([ended.place])?;
            self.mirror.numbers.trashed -= 1;
        } else {
            self.mirror.numbers.kept -= 1;
        }
        self.mirror.tallies.ended(ended.lane, -1);
        Ok(())
    }
}

const ENDED: &str = select_ended!("WHERE id = ?1");
const INTO_TRASH: &str =
    "INSERT INTO trash (place, priority, key, key_limit, key_waiting, key_overflow, body)
    SELECT ?1, priority, key, key_limit, key_waiting, key_overflow,
        coalesce(task.body, (SELECT text FROM body WHERE body.sequence = task.sequence))
    FROM task WHERE sequence = ?2";
