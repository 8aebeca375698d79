//! The last tasks that ended: what makes a second post of an id harmless and answers who asks late. What failed for good is
//! not among them: it is in the [trash](super::trash).

use std::collections::VecDeque;
use std::sync::Arc;

use super::extras::Extras;
use crate::dispatch::Outcome;
use crate::id::{Epoch, TaskId};
use crate::map::Map;
use crate::names::Lane;
use crate::store::OwnerId;
use crate::task::Task;
use crate::time::Timestamp;

/// A task that ended.
#[derive(Debug)]
pub(super) struct EndedTask {
    pub(super) id: TaskId,
    pub(super) lane: Arc<Lane>,
    /// Kept of what is in the trash only, so that the memory of the others is free at once.
    pub(super) task: Option<Arc<Task>>,
    pub(super) owner: OwnerId,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) ended: Timestamp,
    pub(super) outcome: Outcome,
    pub(super) extras: Option<Box<Extras>>,
}

/// The last so many, oldest first.
#[derive(Debug)]
pub(super) struct EndedTasks {
    remembered: usize,
    places: Map<TaskId, u64>,
    tasks: VecDeque<EndedTask>,
    /// The place of the oldest; places are never reused.
    first: u64,
    /// Before this place no value is kept any more.
    values: u64,
}

impl EndedTasks {
    pub(super) fn new(remembered: usize) -> Self {
        Self { remembered, places: Map::default(), tasks: VecDeque::new(), first: 0, values: 0 }
    }

    pub(super) fn add(&mut self, task: EndedTask) {
        if self.remembered == 0 {
            return;
        }
        if self.tasks.len() == self.remembered {
            self.forget_oldest();
        }
        self.places.insert(task.id, self.first + self.tasks.len() as u64);
        self.tasks.push_back(task);
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&EndedTask> {
        self.tasks.get((self.places.get(&id)? - self.first) as usize)
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.tasks.pop_front() {
            self.places.remove(&oldest.id);
            self.first += 1;
        }
    }

    /// Forgets at most so many that ended before a time or are more than `keep`. How many they were.
    pub(super) fn prune(&mut self, before: Timestamp, keep: usize, up_to: usize) -> usize {
        let old = self.tasks.iter().take_while(|task| task.ended < before).count();
        let surplus = self.tasks.len().saturating_sub(keep);
        let gone = old.max(surplus).min(up_to);
        (0..gone).for_each(|_| self.forget_oldest());
        gone
    }

    /// Forgets at most so many values of what ended before a time. Whether there may be more.
    pub(super) fn forget_values(&mut self, before: Timestamp, up_to: usize) -> bool {
        self.values = self.values.max(self.first);
        let from = (self.values - self.first) as usize;
        let old = self.tasks.iter_mut().skip(from).take_while(|task| task.ended < before);
        let mut looked = 0;
        for task in old.take(up_to) {
            looked += 1;
            if let Outcome::Succeeded(_) = task.outcome {
                task.outcome = Outcome::ValueGone;
            }
        }
        self.values += looked;
        looked == up_to as u64
    }
}
