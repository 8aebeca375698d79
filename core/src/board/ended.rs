//! The last tasks that ended: what makes a second post of an id harmless and answers who asks late.

use std::sync::Arc;

use crate::dispatch::Outcome;
use crate::id::{Epoch, TaskId};
use crate::map::Map;
use crate::names::Lane;
use crate::task::Task;

/// A task that ended.
#[derive(Debug)]
pub(super) struct EndedTask {
    pub(super) lane: Arc<Lane>,
    /// Kept of what is in the trash only, so that the memory of the others is free at once.
    pub(super) task: Option<Arc<Task>>,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) outcome: Outcome,
}

/// The last so many, in a ring.
#[derive(Debug)]
pub(super) struct EndedTasks {
    remembered: usize,
    places: Map<TaskId, usize>,
    ring: Vec<(TaskId, EndedTask)>,
    next: usize,
}

impl EndedTasks {
    pub(super) fn new(remembered: usize) -> Self {
        Self { remembered, places: Map::default(), ring: Vec::new(), next: 0 }
    }

    pub(super) fn add(&mut self, id: TaskId, ended: EndedTask) {
        if self.ring.len() < self.remembered {
            self.places.insert(id, self.ring.len());
            self.ring.push((id, ended));
        } else if let Some(slot) = self.ring.get_mut(self.next) {
            self.places.remove(&slot.0);
            self.places.insert(id, self.next);
            *slot = (id, ended);
            self.next = (self.next + 1) % self.remembered;
        }
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&EndedTask> {
        self.ring.get(*self.places.get(&id)?).map(|(_, ended)| ended)
    }

    pub(super) fn trashed(&self) -> usize {
        self.ring.iter().filter(|(_, ended)| ended.task.is_some()).count()
    }
}
