//! What time brings: parked rows become due, and what nobody started in time expires.

use std::sync::Arc;

use rusqlite::params;
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::Answer;
use taskyard_core::task::Task;

use super::Sql;
use super::row::{Row, select_rows};
use super::turn::Turn;

impl Turn<'_> {
    /// Makes what is due ready, behind or unjudged, and ends what has expired.
    pub(super) fn promote(&mut self, up_to: usize) -> Sql<Answer> {
        let expired = self.expire(up_to)?;
        let mut left = up_to;
        while left > 0 {
            let chunk = self.next_parked(None, self.now.wall, left)?;
            if chunk.is_empty() {
                break;
            }
            left -= chunk.len();
            for row in chunk {
                self.file(&row, row.clone())?;
            }
        }
        Ok(Answer::Promoted { expired })
    }

    fn expire(&mut self, up_to: usize) -> Sql<Vec<Arc<Task>>> {
        let rows: Vec<Row> = {
            let mut query = self.db()?.prepare_cached(EXPIRED)?;
            query.query_map(params![self.now.wall.0, up_to as i64], Row::read)?.collect::<Sql<_>>()?
        };
        let mut expired = Vec::new();
        for row in rows {
            // A twin that ended a moment ago may have changed it.
            let Some(row) = self.row_at(row.sequence)? else { continue };
            match self.task_of(&row)? {
                Ok(task) => {
                    self.end(&row, &Outcome::Expired)?;
                    expired.push(task);
                }
                Err(why) => self.trash_unreadable(&row, why)?,
            }
        }
        Ok(expired)
    }
}

const EXPIRED: &str = select_rows!(
    "INDEXED BY task_expires WHERE expires IS NOT NULL AND state <> 4 AND expires <= ?1 ORDER BY expires LIMIT ?2"
);
