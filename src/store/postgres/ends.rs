//! How rows end for good: out of the tasks, into the history or the trash, with the last line of their log; the next of their
//! key takes their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::store::AttemptEnd;
use taskyard_core::task::Task;
use tokio_postgres::Row;
use uuid::Uuid;

use super::fault::Fault;
use super::query::at_most;
use super::row::{TaskRow, task_columns};
use super::turn::Turn;
use crate::store::record;

/// The claimed rows that these items name, with what is said of each. `$1` sequences, `$2` epochs, `$3` outcomes, `$4`
/// details, `$5` the owner, `$6` now, `$7` how it is logged, `$8` how many counted attempts each adds.
macro_rules! mine {
    ($columns:literal) => {
        concat!(
            "WITH mine AS MATERIALIZED (SELECT task.*, item.outcome, item.detail, item.counted
              FROM unnest($1::bigint[], $2::integer[], $3::smallint[], $4::text[], $8::integer[])
                AS item(sequence, epoch, outcome, detail, counted)
              CROSS JOIN LATERAL (SELECT ",
            $columns,
            " FROM tasks WHERE sequence = item.sequence AND epoch = item.epoch AND owner = $5 AND state::integer = 4
                LIMIT 1) AS task),
            gone AS (DELETE FROM tasks WHERE sequence = ANY(ARRAY(SELECT sequence FROM mine)) AND state::integer = 4),
            noted AS (INSERT INTO attempts (id, epoch, ended, owner, how)
              SELECT id, epoch, $6::bigint, owner, $7::text FROM mine WHERE logged OR outcome = 5 ON CONFLICT DO NOTHING)"
        )
    };
}

const END_CLAIMED: &str = concat!(
    mine!("sequence, id, lane, owner, epoch, attempts, twins, logged"),
    ", kept AS (INSERT INTO history (id, lane, owner, ended, epoch, attempts, outcome, detail)
      SELECT id, lane, owner, $6::bigint, epoch, attempts, outcome, detail FROM mine ON CONFLICT DO NOTHING)
    SELECT sequence, twins FROM mine"
);

const TRASH_CLAIMED: &str = concat!(
    mine!("*"),
    ", kept AS (INSERT INTO trash (id, lane, owner, ended, epoch, attempts, outcome, detail, crash_marks, key, twins,
        key_limit, key_waiting, priority, overflow, last_error, body)
      SELECT id, lane, owner, $6::bigint, epoch, attempts + counted, outcome, detail, 0, key, twins, key_limit, key_waiting, priority,
        overflow, last_error, body FROM mine ON CONFLICT DO NOTHING)
    SELECT sequence, twins FROM mine"
);

const END_FREE: &str = concat!(
    "WITH gone AS (DELETE FROM tasks WHERE sequence = ANY($1) AND state::integer <> 4 RETURNING *),
    kept AS (INSERT INTO history (id, lane, owner, ended, epoch, attempts, outcome, detail)
      SELECT id, lane, owner, $2::bigint, epoch, attempts, $3::smallint, NULL FROM gone ON CONFLICT DO NOTHING)
    SELECT ",
    task_columns!(),
    ", twins FROM gone ORDER BY sequence"
);
/// The place of `twins` behind the columns of a task.
const TWINS: usize = 21;

const EXPIRED: &str =
    "SELECT sequence, twins FROM tasks WHERE state <> 4 AND expires IS NOT NULL AND expires <= $1
    ORDER BY expires LIMIT $2";

/// How a claimed row ends.
pub(super) struct End {
    pub(super) sequence: i64,
    pub(super) epoch: u32,
    pub(super) outcome: Outcome,
}

impl End {
    /// What cannot be understood goes into the trash.
    pub(super) fn trash(row: &TaskRow, why: Trash) -> Self {
        Self { sequence: row.sequence, epoch: row.epoch, outcome: Outcome::Trashed(why) }
    }

