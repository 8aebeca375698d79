//! What failed for good: listed, posted again, forgotten. No age takes anything out.

use taskyard_core::TaskId;
use taskyard_core::store::{Answer, Filter};
use tokio_postgres::Row;
use uuid::Uuid;

use super::fault::Fault;
use super::known::uuids;
use super::names;
use super::query::{LOOK, PAGE, at_most};
use super::row::{EndedRow, task_id, trash_columns};
use super::turn::Turn;

const PAGE_END: &str = "SELECT place FROM trash WHERE place > $1 ORDER BY place OFFSET $2 LIMIT 1";
const LIST: &str = concat!(
    "SELECT ",
    trash_columns!(),
    " FROM trash WHERE place > $1 AND place <= $2 AND ($3::bigint[] IS NULL OR lane = ANY($3))
    AND ($4::uuid[] IS NULL OR id = ANY($4)) ORDER BY place LIMIT $5"
);
const PICK: &str = "SELECT place, id, twins FROM trash WHERE ($1::bigint[] IS NULL OR lane = ANY($1))
    AND ($2::uuid[] IS NULL OR id = ANY($2)) ORDER BY place LIMIT $3";
/// The attempts start anew; epochs, owner and log go on.
const REQUEUE: &str = "WITH again AS (DELETE FROM trash WHERE place = ANY($1) RETURNING *),
    back AS (INSERT INTO tasks (id, lane, rank, due, posted, owner, key, twins, key_limit, key_waiting, overflow, priority,
        epoch, logged, last_error, state, body)
      SELECT id, lane, CASE WHEN $3::bigint = 0 THEN -(priority::bigint << 56) ELSE $2 - priority * $3::bigint END,
        $2::bigint, $2::bigint, owner, key, twins, key_limit, key_waiting, overflow, priority, epoch, true, last_error,
        CASE WHEN key IS NOT NULL AND key_waiting IS NOT NULL THEN 2 WHEN twins IS NOT NULL THEN 1 ELSE 3 END, body
      FROM again ORDER BY place ON CONFLICT (id) DO NOTHING RETURNING id, sequence)
    SELECT id FROM back ORDER BY sequence";
const PURGE: &str = "WITH gone AS (DELETE FROM trash WHERE place = ANY($1) RETURNING id),
    forgotten AS (DELETE FROM attempts WHERE id = ANY(ARRAY(SELECT id FROM gone)))
    SELECT count(*) FROM gone";

/// Places in the trash.
struct Picked {
    places: Vec<i64>,
    keys: Vec<Uuid>,
    more: bool,
}

impl Turn<'_> {
    pub(super) async fn list_trash(
        &mut self,
        filter: &Filter,
        after: u64,
        limit: usize,
    ) -> Result<Answer, Fault> {
        if filter.is_empty() {
            return Ok(Answer::Tasks { tasks: Vec::new(), more: None });
        }
        let limit = limit.min(PAGE);
        let (lanes, ids) = (self.lanes_of(filter).await?, named(filter));
        let end = self.session.row(PAGE_END, &[&(after as i64), &(LOOK - 1)]).await?;
        let end: Option<i64> = end.map(|row| row.get(0));
        let (last, one_more) = (end.unwrap_or(i64::MAX), at_most(limit).saturating_add(1));
        let rows = self.session.rows(LIST, &[&(after as i64), &last, &lanes, &ids, &one_more]).await?;
        names::load(self.session, self.memory, rows.iter().map(EndedRow::lane_of)).await?;
        let tasks: Vec<_> =
            rows.iter().take(limit).map(|row| EndedRow::read_trash(row, self.memory)).collect();
        let cut = tasks.last().filter(|_| rows.len() > limit).map(|row| row.place as u64);
        let more = cut.or(end.map(|last| last as u64));
        Ok(Answer::Tasks { tasks: tasks.into_iter().map(EndedRow::view).collect(), more })
    }

    /// The first so many that a filter picks.
    async fn pick_trash(&mut self, filter: &Filter, up_to: usize) -> Result<Picked, Fault> {
        if filter.is_empty() {
            return Ok(Picked { places: Vec::new(), keys: Vec::new(), more: false });
        }
        let (lanes, ids) = (self.lanes_of(filter).await?, named(filter));
        let one_more = at_most(up_to).saturating_add(1);
        let rows = self.session.rows_anew(PICK, &[&lanes, &ids, &one_more]).await?;
        let picked = || rows.iter().take(up_to);
        Ok(Picked {
            places: picked().map(|row| row.get(0)).collect(),
            keys: picked().filter_map(|row| row.get::<_, Option<Uuid>>(2)).collect(),
            more: rows.len() > up_to,
        })
    }

    /// Files them as new tasks that are due now and do not expire, whatever the bounds of the board: the bound of the
    /// trash is one for what comes back from it as well.
    pub(super) async fn requeue(&mut self, filter: &Filter, up_to: usize) -> Result<Answer, Fault> {
        let Picked { places, keys, more } = self.pick_trash(filter, up_to).await?;
        if places.is_empty() {
            return Ok(Answer::Requeued { ids: Vec::new(), more });
        }
        self.lock_keys(keys.clone()).await?;
        let (now, aging) = (self.now.wall.0, self.memory.aging());
        let rows = self.session.rows(REQUEUE, &[&places, &now, &aging]).await?;
        let ids: Vec<TaskId> = rows.iter().map(|row: &Row| task_id(row.get(0))).collect();
        self.effects.unfinished += ids.len() as i64;
        self.effects.hint = true;
        self.promote_keys(keys).await?;
        Ok(Answer::Requeued { ids, more })
    }

    pub(super) async fn purge(&mut self, filter: &Filter, up_to: usize) -> Result<Answer, Fault> {
        let Picked { places, more, .. } = self.pick_trash(filter, up_to).await?;
        let row = self.session.row(PURGE, &[&places]).await?;
        Ok(Answer::Purged { tasks: row.map_or(0, |row| row.get::<_, i64>(0) as usize), more })
    }
}

fn named(filter: &Filter) -> Option<Vec<Uuid>> {
    (!filter.ids.is_empty()).then(|| uuids(&filter.ids))
}
