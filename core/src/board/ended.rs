//! The last tasks that ended: what makes a second post of an id harmless and answers who asks late.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::dispatch::{Order, Outcome};
use crate::id::{Epoch, TaskId};
use crate::map::Map;
use crate::task::Task;

/// A task that ended.
#[derive(Debug)]
pub(super) struct EndedTask {
    pub(super) task: Arc<Task>,
    pub(super) order: Order,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) outcome: Outcome,
}

/// The last so many.
#[derive(Debug)]
pub(super) struct EndedTasks {
    remembered: usize,
    tasks: Map<TaskId, EndedTask>,
    order: VecDeque<TaskId>,
}

impl EndedTasks {
    pub(super) fn new(remembered: usize) -> Self {
        Self { remembered, tasks: Map::default(), order: VecDeque::new() }
    }

    pub(super) fn add(&mut self, ended: EndedTask) {
        if self.remembered == 0 {
            return;
        }
        if self.order.len() == self.remembered
            && let Some(oldest) = self.order.pop_front()
        {
            self.tasks.remove(&oldest);
        }
        self.order.push_back(ended.task.id);
        self.tasks.insert(ended.task.id, ended);
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&EndedTask> {
        self.tasks.get(&id)
    }

    pub(super) fn trashed(&self) -> usize {
        self.tasks.values().filter(|ended| matches!(ended.outcome, Outcome::Trashed(_))).count()
    }
}
