//! Forgetting what ended long ago. What ended later stands further up in the history, near enough: so only its beginning is
//! looked at.

use taskyard_core::store::Answer;
use taskyard_core::time::Timestamp;
use uuid::Uuid;

use super::fault::Fault;
use super::query::at_most;
use super::turn::Turn;

/// The last place that is beyond those that are kept.
macro_rules! cut {
    ($table:literal) => {
        concat!("SELECT place FROM ", $table, " ORDER BY place DESC OFFSET $1 LIMIT 1")
    };
}

const HISTORY_CUT: &str = cut!("history");
const TRASH_CUT: &str = cut!("trash");
const PRUNE_HISTORY: &str = "DELETE FROM history WHERE place = ANY(ARRAY(
      SELECT place FROM (SELECT place, ended FROM history ORDER BY place LIMIT $1) AS old
      WHERE ended < $2 OR place <= $3)) RETURNING id";
const PRUNE_TRASH: &str = "DELETE FROM trash WHERE place = ANY(ARRAY(
      SELECT place FROM (SELECT place FROM trash ORDER BY place LIMIT $1) AS old WHERE place <= $2)) RETURNING id";
const FORGET_LOGS: &str = "DELETE FROM attempts WHERE id = ANY($1)";
const FORGET_VALUES: &str = "WITH old AS MATERIALIZED (SELECT place FROM
        (SELECT place, ended FROM history WHERE place > (SELECT values_to FROM pruned) ORDER BY place LIMIT $1) AS next
      WHERE ended < $2),
    gone AS (UPDATE history SET detail = NULL
      WHERE place = ANY(ARRAY(SELECT place FROM old)) AND outcome = 1 AND detail IS NOT NULL),
    moved AS (UPDATE pruned SET values_to = (SELECT max(place) FROM old) WHERE EXISTS (SELECT FROM old))
    SELECT count(*) FROM old";
/// Finished runs beyond those that are kept; the last of a content is known until then.
const PRUNE_BATCHES: &str = "DELETE FROM batches WHERE batch <= coalesce(
      (SELECT batch FROM batches ORDER BY batch DESC OFFSET $1 LIMIT 1), 0)
    AND sealed AND NOT EXISTS (SELECT FROM tasks WHERE tasks.batch = batches.batch)";

impl Turn<'_> {
    /// Both times are on the server's clock.
    pub(super) async fn prune(
        &mut self,
        ended_before: Timestamp,
        results_before: Timestamp,
        keep: usize,
        up_to: usize,
    ) -> Result<Answer, Fault> {
        let (keep, number) = (at_most(keep), at_most(up_to));
        let history = self.cut(HISTORY_CUT, keep).await?;
        let ended = self.session.rows(PRUNE_HISTORY, &[&number, &ended_before.0, &history]).await?;
        let trash = self.cut(TRASH_CUT, keep).await?;
        let trashed = self.session.rows(PRUNE_TRASH, &[&number, &trash]).await?;
        let gone: Vec<Uuid> = ended.iter().chain(&trashed).map(|row| row.get(0)).collect();
        self.session.rows(FORGET_LOGS, &[&gone]).await?;
        self.session.rows_anew(PRUNE_BATCHES, &[&keep]).await?;
        let values = self.session.row(FORGET_VALUES, &[&number, &results_before.0]).await?;
        let values = values.map_or(0, |row| row.get::<_, i64>(0) as usize);
        let more = ended.len() == up_to || trashed.len() == up_to || values == up_to;
        Ok(Answer::Pruned { rows: gone.len(), more })
    }

    async fn cut(&mut self, cut: &str, keep: i64) -> Result<i64, Fault> {
        Ok(self.session.row(cut, &[&keep]).await?.map_or(0, |row| row.get(0)))
    }
}
