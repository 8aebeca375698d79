//! Forgetting what ended long ago, a bounded number of rows at a time: first what is old or too much, then values.

use rusqlite::params;
use taskyard_core::store::Answer;
use taskyard_core::time::Timestamp;

use super::Sql;
use super::end::{Ended, select_ended};
use super::turn::Turn;
use crate::store::record::SUCCEEDED;

impl Turn<'_> {
    /// See [`Request::Prune`](taskyard_core::store::Request::Prune).
    pub(super) fn prune(
        &mut self,
        ended_before: Timestamp,
        results_before: Timestamp,
        keep: usize,
        up_to: usize,
    ) -> Sql<Answer> {
        let ended = self.prune_history(ended_before, keep, up_to)?;
        let trashed = self.prune_trash(keep, up_to)?;
        let values = self.prune_values(results_before, up_to)?;
        self.prune_batches(keep, up_to)?;
        self.prune_lanes(up_to)?;
        let more = ended == up_to || trashed == up_to || values == up_to;
        Ok(Answer::Pruned { rows: ended + trashed, more })
    }

    /// What is not in the trash: what ended before a time, and what is more than may be kept. How much it was.
    fn prune_history(&mut self, ended_before: Timestamp, keep: usize, up_to: usize) -> Sql<usize> {
        let surplus = (self.mirror.numbers.kept as usize).saturating_sub(keep);
        let oldest = self.oldest(OLDEST, self.mirror.numbers.pruned, up_to)?;
        let mut pruned = 0;
        for ended in oldest {
            if pruned >= surplus && ended.at >= ended_before {
                break;
            }
            self.forget(&ended)?;
            if ended.epoch > 1 {
                self.forget_log(ended.id)?;
            }
            self.mirror.numbers.pruned = ended.place;
            pruned += 1;
        }
        Ok(pruned)
    }

    fn prune_trash(&mut self, keep: usize, up_to: usize) -> Sql<usize> {
        let surplus = (self.mirror.numbers.trashed as usize).saturating_sub(keep).min(up_to);
        let oldest = if surplus == 0 { Vec::new() } else { self.oldest(OLDEST_TRASHED, 0, surplus)? };
        for ended in &oldest {
            self.forget(ended)?;
            self.forget_log(ended.id)?;
        }
        Ok(oldest.len())
    }

    fn oldest(&self, query: &str, after: i64, up_to: usize) -> Sql<Vec<Ended>> {
        self.db()?.prepare_cached(query)?.query_map(params![after, up_to as i64], Ended::read)?.collect()
    }

    /// The values of what ended before a time. How many rows were looked at.
    fn prune_values(&mut self, results_before: Timestamp, up_to: usize) -> Sql<usize> {
        let mut query = self.db()?.prepare_cached(VALUES)?;
        let mut rows = query.query(params![self.mirror.numbers.valued, up_to as i64])?;
        let (mut looked, mut last) = (0, self.mirror.numbers.valued);
        while let Some(row) = rows.next()?.filter(|row| row.get(1).is_ok_and(|at: i64| at < results_before.0))
        {
            last = row.get(0)?;
            looked += 1;
        }
        if looked > 0 {
            let forget = params![self.mirror.numbers.valued, last, SUCCEEDED];
            self.db()?.prepare_cached(FORGET_VALUES)?.execute(forget)?;
            self.mirror.numbers.valued = last;
        }
        Ok(looked)
    }

    /// Finished batches, whose number only tells which run comes next.
    fn prune_batches(&mut self, keep: usize, up_to: usize) -> Sql<()> {
        self.db()?.prepare_cached(BATCHES)?.execute(params![keep as i64, up_to as i64])?;
        Ok(())
    }

    /// Lanes that have neither tasks nor history.
    fn prune_lanes(&mut self, up_to: usize) -> Sql<()> {
        self.mirror.flush(self.db()?)?;
        let gone = self.db()?.prepare_cached(LANES)?.execute([up_to as i64])?;
        if gone > 0 {
            self.db()?.prepare_cached(SPACES)?.execute([])?;
            self.mirror.load_lanes(self.db()?)?;
        }
        Ok(())
    }
}

const OLDEST: &str = select_ended!("WHERE place > ?1 AND outcome <> 5 ORDER BY place LIMIT ?2");
const OLDEST_TRASHED: &str = select_ended!(
    "WHERE place IN (SELECT place FROM trash WHERE place > ?1 ORDER BY place LIMIT ?2) ORDER BY place"
);
const VALUES: &str = "SELECT place, ended FROM history WHERE place > ?1 ORDER BY place LIMIT ?2";
const FORGET_VALUES: &str =
    "UPDATE history SET detail = NULL WHERE place > ?1 AND place <= ?2 AND outcome = ?3";
const BATCHES: &str = "DELETE FROM batch WHERE id IN (SELECT id FROM batch INDEXED BY batch_finished
    WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT ?2 OFFSET ?1)";
const LANES: &str =
    "DELETE FROM lane WHERE id IN (SELECT id FROM lane INDEXED BY lane_use WHERE use = 0 LIMIT ?1)";
const SPACES: &str = "DELETE FROM space WHERE id NOT IN (SELECT space FROM lane)";
