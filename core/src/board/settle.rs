//! Settlements, cancels and reschedules: how claimed and waiting rows change.

use std::sync::Arc;

use super::Board;
use super::row::{self, Row};
use crate::dispatch::Outcome;
use crate::id::TaskId;
use crate::store::{Answer, Filter, RescheduleAnswer, Room, RowState, Settle, Settled, Settlement};
use crate::task::DueAt;
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
            Settle::GiveBack { due, setback, renew } => {
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
        row.due = row::wall(due, now);
        if renew {
            renew_order(row, now, micros(self.settings.aging));
        }
        self.release_key(id);
        self.file(now, id);
    }

    pub(super) fn cancel(&mut self, no: u64, filter: &Filter) -> Answer {
        let ids: Vec<TaskId> = if filter.ids.is_empty() {
            let mut picked: Vec<_> = self.rows.values().filter(|row| filter.picks(&row.task)).collect();
            picked.sort_unstable_by_key(|row| row.order.sequence);
            picked.into_iter().map(|row| row.task.id).collect()
        } else {
            filter.ids.clone()
        };
        let before = self.tell(no, Vec::new());
        let ended_otherwise =
            |id: &TaskId| self.ended.get(*id).is_some() && !before.iter().any(|task| task.id == *id);
        let ended = filter.ids.iter().copied().filter(ended_otherwise).collect();
        let mut tasks = Vec::new();
        for id in &ids {
            let free =
                self.rows.get(*id).filter(|row| row.state != RowState::Claimed && filter.picks(&row.task));
            if let Some(task) = free.map(|row| Arc::clone(&row.task)) {
                tasks.push(task);
                self.lift(*id);
                self.end(*id, Outcome::Cancelled);
            }
        }
        Answer::Cancelled { tasks: self.tell(no, tasks), ended }
    }

    pub(super) fn reschedule(&mut self, now: Now, id: TaskId, due: DueAt) -> RescheduleAnswer {
        match self.rows.get(id).map(|row| row.state) {
            None if self.ended.get(id).is_some() => RescheduleAnswer::Ended,
            None => RescheduleAnswer::Absent,
            Some(RowState::Claimed) => RescheduleAnswer::Claimed,
            Some(_) => {
                self.lift(id);
                if let Some(row) = self.rows.get_mut(id) {
                    row.due = row::wall(due, now);
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
    row.order = row::order(&row.task, row.due, now.wall, row.order.sequence, aging);
}
