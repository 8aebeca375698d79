//! What time brings: parked rows become due, and what nobody started in time expires.

use taskyard_core::store::{Answer, RowState};
use uuid::Uuid;

use super::fault::Fault;
use super::query::at_most;
use super::turn::Turn;

const DUE: &str = "SELECT first.sequence, first.twins FROM unnest($1::bigint[]) AS taken(lane)
    CROSS JOIN LATERAL (SELECT sequence, twins, due, rank FROM tasks WHERE state = 0 AND lane = taken.lane AND due <= $2
      ORDER BY due, rank, sequence LIMIT $3) AS first
    ORDER BY first.due, first.rank, first.sequence LIMIT $3";

/// Those of a key go behind, from where the first are let in.
const PROMOTE: &str = "UPDATE tasks SET state = CASE
      WHEN key IS NOT NULL AND key_waiting IS NOT NULL AND NOT judged THEN 2
      WHEN twins IS NOT NULL THEN 1 ELSE 3 END
    WHERE sequence = ANY($1) AND state::integer = 0 AND due <= $2 RETURNING twins";

impl Turn<'_> {
    /// Ends what has expired, and makes what is due ready, behind or unjudged: at most so many of each.
    pub(super) async fn promote(&mut self, up_to: usize) -> Result<Answer, Fault> {
        let heads = self.heads().await?;
        let mut expired = Vec::new();
        if heads.has_expired(self.now.wall) {
            expired = self.end_expired(up_to).await?;
        }
        let lanes = heads.first_lanes(self.memory, RowState::Parked, None, up_to);
        if !lanes.is_empty() {
            self.promote_due(&lanes, up_to).await?;
        }
        Ok(Answer::Promoted { expired })
    }

    async fn promote_due(&mut self, lanes: &[i64], up_to: usize) -> Result<(), Fault> {
        let (now, number) = (self.now.wall.0, at_most(up_to));
        let due = self.session.rows(DUE, &[&lanes, &now, &number]).await?;
        let sequences: Vec<i64> = due.iter().map(|row| row.get(0)).collect();
        if sequences.is_empty() {
            return Ok(());
        }
        self.lock_keys(due.iter().filter_map(|row| row.get(1)).collect()).await?;
        let promoted = self.session.rows(PROMOTE, &[&sequences, &now]).await?;
        self.effects.hint |= !promoted.is_empty();
        self.effects.worn += promoted.len() as i64;
        let keys = promoted.iter().filter_map(|row| row.get::<_, Option<Uuid>>(0)).collect();
        self.promote_keys(keys).await
    }
}
