//! How claimed rows that did not end come back to the board. Whatever takes one in again does not judge it anew, unless it was
//! not yet due and so has not been judged at all. One that somebody wants cancelled does not come back.

use std::collections::BTreeMap;

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{AttemptEnd, OwnerId};
use uuid::Uuid;

use super::ends::End;
use super::fault::Fault;
use super::turn::Turn;
use crate::store::record;

/// A row that is renewed lets its key go first and is then one of those behind; one that is not keeps its place among its
/// twins: one that waits behind it must not be let past. `$1` to `$9` by row, `$10` now, `$11` the aging.
const PUT_BACK: &str = "WITH mine AS MATERIALIZED (SELECT item.*, coalesce(item.due, task.due) AS next_due
      FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::boolean[], $6::boolean[], $7::boolean[],
        $8::text[], $9::text[]) AS item(sequence, epoch, owner, due, renew, failed, reported, how, error)
      CROSS JOIN LATERAL (SELECT due FROM tasks WHERE sequence = item.sequence AND epoch = item.epoch
        AND owner = item.owner AND state::integer = 4 AND NOT unwanted LIMIT 1) AS task),
    back AS (UPDATE tasks SET
      state = CASE
        WHEN mine.next_due > $10 THEN 0
        WHEN key IS NOT NULL AND key_waiting IS NOT NULL AND NOT judged AND tasks.due > $10 THEN 2
        WHEN twins IS NOT NULL AND mine.renew THEN 1
        ELSE 3 END,
      judged = judged OR tasks.due <= $10,
      due = mine.next_due,
      rank = CASE
        WHEN NOT mine.renew THEN rank
        WHEN $11::bigint = 0 THEN -(priority::bigint << 56)
        ELSE greatest(mine.next_due, $10) - priority * $11::bigint END,
      attempts = attempts + mine.failed::integer,
      setbacks = CASE WHEN mine.failed THEN 0 WHEN mine.how = $12 THEN setbacks + 1 ELSE setbacks END,
      crash_marks = CASE WHEN mine.reported THEN 0 WHEN mine.how = $13 THEN greatest(crash_marks, 1)
        ELSE crash_marks END,
      logged = logged OR mine.how IS NOT NULL,
      last_error = coalesce(mine.error, last_error)
      FROM mine WHERE tasks.sequence = mine.sequence AND state::integer = 4 AND NOT unwanted
      RETURNING tasks.sequence, tasks.id, tasks.epoch, tasks.owner, tasks.twins, mine.how),
    noted AS (INSERT INTO attempts (id, epoch, ended, owner, how)
      SELECT id, epoch, $10::bigint, owner, how FROM back WHERE how IS NOT NULL ON CONFLICT DO NOTHING),
    forgotten AS (DELETE FROM attempts USING back
      WHERE attempts.id = back.id AND back.epoch > 1000 AND attempts.epoch <= back.epoch - 1000)
    SELECT sequence, twins FROM back";

const UNWANTED: &str =
    "SELECT sequence, epoch, owner FROM tasks WHERE sequence = ANY($1) AND state::integer = 4 AND unwanted";

/// A claimed row that comes back.
pub(super) struct Back {
    pub(super) sequence: i64,
    pub(super) epoch: u32,
    pub(super) owner: OwnerId,
    /// On the server's clock; `None`: as it was.
    pub(super) due: Option<i64>,
    /// Whether it takes a new place in the order.
    pub(super) renew: bool,
    /// Whether its end was reported, so that crash marks are taken away.
    pub(super) reported: bool,
    /// What is noted of the pass, if anything.
    pub(super) how: Option<AttemptEnd>,
}

impl Turn<'_> {
    /// Puts rows back. Which came back, or ended because they were not wanted. Their keys are locked.
    pub(super) async fn put_back(&mut self, rows: Vec<Back>) -> Result<Returned, Fault> {
        if rows.is_empty() {
            return Ok(Returned::default());
        }
        let sequences: Vec<_> = rows.iter().map(|row| row.sequence).collect();
        let back = self.update_back(&rows, &sequences).await?;
        let keys = back.iter().filter_map(|row| row.get::<_, Option<Uuid>>(1)).collect();
        self.promote_keys(keys).await?;
        self.effects.hint = true;
        let back: Vec<i64> = back.iter().map(|row| row.get(0)).collect();
        let unwanted =
            if back.len() < rows.len() { self.end_unwanted(&sequences, &rows).await? } else { Vec::new() };
        Ok(Returned { back, unwanted })
    }

    async fn update_back(
        &mut self,
        rows: &[Back],
        sequences: &[i64],
    ) -> Result<Vec<tokio_postgres::Row>, Fault> {
        let epochs: Vec<_> = rows.iter().map(|row| row.epoch as i32).collect();
        let owners: Vec<_> = rows.iter().map(|row| row.owner.0 as i64).collect();
        let dues: Vec<_> = rows.iter().map(|row| row.due).collect();
        let renew: Vec<_> = rows.iter().map(|row| row.renew).collect();
        let error = |row: &Back| match &row.how {
            Some(AttemptEnd::Failed(failure)) => Some(record::failure_text(failure)),
            _ => None,
        };
        let errors: Vec<_> = rows.iter().map(error).collect();
        let failed: Vec<_> = errors.iter().map(Option::is_some).collect();
        let reported: Vec<_> = rows.iter().map(|row| row.reported).collect();
        let how: Vec<_> = rows.iter().map(|row| row.how.as_ref().map(record::attempt_text)).collect();
        let (now, aging) = (self.now.wall.0, self.memory.aging());
        let [setback, lost] =
            [AttemptEnd::Setback, AttemptEnd::OwnerLost].map(|end| record::attempt_text(&end));
        let params: super::link::Params<'_> = &[
            &sequences, &epochs, &owners, &dues, &renew, &failed, &reported, &how, &errors, &now, &aging,
            &setback, &lost,
        ];
        self.session.rows(PUT_BACK, params).await
    }

    /// Ends those of these rows that are still there because nobody wants them back.
    async fn end_unwanted(&mut self, sequences: &[i64], rows: &[Back]) -> Result<Vec<i64>, Fault> {
        let found = self.session.rows(UNWANTED, &[&sequences]).await?;
        let named = |row: &tokio_postgres::Row| {
            let name = (row.get(0), row.get::<_, i32>(1) as u32, OwnerId(row.get::<_, i64>(2) as u64));
            rows.iter().find(|back| (back.sequence, back.epoch, back.owner) == name)
        };
        let asking = self.owner;
        let mut ends = BTreeMap::<OwnerId, Vec<End>>::new();
        for back in found.iter().filter_map(named) {
            let end = End { sequence: back.sequence, epoch: back.epoch, outcome: Outcome::Cancelled };
            ends.entry(back.owner).or_default().push(end);
        }
        let mut ended = Vec::new();
        for (owner, ends) in ends {
            self.owner = owner;
            ended.extend(self.end_claimed(ends).await?);
        }
        self.owner = asking;
        Ok(ended)
    }
}

/// What became of rows that were put back.
#[derive(Debug, Default)]
pub(super) struct Returned {
    /// They are on the board again.
    pub(super) back: Vec<i64>,
    /// They ended: somebody wanted them cancelled.
    pub(super) unwanted: Vec<i64>,
}
