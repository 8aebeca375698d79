//! Looking at the board; nothing changes here.

use std::sync::Arc;

use super::Board;
use super::ended::EndedTask;
use super::row::Row;
use crate::dispatch::Outcome;
use crate::id::{Sequence, TaskId};
use crate::lanes::{LaneId, Laned};
use crate::store::{Answer, Counts, Filter, RowState, TaskView};

/// At how many rows is looked for one answer.
pub(super) const LOOK: usize = 10_000;

impl Board {
    /// What is remembered of a task that ended.
    pub(super) fn find_ended(&self, id: TaskId) -> Option<&EndedTask> {
        self.ended.get(id).or_else(|| self.trash.get(id))
    }

    /// A task, with its attempts.
    pub(super) fn view(&self, id: TaskId) -> Option<TaskView> {
        let (view, extras) = match self.rows.get(id) {
            Some(row) => (self.view_row(row), &row.extras),
            None => self.find_ended(id).map(|ended| (Self::view_ended(ended), &ended.extras))?,
        };
        let log = extras.as_ref().map(|extras| extras.log.clone());
        Some(TaskView { log: log.unwrap_or_default(), ..view })
    }

    fn view_row(&self, row: &Row) -> TaskView {
        let extras = row.extras.as_deref();
        TaskView {
            id: row.task.id,
            lane: Arc::clone(&row.task.lane),
            task: Some(Arc::clone(&row.task)),
            state: row.state,
            order: Some(row.order),
            due: Some(row.due),
            owner: (row.state == RowState::Claimed).then_some(row.owner),
            epoch: row.epoch,
            attempts: row.attempts,
            crash_marks: extras.map_or(0, |extras| extras.crash_marks),
            last_error: extras.and_then(|extras| extras.last_error()).cloned(),
            outcome: None,
            ended: None,
            log: Vec::new(),
            unroutable: self.lanes.pools(row.lane).is_empty(),
        }
    }

    pub(super) fn view_ended(ended: &EndedTask) -> TaskView {
        let extras = ended.extras.as_deref();
        TaskView {
            id: ended.id,
            lane: Arc::clone(&ended.lane),
            task: ended.task.clone(),
            state: RowState::Ended,
            order: None,
            due: None,
            owner: None,
            epoch: ended.epoch,
            attempts: ended.attempts,
            crash_marks: extras.map_or(0, |extras| extras.crash_marks),
            last_error: extras.and_then(|extras| extras.last_error()).cloned(),
            outcome: Some(ended.outcome.clone()),
            ended: Some(ended.ended),
            log: Vec::new(),
            unroutable: false,
        }
    }

    pub(super) fn list(&self, filter: &Filter, after: Sequence, limit: usize) -> Answer {
        if !filter.ids.is_empty() {
            return self.view_page(self.named(filter, after).into_iter(), limit, None);
        }
        let (rows, more) = self.rows.page(after, LOOK);
        self.view_page(rows.into_iter().filter(|row| filter.picks(&row.task)), limit, more)
    }

    /// The first so many of some rows. `more`: where to go on after the last of the rows.
    fn view_page<'a>(
        &self,
        mut rows: impl Iterator<Item = &'a Row>,
        limit: usize,
        more: Option<Sequence>,
    ) -> Answer {
        let tasks: Vec<_> = rows.by_ref().take(limit).map(|row| self.view_row(row)).collect();
        let last = || tasks.last().and_then(|task| task.order).map(|order| order.sequence);
        let more = if rows.next().is_some() { last() } else { more };
        Answer::Tasks { tasks, more }
    }

    /// The unfinished ones of those that a filter names and picks, after a sequence, in order of arrival.
    pub(super) fn named(&self, filter: &Filter, after: Sequence) -> Vec<&Row> {
        let rows = filter.ids.iter().filter_map(|id| self.rows.get(*id));
        let mut rows: Vec<_> =
            rows.filter(|row| row.order.sequence > after && filter.fits(&row.task)).collect();
        rows.sort_unstable_by_key(|row| row.order.sequence);
        rows.dedup_by_key(|row| row.order.sequence);
        rows
    }

    /// How these ended. Those that have not are left out.
    pub(super) fn outcomes(&self, ids: &[TaskId]) -> Vec<(TaskId, Option<Outcome>)> {
        let ended = ids.iter().filter(|id| self.rows.get(**id).is_none());
        ended.map(|id| (*id, self.find_ended(*id).map(|ended| ended.outcome.clone()))).collect()
    }

    pub(super) fn counts(&self) -> Counts {
        let (parked, ready, unjudged) = (self.parked.len(), self.ready.len(), self.unjudged.len());
        let behind = self.keys.behind();
        Counts {
            parked,
            behind,
            unjudged,
            ready,
            claimed: self.rows.len() - parked - behind - unjudged - ready,
            unroutable: self.unroutable(&self.ready) + self.unroutable(&self.unjudged),
            trashed: self.trash.len(),
        }
    }

    pub(super) fn counts_of(&self, filter: &Filter, after: Sequence) -> Answer {
        let (rows, more) = if filter.ids.is_empty() {
            self.rows.page(after, LOOK)
        } else {
            (self.named(filter, after), None)
        };
        let mut counts = Counts::default();
        for row in rows.into_iter().filter(|row| filter.picks(&row.task)) {
            counts.count(row.state, 1, !self.lanes.pools(row.lane).is_empty());
        }
        Answer::Counted { counts, more }
    }

    fn unroutable<K: Ord + Copy>(&self, rows: &Laned<K, TaskId>) -> usize {
        let nobody = |lane: &LaneId| self.lanes.pools(*lane).is_empty();
        rows.lanes().filter(nobody).map(|lane| rows.len_of(lane)).sum()
    }
}
