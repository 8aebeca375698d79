//! Looking at the board; nothing changes here.

use std::sync::Arc;

use super::Board;
use super::row::Row;
use crate::id::TaskId;
use crate::lanes::{LaneId, Laned};
use crate::store::{Answer, Counts, Filter, RowState, TaskView};

impl Board {
    pub(super) fn view(&self, id: TaskId) -> Option<TaskView> {
        self.rows.get(id).map(|row| self.view_row(row)).or_else(|| {
            let ended = self.ended.get(id)?;
            Some(TaskView {
                id,
                lane: Arc::clone(&ended.lane),
                task: ended.task.clone(),
                state: RowState::Ended,
                order: None,
                due: None,
                epoch: ended.epoch,
                owner: None,
                attempts: ended.attempts,
                crash_marks: 0,
                last_error: None,
                outcome: Some(ended.outcome.clone()),
                ended: None,
                log: Vec::new(),
                unroutable: false,
            })
        })
    }

    fn view_row(&self, row: &Row) -> TaskView {
        TaskView {
            id: row.task.id,
            lane: Arc::clone(&row.task.lane),
            task: Some(Arc::clone(&row.task)),
            state: row.state,
            order: Some(row.order),
            due: Some(row.due),
            epoch: row.epoch,
            owner: None,
            attempts: row.attempts,
            crash_marks: 0,
            last_error: row.last_error.as_deref().cloned(),
            outcome: None,
            ended: None,
            log: Vec::new(),
            unroutable: self.lanes.pools(row.lane).is_empty(),
        }
    }

    pub(super) fn list(&self, filter: &Filter, after: u64, limit: usize) -> Answer {
        let picked = |row: &&Row| row.order.sequence > after && filter.picks(&row.task);
        let mut rows: Vec<_> = self.rows.values().filter(picked).collect();
        rows.sort_unstable_by_key(|row| row.order.sequence);
        let more =
            rows.get(limit.wrapping_sub(1)).filter(|_| rows.len() > limit).map(|row| row.order.sequence);
        Answer::Tasks { tasks: rows.into_iter().take(limit).map(|row| self.view_row(row)).collect(), more }
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
            trashed: self.ended.trashed(),
        }
    }

    fn unroutable<K: Ord + Copy>(&self, rows: &Laned<K, TaskId>) -> usize {
        let nobody = |lane: &LaneId| self.lanes.pools(*lane).is_empty();
        rows.lanes().filter(nobody).map(|lane| rows.len_of(lane)).sum()
    }
}
