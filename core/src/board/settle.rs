//! Settlements, cancels and reschedules: how claimed and waiting rows change.

use std::sync::Arc;

use super::Board;
use super::row::Row;
use crate::dispatch::Outcome;
use crate::filing;
use crate::id::TaskId;
use crate::map::Set;
use crate::store::{Answer, Filter, RescheduleAnswer, Room, RowState, Settle, Settled, Settlement};
use crate::task::{DueAt, Task};
use crate::time::{Now, micros};

impl Board {
    pub(super) fn settle(&mut self, now: Now, item: &Settlement) -> Settled {
        let settled = |accepted| Settled { id: item.id, epoch: item.epoch, accepted };
        let Some(row) = self.rows.get_mut(item.id) else {
            return settled(self.ended.get(item.id).is_some_and(|ended| ended.epoch == item.epoch));
        };
        if row.epoch != item.epoch {
            return settled(false);
        }
        if row.state != RowState::Claimed {
            return settled(true);
        }
        match &item.settle {
            Settle::Done(outcome) | Settle::Trash(outcome) => {
                row.attempts += u32::from(matches!(item.settle, Settle::Trash(_)));
                self.end(item.id, outcome.clone());
            }
            Settle::Retry { due, error } => {
                row.attempts += 1;
                row.setbacks = 0;
                row.last_error = Some(Box::new(error.clone()));
                self.put_back(now, item.id, DueAt::Wall(*due), true);
            }
            Settle::GiveBack { due, setback, renew, .. } => {
                row.setbacks = if *setback { row.setbacks + 1 } else { row.setbacks };
                self.put_back(now, item.id, *due, *renew);
            }
        }
        for new in &item.posts {
            self.post_one(now, new, &mut Room::default());
        }
        settled(true)
    }

    /// Gives a claimed row that did not end its next due time. Whatever takes it in again does not judge it anew, unless
    /// it was not yet due and so has not been judged at all.
    fn put_back(&mut self, now: Now, id: TaskId, due: DueAt, renew: bool) {
        let Some(row) = self.rows.get_mut(id) else { return };
        row.judged |= row.due <= now.wall;
        row.due = filing::wall(due, now);
        if renew {
            renew_order(row, now, micros(self.settings.aging));
            self.release_key(id);
        }
        // Otherwise it keeps its place among its twins too: one that waits behind it must not be let past.
        self.file(now, id);
    }

    pub(super) fn cancel(&mut self, no: u64, filter: &Filter) -> Answer {
        let before = self.told_before(no);
        let told: Set<TaskId> = before.iter().flatten().map(|task| task.id).collect();
        let ended_otherwise = |id: &TaskId| self.ended.get(*id).is_some() && !told.contains(id);
        let ended = filter.ids.iter().copied().filter(ended_otherwise).collect();
        let tasks = before.unwrap_or_else(|| self.cancel_free(filter));
        self.remember_told(no, &tasks);
        Answer::Cancelled { tasks, elsewhere: Vec::new(), ended, more: None }
    }

    fn cancel_free(&mut self, filter: &Filter) -> Vec<Arc<Task>> {
        let free =
            |row: &&Row| row.state != RowState::Claimed && !filter.is_empty() && filter.fits(&row.task);
        let mut tasks = Vec::new();
        if filter.ids.is_empty() {
            let mut rows: Vec<_> = self.rows.values().filter(free).collect();
            rows.sort_unstable_by_key(|row| row.order.sequence);
            tasks.extend(rows.into_iter().map(|row| Arc::clone(&row.task)));
        } else {
            let rows = filter.ids.iter().filter_map(|id| self.rows.get(*id)).filter(free);
            tasks.extend(rows.map(|row| Arc::clone(&row.task)));
        }
        // A filter may name a task twice; it ends once.
        tasks.retain(|task| {
            self.lift(task.id);
            self.end(task.id, Outcome::Cancelled)
        });
        tasks
    }

    pub(super) fn reschedule(&mut self, now: Now, id: TaskId, due: DueAt) -> RescheduleAnswer {
        match self.rows.get(id).map(|row| row.state) {
            None if self.ended.get(id).is_some() => RescheduleAnswer::Ended,
            None => RescheduleAnswer::Absent,
            Some(RowState::Claimed) => RescheduleAnswer::Claimed,
            Some(_) => {
                self.lift(id);
                if let Some(row) = self.rows.get_mut(id) {
                    row.due = filing::wall(due, now);
                    renew_order(row, now, micros(self.settings.aging));
                }
                self.release_key(id);
                self.file(now, id);
                RescheduleAnswer::Done
            }
        }
    }
}

fn renew_order(row: &mut Row, now: Now, aging: i64) {
    row.order = filing::order(row.task.priority, row.due, now.wall, row.order.sequence, aging);
}
