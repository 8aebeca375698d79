//! Claims and preloads: how rows leave the board for a yard. Several dispatchers claim at once: each passes over the rows that
//! another has just locked.

use std::sync::Arc;

use taskyard_core::id::PoolId;
use taskyard_core::store::{Answer, Claimed, RowState};
use taskyard_core::task::{DueAt, Task};
use taskyard_core::time::Timestamp;
use tokio_postgres::types::ToSql;

use super::ends::End;
use super::fault::Fault;
use super::heads::Heads;
use super::row::{TaskRow, task_columns};
use super::turn::Turn;
use crate::store::record;

/// So many expired rows are ended before a claim goes on.
const EXPIRED_MAX: i64 = 1_000;

/// Those that would be claimed if they had not expired.
const EXPIRED: &str =
    "SELECT sequence, twins FROM tasks WHERE state <> 4 AND expires IS NOT NULL AND expires <= $1
    AND state = ANY($2) AND lane = ANY($3) AND due < $4 ORDER BY expires LIMIT $5";

/// Of the first rows of each of these lanes the first of all; those that are locked are passed over, for which twice as
/// many are looked at. `$1` lanes, `$2` how many, `$3` twice as many, `$4` now, `$5` the owner.
macro_rules! claim {
    ($state:literal, $order:literal, $only:literal) => {
        concat!(
            "UPDATE tasks SET state = 4, epoch = epoch + 1, owner = $5 WHERE sequence = ANY(ARRAY(
              SELECT free.sequence FROM (
                SELECT first.sequence FROM unnest($1::bigint[]) AS taken(lane) CROSS JOIN LATERAL (
                  SELECT sequence, due, rank FROM tasks WHERE state = ",
            $state,
            " AND lane = taken.lane AND (expires IS NULL OR expires > $4)",
            $only,
            " ORDER BY ",
            $order,
            ", sequence LIMIT $3) AS first ORDER BY ",
            $order,
            ", sequence) AS first
              CROSS JOIN LATERAL (SELECT sequence FROM tasks WHERE sequence = first.sequence AND state = ",
            $state,
            " FOR UPDATE SKIP LOCKED) AS free LIMIT $2)) RETURNING ",
            task_columns!()
        )
    };
}

const CLAIM_READY: &str = claim!("3", "rank", "");
const CLAIM_UNJUDGED: &str = claim!("2", "rank", "");
const PRELOAD: &str = claim!("0", "due, rank", " AND due < $6");

const KEYS_TO_PRELOAD: &str = "SELECT DISTINCT twins FROM (
      SELECT first.* FROM unnest($1::bigint[]) AS taken(lane) CROSS JOIN LATERAL (
        SELECT twins, due, rank, sequence FROM tasks WHERE state = 0 AND lane = taken.lane AND due < $3
          ORDER BY due, rank, sequence LIMIT $2) AS first ORDER BY due, rank, sequence) AS first
    WHERE twins IS NOT NULL";

const STILL_CLAIMED: &str =
    "SELECT sequence, epoch FROM tasks WHERE sequence = ANY($1) AND state = 4 AND owner = $2";

impl Turn<'_> {
    pub(super) async fn claim(
        &mut self,
        pool: PoolId,
        ready: usize,
        unjudged: usize,
    ) -> Result<Answer, Fault> {
        let states = [RowState::Ready, RowState::Unjudged];
        let (heads, expired) = self.past_expired(&states, pool, Timestamp(i64::MAX)).await?;
        let mut rows = Vec::new();
        for (state, up_to) in [(RowState::Ready, ready), (RowState::Unjudged, unjudged)] {
            let lanes = heads.first_lanes(self.memory, state, Some(pool), up_to);
            let taken = self.take(state, &lanes, up_to, None).await?;
            rows.extend(self.haul(taken, pool, false).await?);
        }
        Ok(Answer::Claimed { rows, expired })
    }

    /// `before`: on the server's clock.
    pub(super) async fn preload(
        &mut self,
        pool: PoolId,
        before: Timestamp,
        up_to: usize,
    ) -> Result<Answer, Fault> {
        let (heads, expired) = self.past_expired(&[RowState::Parked], pool, before).await?;
        let lanes = heads.first_lanes(self.memory, RowState::Parked, Some(pool), up_to);
        if lanes.is_empty() {
            return Ok(Answer::Claimed { rows: Vec::new(), expired });
        }
        // What is claimed counts for its key, so that whoever counts must wait.
        let looked = twice(up_to);
        let keys = self.session.rows(KEYS_TO_PRELOAD, &[&lanes, &looked, &before.0]).await?;
        self.lock_keys(keys.iter().map(|row| row.get(0)).collect()).await?;
        let taken = self.take(RowState::Parked, &lanes, up_to, Some(before)).await?;
        Ok(Answer::Claimed { rows: self.haul(taken, pool, true).await?, expired })
    }

    /// Ends what would be claimed here and has expired, so that no claim finds it. The heads after that.
    async fn past_expired(
        &mut self,
        states: &[RowState],
        pool: PoolId,
        before: Timestamp,
    ) -> Result<(Heads, Vec<Arc<Task>>), Fault> {
        let heads = self.heads().await?;
        if !heads.has_expired(self.now.wall) {
            return Ok((heads, Vec::new()));
        }
        let lanes_in = |state| heads.first_lanes(self.memory, state, Some(pool), usize::MAX);
        let lanes: Vec<i64> = states.iter().flat_map(|state| lanes_in(*state)).collect();
        let states: Vec<i16> = states.iter().map(|state| record::state_code(*state)).collect();
        let params: super::link::Params<'_> = &[&self.now.wall.0, &states, &lanes, &before.0, &EXPIRED_MAX];
        let rows = self.session.rows(EXPIRED, params).await?;
        let expired = self.end_expired_rows(&rows).await?;
        Ok((self.heads().await?, expired))
    }

    /// Claims rows of a state, in order.
    async fn take(
        &mut self,
        state: RowState,
        lanes: &[i64],
        up_to: usize,
        before: Option<Timestamp>,
    ) -> Result<Vec<TaskRow>, Fault> {
        if lanes.is_empty() || up_to == 0 {
            return Ok(Vec::new());
        }
        let (number, looked, now, owner) = (up_to as i64, twice(up_to), self.now.wall.0, self.owner_number());
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&lanes, &number, &looked, &now, &owner];
        let before = before.map(|at| at.0);
        params.extend(before.as_ref().map(|before| before as &(dyn ToSql + Sync)));
        let claim = match state {
            RowState::Parked => PRELOAD,
            RowState::Unjudged => CLAIM_UNJUDGED,
            _ => CLAIM_READY,
        };
        let rows = self.session.rows(claim, &params).await?;
        let mut rows = self.read_tasks(&rows).await?;
        rows.sort_unstable_by_key(|row| (before.map(|_| row.due), row.order()));
        Ok(rows)
    }

    /// What the yard gets of claimed rows. What cannot be understood is trashed at once.
    async fn haul(&mut self, rows: Vec<TaskRow>, pool: PoolId, near: bool) -> Result<Vec<Claimed>, Fault> {
        let (mut claimed, mut unreadable) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let due = if near { DueAt::Wall(self.skew.to_yard(row.due)) } else { DueAt::Now };
            match row.task(self.memory) {
                Ok(task) => claimed.push(row.claimed(task, pool, due, self.skew)),
                Err(why) => {
                    tracing::warn!(task = %row.id, %why, "a task on the board is trashed");
                    unreadable.push(End::trash(&row, why));
                }
            }
        }
        if !unreadable.is_empty() {
            let keys = self.keys_of(unreadable.iter().map(|end| end.sequence).collect()).await?;
            self.lock_keys(keys).await?;
            self.trash_claimed(unreadable).await?;
        }
        Ok(claimed)
    }

    /// Of a claim that was answered before, what the owner still has.
    pub(super) async fn still_claimed(&mut self, answer: Answer) -> Result<Answer, Fault> {
        let Answer::Claimed { mut rows, expired } = answer else { return Ok(answer) };
        let sequences: Vec<_> = rows.iter().map(|row| row.order.sequence as i64).collect();
        let held = self.session.rows(STILL_CLAIMED, &[&sequences, &self.owner_number()]).await?;
        let held: std::collections::BTreeSet<_> =
            held.iter().map(|row| (row.get::<_, i64>(0) as u64, row.get::<_, i32>(1) as u32)).collect();
        rows.retain(|row| held.contains(&(row.order.sequence, row.epoch)));
        Ok(Answer::Claimed { rows, expired })
    }
}

fn twice(up_to: usize) -> i64 {
    up_to.saturating_mul(2).min(i64::MAX as usize) as i64
}
