//! Schedules and batches: up to where ticks are done with, and how many tasks hold up the end of a run. Which ticks there are
//! is decided by whoever asks.

use taskyard_core::store::{Answer, BatchId, BatchState, NewRow, Room, ScheduleState, Ticked};
use taskyard_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::fault::Fault;
use super::turn::Turn;

const BEGIN: &str = "INSERT INTO schedules (name, done) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const ONE: &str = "SELECT name, done, paused FROM schedules WHERE name = $1";
const PAUSE: &str = "UPDATE schedules SET paused = $2 WHERE name = $1 RETURNING name, done, paused";
const ALL: &str = "SELECT name, done, paused FROM schedules ORDER BY name COLLATE \"C\"";
/// Whoever is first; others wait for the end of the transaction.
const OURS: &str =
    "SELECT name, done, paused FROM schedules WHERE name = $1 AND done = $2 AND NOT paused FOR UPDATE";
const MOVE_ON: &str = "UPDATE schedules SET done = $2 WHERE name = $1 RETURNING name, done, paused";

const LATEST: &str =
    "SELECT batch, run, sealed AND NOT EXISTS (SELECT FROM tasks WHERE tasks.batch = batches.batch)
    FROM batches WHERE hash = $1 ORDER BY run DESC LIMIT 1";
const OPEN: &str = "WITH before AS (DELETE FROM batches WHERE hash = $1)
    INSERT INTO batches (hash, run) VALUES ($1, $2) RETURNING batch";
const SEAL: &str = "UPDATE batches SET sealed = true WHERE batch = $1";

fn state(row: &Row) -> ScheduleState {
    ScheduleState { name: row.get::<_, &str>(0).into(), done: Timestamp(row.get(1)), paused: row.get(2) }
}

impl Turn<'_> {
    /// A schedule's state, made if there is none.
    pub(super) async fn schedule(
        &mut self,
        name: &str,
        begin: Timestamp,
    ) -> Result<Option<ScheduleState>, Fault> {
        self.session.rows(BEGIN, &[&name, &begin.0]).await?;
        Ok(self.session.row(ONE, &[&name]).await?.as_ref().map(state))
    }

    pub(super) async fn pause_schedule(
        &mut self,
        name: &str,
        paused: bool,
    ) -> Result<Option<ScheduleState>, Fault> {
        Ok(self.session.row(PAUSE, &[&name, &paused]).await?.as_ref().map(state))
    }

    pub(super) async fn schedules(&mut self) -> Result<Vec<ScheduleState>, Fault> {
        Ok(self.session.rows(ALL, &[]).await?.iter().map(state).collect())
    }

    /// Posts and moves on, unless it pauses or another was first.
    pub(super) async fn tick(
        &mut self,
        name: &str,
        from: Timestamp,
        to: Timestamp,
        rows: &[NewRow],
    ) -> Result<Ticked, Fault> {
        let Some(mut there) = self.session.row(OURS, &[&name, &from.0]).await? else {
            let there = self.session.row(ONE, &[&name]).await?;
            return Ok(Ticked { state: there.as_ref().map(state), posted: None });
        };
        let posted = self.post(rows, Room::default()).await?;
        if Ticked::moves_on(&posted) {
            there = self.session.row(MOVE_ON, &[&name, &to.0]).await?.unwrap_or(there);
        }
        Ok(Ticked { state: Some(state(&there)), posted: Some(posted) })
    }

    /// The unfinished run of this content, or a new one.
    pub(super) async fn open_batch(&mut self, hash: &[u8; 32]) -> Result<BatchState, Fault> {
        // Two that open the same content at once get the same run.
        let (first, _) = hash.split_at(16);
        self.lock_keys(Uuid::from_slice(first).into_iter().collect()).await?;
        let hash = hash.as_slice();
        let latest = self.session.row(LATEST, &[&hash]).await?;
        let latest: Option<(i64, i32, bool)> = latest.map(|row| (row.get(0), row.get(1), row.get(2)));
        let run = match latest {
            Some((batch, run, false)) => {
                return Ok(BatchState { id: BatchId(batch as u64), run: run as u32, resumed: true });
            }
            Some((_, run, true)) => run + 1,
            None => 1,
        };
        let row = self.session.row(OPEN, &[&hash, &run]).await?;
        let batch: i64 = row.map_or(0, |row| row.get(0));
        Ok(BatchState { id: BatchId(batch as u64), run: run as u32, resumed: false })
    }

    pub(super) async fn seal_batch(&mut self, batch: BatchId) -> Result<Answer, Fault> {
        self.session.rows(SEAL, &[&(batch.0 as i64)]).await?;
        Ok(Answer::Sealed)
    }
}
