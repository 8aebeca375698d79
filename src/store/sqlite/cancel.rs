//! Cancels and reschedules: how rows change that nobody has, and what is said of those that somebody has.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::filing;
use taskyard_core::id::Sequence;
use taskyard_core::store::{Answer, Filter, RescheduleAnswer, RowState};
use taskyard_core::task::{DueAt, Task};

use super::Sql;
use super::query::PAGE;
use super::row::Row;
use super::turn::Turn;

impl Turn<'_> {
    pub(super) fn cancel(&mut self, filter: &Filter, after: Sequence) -> Sql<Answer> {
        let ended = self.ended_of(&filter.ids)?;
        let (rows, more) = self.pick(filter, after, PAGE)?;
        let (mut tasks, mut elsewhere) = (Vec::new(), Vec::new());
        for row in rows {
            // A twin that ended a moment ago may have changed it, and a filter may name a task twice.
            let Some(row) = self.row_at(row.sequence)? else { continue };
            if row.state != RowState::Claimed {
                tasks.extend(self.cancel_one(&row)?);
            } else if row.owner != self.owner {
                self.update(&row, &Row { unwanted: true, ..row.clone() })?;
                elsewhere.push(row.id);
            }
        }
        Ok(Answer::Cancelled { tasks, elsewhere, ended, more })
    }

    /// Ends an unclaimed row. What can't be understood goes to the trash, whoever wanted it cancelled.
    fn cancel_one(&mut self, row: &Row) -> Sql<Option<Arc<Task>>> {
        match self.task_of(row)? {
            Ok(task) => self.end(row, &Outcome::Cancelled).map(|()| Some(task)),
            Err(why) => self.trash_unreadable(row, why).map(|()| None),
        }
    }

    fn ended_of(&self, ids: &[TaskId]) -> Sql<Vec<TaskId>> {
        let mut ended = Vec::new();
        for id in ids {
            if self.ended(*id)?.is_some() {
                ended.push(*id);
            }
        }
        Ok(ended)
    }

    pub(super) fn reschedule(&mut self, id: TaskId, due: DueAt) -> Sql<RescheduleAnswer> {
        let Some(before) = self.row_of(id)? else {
            let ended = self.ended(id)?.is_some();
            return Ok(if ended { RescheduleAnswer::Ended } else { RescheduleAnswer::Absent });
        };
        if before.state == RowState::Claimed {
            let ours = before.owner == self.owner;
            return Ok(if ours { RescheduleAnswer::Claimed } else { RescheduleAnswer::Elsewhere });
        }
        let mut row = Row { due: filing::wall(due, self.now), ..before.clone() };
        self.renew_order(&mut row);
        self.release_key(&mut row)?;
        self.file(&before, row)?;
        Ok(RescheduleAnswer::Done)
    }
}
