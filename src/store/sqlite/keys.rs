//! Of a key whose waiting has no bound only one more than may run is ready or claimed, so that the next is at hand; the
//! others are behind. Keys whose waiting is bounded are not here: those rows are judged in the yard.

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::store::RowState;
use taskyard_core::task::Key;

use super::Sql;
use super::row::{Row, key_bytes, select_rows};
use super::turn::Turn;

impl Turn<'_> {
    /// Counts the row as ready or claimed if one more of its key may be. Whether it is counted or needs no count.
    pub(super) fn admit(&self, row: &mut Row) -> Sql<bool> {
        let Some((key, limit)) = row.serial_key().filter(|_| !row.counted) else { return Ok(true) };
        row.counted = self.count(row, key, limit)? <= limit;
        Ok(row.counted)
    }

    /// Counts the row, however many there are.
    pub(super) fn admit_anyway(row: &mut Row) {
        row.counted |= row.serial_key().is_some();
    }

    /// The row, which stands in the table, no longer counts: the next of its key takes its place.
    pub(super) fn release_key(&mut self, row: &mut Row) -> Sql<()> {
        if !std::mem::take(&mut row.counted) {
            return Ok(());
        }
        self.db()?.prepare_cached(UNCOUNT)?.execute([row.sequence as i64])?;
        self.mirror.forget_row(row.sequence);
        self.follow(row)
    }

    /// A counted row is gone: the next of its key takes its place, if one waits and may.
    pub(super) fn follow(&mut self, gone: &Row) -> Sql<()> {
        let Some((key, limit)) = gone.serial_key() else { return Ok(()) };
        let space = self.mirror.tallies.get(gone.lane).space;
        let next = params![key_bytes(key), space];
        let next = self.db()?.prepare_cached(NEXT_BEHIND)?.query_row(next, Row::read).optional()?;
        let Some(next) = next else { return Ok(()) };
        if self.count(gone, key, limit)? > limit {
            return Ok(());
        }
        let row = Row { state: RowState::Ready, counted: true, ..next.clone() };
        self.update(&next, &row)
    }

    /// How many rows of a row's key are counted, or one more than `limit` if there are more than that.
    fn count(&self, row: &Row, key: Key, limit: u32) -> Sql<u32> {
        let space = self.mirror.tallies.get(row.lane).space;
        let counted = params![key_bytes(key), space, i64::from(limit) + 1];
        self.db()?.prepare_cached(COUNTED)?.query_row(counted, |row| row.get(0))
    }
}

const UNCOUNT: &str = "UPDATE task SET counted = 0 WHERE sequence = ?1";
const NEXT_BEHIND: &str = select_rows!(
    "INDEXED BY task_behind WHERE state = 1 AND key = ?1 AND space = ?2 ORDER BY rank, sequence LIMIT 1"
);
const COUNTED: &str = "SELECT count(*) FROM (SELECT 1 FROM task INDEXED BY task_counted
    WHERE counted = 1 AND key = ?1 AND space = ?2 LIMIT ?3)";