    fn attempts(&self) -> i32 {
        match &self.outcome {
            Outcome::Trashed(trash) => i32::from(trash.is_attempt()),
            _ => 0,
        }
    }
}

impl Turn<'_> {
    /// Ends claimed rows of the asking owner for good, not in the trash. Which they were. Their keys are locked.
    pub(super) async fn end_claimed(&mut self, ends: Vec<End>) -> Result<Vec<i64>, Fault> {
        self.end(END_CLAIMED, ends).await
    }

    /// Ends claimed rows of the asking owner in the trash. Which they were. Their keys are locked.
    pub(super) async fn trash_claimed(&mut self, ends: Vec<End>) -> Result<Vec<i64>, Fault> {
        self.end(TRASH_CLAIMED, ends).await
    }

    async fn end(&mut self, statement: &str, ends: Vec<End>) -> Result<Vec<i64>, Fault> {
        if ends.is_empty() {
            return Ok(Vec::new());
        }
        let sequences: Vec<_> = ends.iter().map(|end| end.sequence).collect();
        let epochs: Vec<_> = ends.iter().map(|end| end.epoch as i32).collect();
        let columns = ends.iter().map(|end| record::outcome_columns(&end.outcome, self.memory.result_max));
        let (outcomes, details): (Vec<_>, Vec<_>) = columns.unzip();
        let details: Vec<Option<&str>> = details.iter().map(Option::as_deref).collect();
        let (owner, now, how) =
            (self.owner_number(), self.now.wall.0, record::attempt_text(&AttemptEnd::Ended));
        let counted: Vec<_> = ends.iter().map(End::attempts).collect();
        let params: super::link::Params<'_> =
            &[&sequences, &epochs, &outcomes, &details, &owner, &now, &how, &counted];
        let rows = self.session.rows(statement, params).await?;
        let keys = rows.iter().filter_map(|row| row.get::<_, Option<Uuid>>(1)).collect();
        self.effects.unfinished -= rows.len() as i64;
        self.effects.worn += rows.len() as i64;
        self.promote_keys(keys).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Ends rows that nobody has, in order of arrival. The tasks that they were, by sequence. Their keys are locked.
    pub(super) async fn end_free(
        &mut self,
        sequences: &[i64],
        outcome: &Outcome,
    ) -> Result<Vec<(i64, Arc<Task>)>, Fault> {
        if sequences.is_empty() {
            return Ok(Vec::new());
        }
        let (code, _) = record::outcome_columns(outcome, 0);
        let rows = self.session.rows(END_FREE, &[&sequences, &self.now.wall.0, &code]).await?;
        let keys = rows.iter().filter_map(|row| row.get::<_, Option<Uuid>>(TWINS)).collect();
        let tasks = self.read_tasks(&rows).await?;
        self.effects.unfinished -= rows.len() as i64;
        self.promote_keys(keys).await?;
        Ok(tasks.iter().map(|row| (row.sequence, row.task_or_stand_in(self.memory))).collect())
    }

    /// Ends the first so many of the rows that have expired and that nobody has.
    pub(super) async fn end_expired(&mut self, up_to: usize) -> Result<Vec<Arc<Task>>, Fault> {
        let rows = self.session.rows(EXPIRED, &[&self.now.wall.0, &at_most(up_to)]).await?;
        self.end_expired_rows(&rows).await
    }

    /// Ends rows, given by sequence and twins, that have expired and that nobody has. The tasks, in that order.
    pub(super) async fn end_expired_rows(&mut self, rows: &[Row]) -> Result<Vec<Arc<Task>>, Fault> {
        let sequences: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        self.lock_keys(rows.iter().filter_map(|row| row.get(1)).collect()).await?;
        let ended = self.end_free(&sequences, &Outcome::Expired).await?;
        let mut ended: BTreeMap<_, _> = ended.into_iter().collect();
        Ok(sequences.iter().filter_map(|sequence| ended.remove(sequence)).collect())
    }
}
