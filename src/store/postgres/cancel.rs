//! Cancels and reschedules: how rows change that nobody has, and what is said of those that somebody has.

use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::Sequence;
use taskyard_core::map::Set;
use taskyard_core::store::{Answer, Filter, RescheduleAnswer, RowState};
use taskyard_core::task::DueAt;
use tokio_postgres::Row;
use uuid::Uuid;

use super::fault::Fault;
use super::known::uuids;
use super::row::{task_id, uuid};
use super::turn::Turn;
use crate::store::lanes::LaneNo;
use crate::store::record;

const BY_ID: &str = "SELECT sequence, lane, state, twins FROM tasks WHERE id = ANY($1) ORDER BY sequence";
const BY_LANE: &str = "SELECT sequence, lane, state, twins FROM tasks WHERE sequence > $1 AND sequence <= $2
    AND ($3::bigint[] IS NULL OR lane = ANY($3)) ORDER BY sequence";
const MARK: &str =
    "UPDATE tasks SET unwanted = true WHERE sequence = ANY($1) AND state::integer = 4 AND owner <> $2
    RETURNING id, sequence";

const HOLDER: &str = "SELECT sequence, state, owner, twins FROM tasks WHERE id = $1";
const RESCHEDULE: &str = "UPDATE tasks SET due = $2::bigint, state = CASE
      WHEN $2::bigint > $3::bigint THEN 0
      WHEN key IS NOT NULL AND key_waiting IS NOT NULL AND NOT judged THEN 2
      WHEN twins IS NOT NULL THEN 1 ELSE 3 END,
      rank = CASE WHEN $4::bigint = 0 THEN -(priority::bigint << 56) ELSE greatest($2::bigint, $3::bigint) - priority * $4::bigint END
    WHERE sequence = $1 AND state <> 4 RETURNING twins";

impl Turn<'_> {
    pub(super) async fn cancel(&mut self, filter: &Filter, after: Sequence) -> Result<Answer, Fault> {
        let (picked, more) = self.pick(filter, after).await?;
        let is_free = |row: &&Row| record::state(row.get(2)) != RowState::Claimed;
        let free: Vec<i64> = picked.iter().filter(is_free).map(|row| row.get(0)).collect();
        let keys = picked.iter().filter(is_free).filter_map(|row| row.get::<_, Option<Uuid>>(3)).collect();
        self.lock_keys(keys).await?;
        let tasks = self.end_free(&free, &Outcome::Cancelled).await?;
        let tasks: Vec<_> = tasks.into_iter().map(|(_, task)| task).collect();
        // Also those that were claimed just now.
        let elsewhere = self.mark(&picked).await?;
        let told: Set<TaskId> = tasks.iter().map(|task| task.id).collect();
        let ended = self.ended(&uuids(&filter.ids)).await?;
        let ended_otherwise = |id: &TaskId| ended.contains_key(id) && !told.contains(id);
        let ended = filter.ids.iter().copied().filter(ended_otherwise).collect();
        Ok(Answer::Cancelled { tasks, elsewhere, ended, more })
    }

    /// What a filter picks, in order of arrival, and where to go on.
    async fn pick(
        &mut self,
        filter: &Filter,
        after: Sequence,
    ) -> Result<(Vec<Row>, Option<Sequence>), Fault> {
        if filter.is_empty() {
            return Ok((Vec::new(), None));
        }
        if !filter.ids.is_empty() {
            let mut rows = self.session.rows(BY_ID, &[&uuids(&filter.ids)]).await?;
            super::names::load(self.session, self.memory, rows.iter().map(|row| LaneNo(row.get(1)))).await?;
            rows.retain(|row| filter.fits_lane(&self.memory.lane(LaneNo(row.get(1)))));
            return Ok((rows, None));
        }
        let lanes = self.lanes_of(filter).await?;
        let page = self.page(after, lanes.as_deref()).await?;
        let rows = self.session.rows(BY_LANE, &[&(after as i64), &page.last, &lanes]).await?;
        Ok((rows, page.more()))
    }

    /// Marks what others have.
    async fn mark(&mut self, picked: &[Row]) -> Result<Vec<TaskId>, Fault> {
        let sequences: Vec<i64> = picked.iter().map(|row| row.get(0)).collect();
        if sequences.is_empty() {
            return Ok(Vec::new());
        }
        let marked = self.session.rows(MARK, &[&sequences, &self.owner_number()]).await?;
        let mut marked: Vec<(i64, TaskId)> =
            marked.iter().map(|row| (row.get(1), task_id(row.get(0)))).collect();
        marked.sort_unstable();
        Ok(marked.into_iter().map(|(_, id)| id).collect())
    }

    pub(super) async fn reschedule(&mut self, id: TaskId, due: DueAt) -> Result<RescheduleAnswer, Fault> {
        let Some(row) = self.session.row(HOLDER, &[&uuid(id)]).await? else {
            let ended = self.ended(&[uuid(id)]).await?;
            return Ok(if ended.is_empty() { RescheduleAnswer::Absent } else { RescheduleAnswer::Ended });
        };
        if record::state(row.get(1)) == RowState::Claimed {
            let ours = row.get::<_, i64>(2) == self.owner_number();
            return Ok(if ours { RescheduleAnswer::Claimed } else { RescheduleAnswer::Elsewhere });
        }
        let keys: Vec<Uuid> = row.get::<_, Option<Uuid>>(3).into_iter().collect();
        self.lock_keys(keys.clone()).await?;
        let (sequence, due) = (row.get::<_, i64>(0), self.wall(self.skew.reckoned(due)));
        let (now, aging) = (self.now.wall.0, self.memory.aging());
        let changed = self.session.rows(RESCHEDULE, &[&sequence, &due, &now, &aging]).await?;
        if changed.is_empty() {
            // Somebody claimed it just now.
            return Ok(RescheduleAnswer::Elsewhere);
        }
        self.effects.hint = true;
        self.promote_keys(keys).await?;
        Ok(RescheduleAnswer::Done)
    }
}
