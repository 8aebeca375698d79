//! The log of how passes ended, of tasks that went wrong at least once.

use rusqlite::params;
use taskyard_core::TaskId;
use taskyard_core::dispatch::Failure;
use taskyard_core::store::{AttemptEnd, AttemptRecord, OwnerId};
use taskyard_core::time::Timestamp;

use super::Sql;
use super::row::{Row, id_bytes};
use super::turn::Turn;
use crate::store::record;

/// Of a task that goes wrong for ever the last so many passes are kept.
const LOG_MAX: i64 = 1_000;

impl Turn<'_> {
    /// Records how the present pass of a row ended.
    pub(super) fn note(&self, row: &Row, end: &AttemptEnd) -> Sql<()> {
        let (id, epoch) = (id_bytes(row.id), i64::from(row.epoch));
        let record = params![id, epoch, self.now.wall.0, row.owner.0 as i64, record::attempt_text(end)];
        self.others.prepare_cached(NOTE)?.execute(record)?;
        if epoch > LOG_MAX {
            self.others.prepare_cached(CUT)?.execute(params![id, epoch - LOG_MAX])?;
        }
        Ok(())
    }

    /// Records that the task's outcome says how the present pass ended, if an earlier one went wrong.
    pub(super) fn note_end(&self, row: &Row) -> Sql<()> {
        let has_log = row.epoch > 1 && self.has_log(row.id)?;
        if has_log { self.note(row, &AttemptEnd::Ended) } else { Ok(()) }
    }

    fn has_log(&self, id: TaskId) -> Sql<bool> {
        let exists = "SELECT EXISTS (SELECT 1 FROM attempt WHERE id = ?1)";
        self.others.prepare_cached(exists)?.query_row([id_bytes(id)], |row| row.get(0))
    }

    /// How a task's passes ended, oldest first.
    pub(super) fn log(&self, id: TaskId) -> Sql<Vec<AttemptRecord>> {
        let mut log = self.others.prepare_cached(LOG)?;
        let records = log.query_map([id_bytes(id)], |row| {
            Ok(AttemptRecord {
                epoch: row.get::<_, i64>(0)? as u32,
                ended: Timestamp(row.get(1)?),
                owner: OwnerId(row.get::<_, i64>(2)? as u64),
                end: record::attempt_end(row.get_ref(3)?.as_str()?),
            })
        })?;
        records.collect()
    }

    /// The last failure of a task.
    pub(super) fn last_error(&self, id: TaskId) -> Sql<Option<Failure>> {
        let mut log = self.others.prepare_cached(LOG_BACKWARDS)?;
        let mut ends = log.query([id_bytes(id)])?;
        while let Some(row) = ends.next()? {
            if let AttemptEnd::Failed(failure) = record::attempt_end(row.get_ref(0)?.as_str()?) {
                return Ok(Some(failure));
            }
        }
        Ok(None)
    }

    /// Forgets a task's log.
    pub(super) fn forget_log(&self, id: TaskId) -> Sql<()> {
        self.others.prepare_cached("DELETE FROM attempt WHERE id = ?1")?.execute([id_bytes(id)])?;
        Ok(())
    }
}

const NOTE: &str =
    "INSERT OR REPLACE INTO attempt (id, epoch, ended, owner, how) VALUES (?1, ?2, ?3, ?4, ?5)";
const CUT: &str = "DELETE FROM attempt WHERE id = ?1 AND epoch <= ?2";
const LOG: &str = "SELECT epoch, ended, owner, how FROM attempt WHERE id = ?1 ORDER BY epoch";
const LOG_BACKWARDS: &str = "SELECT how FROM attempt WHERE id = ?1 ORDER BY epoch DESC";
