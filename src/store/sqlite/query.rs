//! Looking at the board; nothing changes here.

use rusqlite::params;
use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::Sequence;
use taskyard_core::store::{Answer, Counts, Filter, RowState, TaskView};

use super::Sql;
use super::end::Ended;
use super::row::{Row, select_rows};
use super::turn::Turn;
use crate::store::lanes::LaneNo;

/// How many rows are looked at for one answer.
pub(super) const LOOK: usize = 10_000;
/// How many of them may be in it.
pub(super) const PAGE: usize = 1_000;

impl Turn<'_> {
    pub(super) fn view(&mut self, id: TaskId) -> Sql<Option<TaskView>> {
        let view = match (self.row_of(id)?, self.ended(id)?) {
            (Some(row), _) => Some(self.view_row(&row)?),
            (None, Some(ended)) => Some(self.view_ended(&ended)?),
            (None, None) => None,
        };
        let Some(view) = view else { return Ok(None) };
        Ok(Some(TaskView { log: self.log(id)?, ..view }))
    }

    fn view_row(&mut self, row: &Row) -> Sql<TaskView> {
        let last_error = if row.epoch > 0 { self.last_error(row.id)? } else { None };
        Ok(TaskView {
            id: row.id,
            lane: self.mirror.lane(self.others, row.lane)?,
            // Whoever takes the row finds out why it can't be understood.
            task: self.task_of(row)?.ok(),
            state: row.state,
            order: Some(row.order(self.aging())),
            due: Some(row.due),
            owner: (row.state == RowState::Claimed).then_some(row.owner),
            epoch: row.epoch,
            attempts: row.attempts,
            crash_marks: row.crash_marks,
            last_error,
            outcome: None,
            ended: None,
            log: Vec::new(),
            unroutable: self.mirror.pools(row.lane).is_empty(),
        })
    }

    pub(super) fn view_ended(&mut self, ended: &Ended) -> Sql<TaskView> {
        let trashed = matches!(ended.outcome, Outcome::Trashed(_));
        let task = if trashed { self.trashed(ended)? } else { None };
        Ok(TaskView {
            id: ended.id,
            lane: self.mirror.lane(self.others, ended.lane)?,
            task,
            state: RowState::Ended,
            order: None,
            due: None,
            owner: None,
            epoch: ended.epoch,
            attempts: ended.attempts,
            crash_marks: 0,
            last_error: self.last_error(ended.id)?,
            outcome: Some(ended.outcome.clone()),
            ended: Some(ended.at),
            log: Vec::new(),
            unroutable: false,
        })
    }

    pub(super) fn list(&mut self, filter: &Filter, after: Sequence, limit: usize) -> Sql<Answer> {
        let (rows, more) = self.pick(filter, after, limit.min(PAGE))?;
        let tasks = rows.iter().map(|row| self.view_row(row)).collect::<Sql<_>>()?;
        Ok(Answer::Tasks { tasks, more })
    }

    /// The unfinished rows that a filter picks, in order of arrival and at most so many, and where to go on if there may be
    /// more.
    pub(super) fn pick(
        &self,
        filter: &Filter,
        after: Sequence,
        limit: usize,
    ) -> Sql<(Vec<Row>, Option<Sequence>)> {
        if filter.is_empty() {
            Ok((Vec::new(), None))
        } else if filter.ids.is_empty() {
            self.scan(filter, after, limit)
        } else {
            Ok(page(self.named(filter, after)?, limit))
        }
    }

    fn named(&self, filter: &Filter, after: Sequence) -> Sql<Vec<Row>> {
        let mut rows = Vec::new();
        for id in &filter.ids {
            let row = self.row_of(*id)?;
            rows.extend(row.filter(|row| row.sequence > after && self.fits(filter, row.lane)));
        }
        rows.sort_unstable_by_key(|row| row.sequence);
        rows.dedup_by_key(|row| row.sequence);
        Ok(rows)
    }

    /// Whether a lane in use fits a filter, apart from its ids.
    fn fits(&self, filter: &Filter, lane: LaneNo) -> bool {
        self.mirror.lanes.lane(lane).is_some_and(|lane| filter.fits_lane(lane))
    }

    /// Goes over a bounded number of rows.
    fn scan(&self, filter: &Filter, after: Sequence, limit: usize) -> Sql<(Vec<Row>, Option<Sequence>)> {
        let mut in_use = self.mirror.tallies.iter().filter(|(lane, _)| !self.mirror.tallies.is_unused(*lane));
        if !in_use.any(|(lane, _)| self.fits(filter, lane)) {
            return Ok((Vec::new(), None));
        }
        let mut query = self.db()?.prepare_cached(ARRIVALS)?;
        let mut arrivals = query.query(params![after as i64, LOOK as i64 + 1])?;
        let (mut rows, mut last) = (Vec::new(), after);
        for looked in 0.. {
            let Some(row) = arrivals.next()? else { return Ok((rows, None)) };
            if looked == LOOK || rows.len() == limit {
                break;
            }
            last = row.get::<_, i64>(0)? as u64;
            if self.fits(filter, LaneNo(row.get(2)?)) {
                rows.push(Row::read(row)?);
            }
        }
        Ok((rows, Some(last)))
    }

    pub(super) fn counts(&self) -> Counts {
        let tallies = &self.mirror.tallies;
        let nobody = |lane| self.mirror.pools(lane).is_empty();
        let lost = tallies.iter().filter(|(lane, _)| nobody(*lane));
        let waiting = |(_, tally): (_, &super::tallies::Tally)| {
            tally.of(RowState::Ready) + tally.of(RowState::Unjudged)
        };
        Counts {
            parked: tallies.total(RowState::Parked),
            behind: tallies.total(RowState::Behind),
            unjudged: tallies.total(RowState::Unjudged),
            ready: tallies.total(RowState::Ready),
            claimed: tallies.total(RowState::Claimed),
            unroutable: lost.map(waiting).sum::<i64>() as usize,
            trashed: self.mirror.numbers.trashed as usize,
        }
    }

    /// The numbers of whole lanes are kept, so one answer says all; only what is named by ids is looked at.
    pub(super) fn counts_of(&self, filter: &Filter, after: Sequence) -> Sql<Answer> {
        let mut counts = Counts::default();
        let mut add = |lane, state, rows| counts.count(state, rows, !self.mirror.pools(lane).is_empty());
        if !filter.ids.is_empty() {
            self.named(filter, after)?.iter().for_each(|row| add(row.lane, row.state, 1));
        } else if !filter.is_empty() {
            for (lane, tally) in self.mirror.tallies.iter().filter(|(lane, _)| self.fits(filter, *lane)) {
                tally.by_state().for_each(|(state, rows)| add(lane, state, rows as usize));
            }
        }
        Ok(Answer::Counted { counts, more: None })
    }

    /// How these ended, of those that did; `None` of what nobody knows.
    pub(super) fn outcomes(&self, ids: &[TaskId]) -> Sql<Vec<(TaskId, Option<Outcome>)>> {
        let mut outcomes = Vec::new();
        for id in ids {
            match self.ended(*id)? {
                Some(ended) => outcomes.push((*id, Some(ended.outcome))),
                None if self.row_of(*id)?.is_none() => outcomes.push((*id, None)),
                None => {}
            }
        }
        Ok(outcomes)
    }
}

/// At most so many of these rows, and where to go on if there are more.
fn page(mut rows: Vec<Row>, limit: usize) -> (Vec<Row>, Option<Sequence>) {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().map(|row| row.sequence);
    (rows, last.filter(|_| more))
}

const ARRIVALS: &str = select_rows!("WHERE sequence > ?1 ORDER BY sequence LIMIT ?2");
