//! Cancels and reschedules: how rows change that nobody has, and what is said of those that somebody has.

use std::sync::Arc;

use super::Board;
use super::query::LOOK;
use super::told::Asked;
use crate::dispatch::Outcome;
use crate::filing;
use crate::id::{Sequence, TaskId};
use crate::map::Set;
use crate::store::{Answer, Filter, OwnerId, RescheduleAnswer, RowState};
use crate::task::{DueAt, Task};
use crate::time::Now;

/// What a cancel did.
#[derive(Default)]
struct Cancelled {
    tasks: Vec<Arc<Task>>,
    elsewhere: Vec<TaskId>,
    more: Option<Sequence>,
}

impl Board {
    pub(super) fn cancel(&mut self, now: Now, asked: Asked, filter: &Filter, after: Sequence) -> Answer {
        let done = match self.told.before(asked) {
            Some(Answer::Cancelled { tasks, elsewhere, more, .. }) => {
                Cancelled { tasks: tasks.clone(), elsewhere: elsewhere.clone(), more: *more }
            }
            _ => self.cancel_picked(now, asked.owner, filter, after),
        };
        let told: Set<TaskId> = done.tasks.iter().map(|task| task.id).collect();
        let ended_otherwise = |id: &TaskId| self.find_ended(*id).is_some() && !told.contains(id);
        let ended = filter.ids.iter().copied().filter(ended_otherwise).collect();
        let Cancelled { tasks, elsewhere, more } = done;
        let answer = Answer::Cancelled { tasks, elsewhere, ended, more };
        self.told.remember(asked, answer.clone());
        answer
    }

    fn cancel_picked(&mut self, now: Now, owner: OwnerId, filter: &Filter, after: Sequence) -> Cancelled {
        let (picked, more) = self.pick(filter, after);
        let mut done = Cancelled { more, ..Cancelled::default() };
        for id in picked {
            let Some(row) = self.rows.get_mut(id) else { continue };
            if row.state != RowState::Claimed {
                done.tasks.push(Arc::clone(&row.task));
                self.lift(id);
                self.end(now, id, Outcome::Cancelled);
            } else if row.owner != owner {
                row.extras_mut().unwanted = true;
                self.owners.mark(row.owner, row.order.sequence, id);
                done.elsewhere.push(id);
            }
        }
        done
    }

    /// What a filter picks, in order of arrival, and where to go on.
    fn pick(&self, filter: &Filter, after: Sequence) -> (Vec<TaskId>, Option<Sequence>) {
        if !filter.ids.is_empty() {
            return (self.named(filter, 0).into_iter().map(|row| row.task.id).collect(), None);
        }
        let (rows, more) = self.rows.page(after, LOOK);
        let picked = rows.into_iter().filter(|row| filter.picks(&row.task));
        (picked.map(|row| row.task.id).collect(), more)
    }

    pub(super) fn reschedule(
        &mut self,
        now: Now,
        owner: OwnerId,
        id: TaskId,
        due: DueAt,
    ) -> RescheduleAnswer {
        match self.rows.get(id) {
            None if self.find_ended(id).is_some() => RescheduleAnswer::Ended,
            None => RescheduleAnswer::Absent,
            Some(row) if row.is_held_by(owner) => RescheduleAnswer::Claimed,
            Some(row) if row.state == RowState::Claimed => RescheduleAnswer::Elsewhere,
            Some(_) => {
                self.lift(id);
                if let Some(row) = self.rows.get_mut(id) {
                    row.due = filing::wall(due, now);
                }
                self.renew_order(now, id);
                self.release_key(id);
                self.file(now, id);
                RescheduleAnswer::Done
            }
        }
    }
}
