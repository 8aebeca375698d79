//! How many rows there are: counted up to a bound, and beyond it as the server estimates, so that no count takes long however
//! many there are. What a filter picks is counted exactly, a page for each answer.

use taskyard_core::id::Sequence;
use taskyard_core::store::{Answer, Counts, Filter};

use super::fault::Fault;
use super::names;
use super::turn::Turn;
use crate::store::lanes::LaneNo;
use crate::store::record;

/// More than so many are not counted one by one.
const COUNTED_MAX: i64 = 100_000;

const UNFINISHED: &str = "SELECT count(*) FROM (SELECT FROM tasks LIMIT $1) AS counted";
/// By the pages that there are and the rows that stood on a page when the server looked last.
const ESTIMATE: &str = "SELECT CASE WHEN reltuples <= 0 OR relpages = 0 THEN 0
      ELSE reltuples / relpages * (pg_relation_size(oid) / current_setting('block_size')::bigint) END::bigint
    FROM pg_class WHERE oid = $1::text::regclass";
const UNROUTABLE: &str = "SELECT count(*) FROM (SELECT FROM unnest($1::bigint[]) AS idle(lane)
    CROSS JOIN LATERAL (SELECT FROM tasks WHERE state = 3 AND lane = idle.lane
      UNION ALL SELECT FROM tasks WHERE state = 2 AND lane = idle.lane) AS waiting LIMIT $2) AS counted";

const COUNT_PAGE: &str = "SELECT lane, state, count(*) FROM tasks
    WHERE sequence > $1 AND sequence <= $2 AND ($3::bigint[] IS NULL OR lane = ANY($3)) GROUP BY lane, state";

macro_rules! count_of {
    ($from:literal) => {
        concat!("SELECT count(*) FROM (SELECT FROM ", $from, " LIMIT $1) AS counted")
    };
}

impl Turn<'_> {
    /// How many tasks are unfinished: exactly as far as is done here, as of some seconds ago as far as others are concerned.
    pub(super) async fn unfinished(&mut self) -> Result<usize, Fault> {
        if self.memory.unfinished.is_old() {
            let tasks = self.count_to_bound(UNFINISHED, "tasks").await?;
            // What this turn did so far is in the count and is added once more when it is committed.
            self.memory.unfinished.counted(tasks - self.effects.unfinished);
        }
        Ok(self.memory.unfinished.tasks().saturating_add_signed(self.effects.unfinished as isize))
    }

    async fn count_to_bound(&mut self, count: &str, relation: &str) -> Result<i64, Fault> {
        let bound = COUNTED_MAX + 1;
        let row = self.session.row(count, &[&bound]).await?;
        let counted = row.map_or(0, |row| row.get::<_, i64>(0));
        if counted < bound {
            return Ok(counted);
        }
        let row = self.session.row(ESTIMATE, &[&relation]).await?;
        Ok(row.map_or(0, |row| row.get::<_, i64>(0)).max(bound))
    }

    pub(super) async fn counts(&mut self) -> Result<Counts, Fault> {
        let mut counted = [0; 6];
        for (place, (count, relation)) in [
            (count_of!("tasks WHERE state = 0"), "tasks_parked"),
            (count_of!("tasks WHERE state = 1"), "tasks_behind"),
            (count_of!("tasks WHERE state = 2"), "tasks_unjudged"),
            (count_of!("tasks WHERE state = 3"), "tasks_ready"),
            (count_of!("tasks WHERE state = 4"), "tasks_claimed"),
            (count_of!("trash"), "trash"),
        ]
        .into_iter()
        .enumerate()
        {
            counted[place] = self.count_to_bound(count, relation).await? as usize;
        }
        let [parked, behind, unjudged, ready, claimed, trashed] = counted;
        let unroutable = self.unroutable().await?;
        Ok(Counts { parked, behind, unjudged, ready, claimed, unroutable, trashed })
    }

    /// What a filter picks, page by page; rows that it names at once.
    pub(super) async fn counts_of(&mut self, filter: &Filter, after: Sequence) -> Result<Answer, Fault> {
        let mut counts = Counts::default();
        if filter.is_empty() {
            return Ok(Answer::Counted { counts, more: None });
        }
        if !filter.ids.is_empty() {
            for row in self.list_named(filter, after).await? {
                counts.count(row.state, 1, !self.memory.lanes.pools(row.lane).is_empty());
            }
            return Ok(Answer::Counted { counts, more: None });
        }
        let lanes = self.lanes_of(filter).await?;
        let page = self.page(after, lanes.as_deref()).await?;
        let rows = self.session.rows(COUNT_PAGE, &[&(after as i64), &page.last, &lanes]).await?;
        let lane = |row: &tokio_postgres::Row| LaneNo(row.get(0));
        names::load(self.session, self.memory, rows.iter().map(lane)).await?;
        for row in &rows {
            let routable = !self.memory.lanes.pools(lane(row)).is_empty();
            counts.count(record::state(row.get(1)), row.get::<_, i64>(2) as usize, routable);
        }
        Ok(Answer::Counted { counts, more: page.more() })
    }

    /// Ready and unjudged rows that no pool here takes.
    async fn unroutable(&mut self) -> Result<usize, Fault> {
        let heads = self.heads().await?;
        let idle = |lane: &crate::store::lanes::LaneNo| self.memory.lanes.pools(*lane).is_empty();
        let lanes: std::collections::BTreeSet<_> = heads.lanes().filter(idle).map(|lane| lane.0).collect();
        if lanes.is_empty() {
            return Ok(0);
        }
        let lanes: Vec<_> = lanes.into_iter().collect();
        let row = self.session.row(UNROUTABLE, &[&lanes, &(COUNTED_MAX + 1)]).await?;
        Ok(row.map_or(0, |row| row.get::<_, i64>(0) as usize))
    }
}
