//! What the tables know of tasks by their ids: those that are posted again, and those that ended.

use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::Epoch;
use taskyard_core::map::Map;
use taskyard_core::store::{Known, OwnerId, RowState};
use taskyard_core::task::DueAt;
use uuid::Uuid;

use super::fault::Fault;
use super::row::{TaskRow, task_columns, task_id, uuid};
use super::turn::Turn;
use crate::store::record;

const TASKS: &str = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = ANY($1)");
const STATES: &str = "SELECT id, state FROM tasks WHERE id = ANY($1)";
const ENDED: &str = "SELECT id, epoch, owner, outcome, detail FROM history WHERE id = ANY($1)
    UNION ALL SELECT id, epoch, owner, outcome, detail FROM trash WHERE id = ANY($1)";

/// How a task ended, and in which pass of whose.
pub(super) struct Ended {
    pub(super) epoch: Epoch,
    pub(super) owner: OwnerId,
    pub(super) outcome: Outcome,
}

pub(super) fn uuids<'a>(ids: impl IntoIterator<Item = &'a TaskId>) -> Vec<Uuid> {
    ids.into_iter().map(|id| uuid(*id)).collect()
}

impl Turn<'_> {
    /// Those of these tasks that are known, as whoever posts them again is told.
    pub(super) async fn known(&mut self, ids: &[Uuid]) -> Result<Map<TaskId, Known>, Fault> {
        let (states, ended) = self.session.both((STATES, &[&ids]), (ENDED, &[&ids])).await?;
        let mut known = Map::default();
        for row in &ended {
            let outcome = Some(record::outcome(row.get(3), row.get(4)));
            known.insert(task_id(row.get(0)), Known { state: RowState::Ended, claimed: None, outcome });
        }
        for row in &states {
            let state = record::state(row.get(1));
            known.insert(task_id(row.get(0)), Known { state, claimed: None, outcome: None });
        }
        if states.iter().any(|row| record::state(row.get(1)) == RowState::Claimed) {
            self.add_claims(ids, &mut known).await?;
        }
        Ok(known)
    }

    /// Adds to what is known what the asking owner has of it.
    async fn add_claims(&mut self, ids: &[Uuid], known: &mut Map<TaskId, Known>) -> Result<(), Fault> {
        for row in self.tasks_by_id(ids).await? {
            if row.state != RowState::Claimed || row.owner != self.owner {
                continue;
            }
            let task = row.task_or_stand_in(self.memory);
            let due = DueAt::Wall(self.skew.to_yard(row.due));
            let claimed = row.claimed(task, self.memory.lanes.pool_of(row.lane), due, self.skew);
            if let Some(known) = known.get_mut(&row.id) {
                known.claimed = Some(claimed);
            }
        }
        Ok(())
    }

    /// The unfinished ones of these tasks.
    pub(super) async fn tasks_by_id(&mut self, ids: &[Uuid]) -> Result<Vec<TaskRow>, Fault> {
        let rows = self.session.rows(TASKS, &[&ids]).await?;
        self.read_tasks(&rows).await
    }

    /// How these tasks ended, of those that have and are remembered.
    pub(super) async fn ended(&mut self, ids: &[Uuid]) -> Result<Map<TaskId, Ended>, Fault> {
        let rows = self.session.rows(ENDED, &[&ids]).await?;
        let ended = rows.iter().map(|row| {
            let ended = Ended {
                epoch: row.get::<_, i32>(1) as u32,
                owner: OwnerId(row.get::<_, i64>(2) as u64),
                outcome: record::outcome(row.get(3), row.get(4)),
            };
            (task_id(row.get(0)), ended)
        });
        Ok(ended.collect())
    }

    /// Reads rows of tasks, with their lanes.
    pub(super) async fn read_tasks(&mut self, rows: &[tokio_postgres::Row]) -> Result<Vec<TaskRow>, Fault> {
        let rows: Vec<_> = rows.iter().map(TaskRow::read).collect();
        super::names::load(self.session, self.memory, rows.iter().map(|row| row.lane)).await?;
        Ok(rows)
    }
}
