//! Writes new rows: column by column, as the server takes many rows at once.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::Order;
use taskyard_core::map::Map;
use taskyard_core::store::{BatchId, RowState};
use taskyard_core::task::Task;
use taskyard_core::time::Timestamp;
use uuid::Uuid;

use super::fault::Fault;
use super::keys::serial_twins;
use super::row::{key_uuid, task_id, uuid};
use super::turn::Turn;
use crate::store::lanes::LaneNo;
use crate::store::record;

/// So many rows and bytes are sent in one statement.
const ROWS_MAX: usize = 2_000;
const BYTES_MAX: usize = 16 << 20;

/// In their order, so that those that came first get the lower sequences.
const INSERT: &str = "INSERT INTO tasks (id, lane, rank, due, posted, expires, batch, owner, key, twins, key_limit,
      key_waiting, overflow, priority, state, epoch, body)
    SELECT new.id, lane, rank, due, $1::bigint, expires, batch, CASE state WHEN 4 THEN $2::bigint ELSE 0 END, key, twins, key_limit,
      key_waiting, overflow, priority, state, CASE state WHEN 4 THEN 1 ELSE 0 END, body
    FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::uuid[],
      $10::uuid[], $11::integer[], $12::integer[], $13::smallint[], $14::smallint[], $15::smallint[], $16::bytea[])
      WITH ORDINALITY AS new(id, lane, rank, due, expires, batch, key, twins, key_limit, key_waiting, overflow, priority,
      state, body, place)
    ORDER BY place
    ON CONFLICT (id) DO NOTHING RETURNING id, sequence";

const ENDED: &str =
    "SELECT id FROM history WHERE id = ANY($1) UNION ALL SELECT id FROM trash WHERE id = ANY($1)";
const DELETE: &str = "DELETE FROM tasks WHERE id = ANY($1)";

/// Rows to write.
#[derive(Default)]
pub(super) struct NewRows {
    chunks: Vec<Chunk>,
}

#[derive(Default)]
struct Chunk {
    tasks: Vec<Arc<Task>>,
    bytes: usize,
    ids: Vec<Uuid>,
    lanes: Vec<i64>,
    ranks: Vec<i64>,
    dues: Vec<i64>,
    expiries: Vec<Option<i64>>,
    batches: Vec<Option<i64>>,
    keys: Vec<Option<Uuid>>,
    twins: Vec<Option<Uuid>>,
    key_limits: Vec<Option<i32>>,
    key_waitings: Vec<Option<i32>>,
    overflows: Vec<i16>,
    priorities: Vec<i16>,
    states: Vec<i16>,
}

impl NewRows {
    #[expect(clippy::too_many_arguments, reason = "a row has as many columns")]
    pub(super) fn add(
        &mut self,
        task: &Arc<Task>,
        lane: LaneNo,
        order: Order,
        due: Timestamp,
        expires: Option<Timestamp>,
        batch: Option<BatchId>,
        state: RowState,
    ) {
        let chunk = self.chunk();
        let (limit, waiting, overflow) = record::limit_columns(task.limits);
        chunk.bytes += task.body.text().len();
        chunk.ids.push(uuid(task.id));
        chunk.lanes.push(lane.0);
        chunk.ranks.push(order.rank);
        chunk.dues.push(due.0);
        chunk.expiries.push(expires.map(|at| at.0));
        chunk.batches.push(batch.map(|batch| batch.0 as i64));
        chunk.keys.push(task.key.map(key_uuid));
        chunk.twins.push(serial_twins(task));
        chunk.key_limits.push(limit.map(|n| n as i32));
        chunk.key_waitings.push(waiting.map(|n| n as i32));
        chunk.overflows.push(overflow);
        chunk.priorities.push(task.priority.get().into());
        chunk.states.push(record::state_code(state));
        chunk.tasks.push(Arc::clone(task));
    }

    fn chunk(&mut self) -> &mut Chunk {
        let full = |chunk: &Chunk| chunk.ids.len() >= ROWS_MAX || chunk.bytes >= BYTES_MAX;
        if self.chunks.last().is_none_or(full) {
            self.chunks.push(Chunk::default());
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }
}

impl Turn<'_> {
    /// Writes rows. The sequence of each that was not there.
    pub(super) async fn insert(&mut self, rows: NewRows) -> Result<Map<TaskId, i64>, Fault> {
        let mut written = Map::default();
        for chunk in rows.chunks {
            self.insert_chunk(&chunk, &mut written).await?;
            let waits = |state: &i16| *state != record::state_code(RowState::Claimed);
            self.effects.hint |= chunk.states.iter().any(waits);
        }
        self.effects.unfinished += written.len() as i64;
        Ok(written)
    }

    async fn insert_chunk(&mut self, chunk: &Chunk, written: &mut Map<TaskId, i64>) -> Result<(), Fault> {
        let bodies: Vec<&[u8]> = chunk.tasks.iter().map(|task| task.body.text().as_bytes()).collect();
        let (posted, owner) = (self.now.wall.0, self.owner_number());
        let params: super::link::Params<'_> = &[
            &posted,
            &owner,
            &chunk.ids,
            &chunk.lanes,
            &chunk.ranks,
            &chunk.dues,
            &chunk.expiries,
            &chunk.batches,
            &chunk.keys,
            &chunk.twins,
            &chunk.key_limits,
            &chunk.key_waitings,
            &chunk.overflows,
            &chunk.priorities,
            &chunk.states,
            &bodies,
        ];
        // A task may have ended since it was looked for: whoever ended it has committed before its id was free, so that
        // a statement that begins after the insertion sees it.
        let (inserted, ended) = self.session.both((INSERT, params), (ENDED, &[&chunk.ids])).await?;
        written.extend(inserted.iter().map(|row| (task_id(row.get(0)), row.get::<_, i64>(1))));
        let ended: Vec<Uuid> = ended.iter().map(|row| row.get(0)).collect();
        let again: Vec<_> = ended.into_iter().filter(|id| written.remove(&task_id(*id)).is_some()).collect();
        if !again.is_empty() {
            self.session.rows(DELETE, &[&again]).await?;
        }
        Ok(())
    }
}
