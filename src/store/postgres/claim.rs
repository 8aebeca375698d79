//! Claims and preloads: how rows leave the board for a yard. Several dispatchers claim at once: each passes over the rows that
//! another has just locked.

use std::sync::Arc;

use taskyard_core::dispatch::Order;
use taskyard_core::id::PoolId;
use taskyard_core::store::{Answer, Claimed, RowState};
use taskyard_core::task::{DueAt, Task};
use taskyard_core::time::Timestamp;

use super::ends::End;
use super::fault::Fault;
use super::heads::Heads;
use super::query::at_most;
use super::row::{TaskRow, task_columns};
use super::turn::Turn;

/// So many expired rows are ended at once.
const EXPIRED_MAX: i64 = 1_000;

/// Rows that stand before a place in the order and have expired.
macro_rules! passed {
    ($state:literal, $order:literal, $last:literal) => {
        concat!(
            "SELECT sequence, twins FROM tasks WHERE state <> 4 AND expires IS NOT NULL AND expires <= $1 AND state::integer = ",
            $state,
            " AND lane = ANY($2) AND (",
            $order,
            ", sequence) < (",
            $last,
            ") ORDER BY ",
            $order,
            ", sequence LIMIT $3"
        )
    };
}

const PASSED_READY: &str = passed!("3", "rank", "$4::bigint, $5::bigint");
const PASSED_UNJUDGED: &str = passed!("2", "rank", "$4::bigint, $5::bigint");
const PASSED_PARKED: &str = passed!("0", "due, rank", "$6::bigint, $4::bigint, $5::bigint");

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
              CROSS JOIN LATERAL (SELECT sequence FROM tasks WHERE sequence = first.sequence AND state::integer = ",
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
    "SELECT sequence, epoch FROM tasks WHERE sequence = ANY($1) AND state::integer = 4 AND owner = $2";

/// What is claimed: rows of a state, for a pool.
#[derive(Clone, Copy)]
struct Claim {
    state: RowState,
    pool: PoolId,
    up_to: usize,
    /// Of parked rows, those that are due before this, on the server's clock.
    before: Timestamp,
}

/// What came of it.
#[derive(Default)]
struct Haul {
    rows: Vec<TaskRow>,
    expired: Vec<Arc<Task>>,
}

impl Turn<'_> {
    pub(super) async fn claim(
        &mut self,
        pool: PoolId,
        ready: usize,
        unjudged: usize,
    ) -> Result<Answer, Fault> {
        let mut haul = Haul::default();
        for (state, up_to) in [(RowState::Ready, ready), (RowState::Unjudged, unjudged)] {
            let claim = Claim { state, pool, up_to, before: Timestamp(i64::MAX) };
            self.claim_in_order(claim, &mut haul).await?;
        }
        let rows = self.understood(haul.rows, pool, false).await?;
        Ok(Answer::Claimed { rows, expired: haul.expired })
    }

    /// `before`: on the server's clock.
    pub(super) async fn preload(
        &mut self,
        pool: PoolId,
        before: Timestamp,
        up_to: usize,
    ) -> Result<Answer, Fault> {
        let mut haul = Haul::default();
        self.claim_in_order(Claim { state: RowState::Parked, pool, up_to, before }, &mut haul).await?;
        let rows = self.understood(haul.rows, pool, true).await?;
        Ok(Answer::Claimed { rows, expired: haul.expired })
    }

    /// Claims rows in order, and ends those before them that have expired: of many of these not all in one transaction,
    /// which could take too long and be repeated for ever. Who asked and was told of expired ones asks again.
    async fn claim_in_order(&mut self, mut claim: Claim, haul: &mut Haul) -> Result<(), Fault> {
        while claim.up_to > 0 && haul.expired.len() < EXPIRED_MAX as usize {
            let heads = self.heads().await?;
            let lanes = heads.first_lanes(self.memory, claim.state, Some(claim.pool), claim.up_to);
            if lanes.is_empty() {
                break;
            }
            let rows = self.take(claim, &lanes).await?;
            claim.up_to -= rows.len();
            let last = rows.last().filter(|_| claim.up_to == 0).map(|row| (row.due, row.order()));
            haul.rows.extend(rows);
            let passed = if heads.has_expired(self.now.wall) {
                self.end_passed(claim, &heads, last).await?
            } else {
                Vec::new()
            };
            if passed.is_empty() {
                break;
            }
            haul.expired.extend(passed);
        }
        Ok(())
    }

    /// Ends what a claim would have come across if it had not expired: up to the last row that was claimed, or all.
    async fn end_passed(
        &mut self,
        claim: Claim,
        heads: &Heads,
        last: Option<(Timestamp, Order)>,
    ) -> Result<Vec<Arc<Task>>, Fault> {
        let lanes = heads.first_lanes(self.memory, claim.state, Some(claim.pool), usize::MAX);
        let end = Order { rank: i64::MAX, sequence: i64::MAX as u64 };
        let (due, Order { rank, sequence }) = last.unwrap_or((Timestamp(claim.before.0 - 1), end));
        let (now, sequence) = (self.now.wall.0, sequence as i64);
        let params: super::link::Params<'_> = &[&now, &lanes, &EXPIRED_MAX, &rank, &sequence];
        let rows = match claim.state {
            RowState::Parked => {
                let params = [params, &[&due.0]].concat();
                self.session.rows(PASSED_PARKED, &params).await?
            }
            RowState::Unjudged => self.session.rows(PASSED_UNJUDGED, params).await?,
            _ => self.session.rows(PASSED_READY, params).await?,
        };
        self.end_expired_rows(&rows).await
    }

    /// Claims rows of these lanes, in order.
    async fn take(&mut self, claim: Claim, lanes: &[i64]) -> Result<Vec<TaskRow>, Fault> {
        let Claim { state, up_to, before, .. } = claim;
        let (number, looked) = (at_most(up_to), at_most(up_to.saturating_mul(2)));
        let (now, owner) = (self.now.wall.0, self.owner_number());
        let params: super::link::Params<'_> = &[&lanes, &number, &looked, &now, &owner];
        let rows = match state {
            RowState::Parked => {
                self.lock_preloaded(lanes, looked, before).await?;
                self.session.rows(PRELOAD, &[params, &[&before.0]].concat()).await?
            }
            RowState::Unjudged => self.session.rows(CLAIM_UNJUDGED, params).await?,
            _ => self.session.rows(CLAIM_READY, params).await?,
        };
        self.effects.worn += rows.len() as i64;
        let mut rows = self.read_tasks(&rows).await?;
        rows.sort_unstable_by_key(|row| ((state == RowState::Parked).then_some(row.due), row.order()));
        Ok(rows)
    }

    /// What is preloaded counts for its key, so that whoever counts must wait.
    async fn lock_preloaded(&mut self, lanes: &[i64], looked: i64, before: Timestamp) -> Result<(), Fault> {
        let keys = self.session.rows(KEYS_TO_PRELOAD, &[&lanes, &looked, &before.0]).await?;
        self.lock_keys(keys.iter().map(|row| row.get(0)).collect()).await
    }

    /// What the yard gets of claimed rows. What cannot be understood is trashed at once.
    async fn understood(
        &mut self,
        rows: Vec<TaskRow>,
        pool: PoolId,
        near: bool,
    ) -> Result<Vec<Claimed>, Fault> {
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
