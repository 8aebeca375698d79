//! What failed for good, in the order in which it got here: kept with its task, so that it can be looked at and posted again.
//! It is bounded by its number only; no age takes anything out.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::Board;
use super::ended::EndedTask;
use super::query::LOOK;
use super::row::Row;
use crate::id::TaskId;
use crate::map::Map;
use crate::store::{Answer, Filter};
use crate::time::Now;

/// The tasks in the trash, by their place in it.
#[derive(Debug)]
pub(super) struct Trash {
    kept: usize,
    last: u64,
    tasks: BTreeMap<u64, EndedTask>,
    places: Map<TaskId, u64>,
}

impl Trash {
    pub(super) fn new(kept: usize) -> Self {
        Self { kept, last: 0, tasks: BTreeMap::new(), places: Map::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&EndedTask> {
        self.tasks.get(self.places.get(&id)?)
    }

    pub(super) fn add(&mut self, task: EndedTask) {
        self.last += 1;
        self.places.insert(task.id, self.last);
        self.tasks.insert(self.last, task);
        self.prune(self.kept, 1);
    }

    fn take(&mut self, id: TaskId) -> Option<EndedTask> {
        self.tasks.remove(&self.places.remove(&id)?)
    }

    /// Forgets at most so many of the oldest that are more than `keep`. How many they were.
    pub(super) fn prune(&mut self, keep: usize, up_to: usize) -> usize {
        let surplus = self.tasks.len().saturating_sub(keep).min(up_to);
        for _ in 0..surplus {
            if let Some((_, task)) = self.tasks.pop_first() {
                self.places.remove(&task.id);
            }
        }
        surplus
    }

    /// The first so many that a filter picks; and whether there is one more.
    fn first(&self, filter: &Filter, up_to: usize) -> (Vec<TaskId>, bool) {
        let picks = |task: &&EndedTask| task.task.as_ref().is_some_and(|task| filter.picks(task));
        let mut picked: Vec<_> = if filter.ids.is_empty() {
            self.tasks.values().filter(picks).take(up_to.saturating_add(1)).collect()
        } else {
            filter.ids.iter().filter_map(|id| self.get(*id)).filter(picks).collect()
        };
        picked.sort_unstable_by_key(|task| self.places.get(&task.id));
        picked.dedup_by_key(|task| task.id);
        let more = picked.len() > up_to;
        (picked.into_iter().take(up_to).map(|task| task.id).collect(), more)
    }
}

impl Board {
    pub(super) fn list_trash(&self, filter: &Filter, after: u64, limit: usize) -> Answer {
        let mut tasks = Vec::new();
        let mut more = None;
        let behind = (Bound::Excluded(after), Bound::Unbounded);
        for (looked, (place, task)) in self.trash.tasks.range(behind).enumerate() {
            if looked == LOOK || tasks.len() == limit {
                break;
            }
            more = (*place < self.trash.last).then_some(*place);
            if task.task.as_ref().is_some_and(|task| filter.picks(task)) {
                tasks.push(Self::view_ended(task));
            }
        }
        Answer::Tasks { tasks, more }
    }

    pub(super) fn requeue(&mut self, now: Now, filter: &Filter, up_to: usize) -> Answer {
        let (picked, more) = self.trash.first(filter, up_to);
        let requeue = |id: &TaskId| self.trash.take(*id).is_some_and(|task| self.post_again(now, task));
        let ids = picked.into_iter().filter(requeue).collect();
        Answer::Requeued { ids, more }
    }

    /// Files it as a new task that is due now and does not expire, whatever the bounds of the board: the bound of the
    /// trash is one for what comes back from it as well.
    fn post_again(&mut self, now: Now, ended: EndedTask) -> bool {
        let EndedTask { task: Some(task), owner, epoch, mut extras, .. } = ended else { return false };
        if let Some(extras) = &mut extras {
            extras.start_anew();
        }
        let id = task.id;
        let lane = self.lanes.id(&task.lane);
        self.lanes.enter(lane);
        let row = Row { extras, owner, epoch, ..self.new_row(now, task, now.wall, lane) };
        self.rows.add(row);
        self.file(now, id);
        true
    }

    pub(super) fn purge(&mut self, filter: &Filter, up_to: usize) -> Answer {
        let (picked, more) = self.trash.first(filter, up_to);
        let tasks = picked.iter().filter(|id| self.trash.take(**id).is_some()).count();
        Answer::Purged { tasks, more }
    }
}
