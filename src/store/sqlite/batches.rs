//! Batches: how many tasks of a run are unfinished, and whether more are to come.

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::store::{Answer, BatchId, BatchState};

use super::Sql;
use super::turn::Turn;

impl Turn<'_> {
    /// The unfinished run of this content, or a new one.
    pub(super) fn open_batch(&mut self, hash: &[u8; 32]) -> Sql<BatchState> {
        let latest = "SELECT id, run, finished IS NULL FROM batch WHERE hash = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let latest = self.others.prepare_cached(latest)?.query_row([hash], read).optional()?;
        let run = match latest {
            Some((id, run, true)) => return Ok(BatchState { id: batch_id(id), run, resumed: true }),
            Some((_, run, _)) => run + 1,
            None => 1,
        };
        let new = "INSERT OR REPLACE INTO batch (hash, run, sealed, unfinished) VALUES (?1, ?2, 0, 0)";
        self.others.prepare_cached(new)?.execute(params![hash, run])?;
        Ok(BatchState { id: batch_id(self.others.last_insert_rowid()), run, resumed: false })
    }

    /// One more task holds its batch up, if that is not finished. The batch, if so.
    pub(super) fn enter_batch(&mut self, batch: Option<BatchId>) -> Sql<Option<BatchId>> {
        let Some(batch) = batch else { return Ok(None) };
        let enter = "UPDATE batch SET unfinished = unfinished + 1 WHERE id = ?1 AND finished IS NULL";
        let entered = self.others.prepare_cached(enter)?.execute([batch.0 as i64])?;
        Ok((entered > 0).then_some(batch))
    }

    /// One task less holds a batch up.
    pub(super) fn leave_batch(&mut self, batch: BatchId) -> Sql<()> {
        let leave = "UPDATE batch SET unfinished = unfinished - 1 WHERE id = ?1";
        self.others.prepare_cached(leave)?.execute([batch.0 as i64])?;
        self.finish_batch(batch)
    }

    /// No more tasks are to come.
    pub(super) fn seal_batch(&mut self, batch: BatchId) -> Sql<Answer> {
        self.others.prepare_cached("UPDATE batch SET sealed = 1 WHERE id = ?1")?.execute([batch.0 as i64])?;
        self.finish_batch(batch)?;
        Ok(Answer::Sealed)
    }

    fn finish_batch(&mut self, batch: BatchId) -> Sql<()> {
        let finish = "UPDATE batch SET finished = ?2
            WHERE id = ?1 AND sealed = 1 AND unfinished = 0 AND finished IS NULL";
        self.others.prepare_cached(finish)?.execute(params![batch.0 as i64, self.now.wall.0])?;
        Ok(())
    }
}

fn batch_id(id: i64) -> BatchId {
    BatchId(id as u64)
}
