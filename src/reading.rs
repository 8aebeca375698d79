//! Reads tasks from outside: each with the defaults of its handler, and with a fresh id if it brings none. Submits nothing.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::names::TaskName;
use taskyard_core::task::{Task, TaskDefaults};
use taskyard_core::wire::{Rejected, parse_task};

use crate::ids::fresh_id;
use crate::registry::Registry;

/// Reads tasks as they are on the wire. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TaskReader {
    registry: Registry,
}

impl TaskReader {
    /// Tasks without a word of their own on retries, time limits and the like are as the handlers of `registry` say.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }

    /// Reads a task.
    pub fn read(&self, text: &str) -> Result<Arc<Task>, Rejected> {
        self.read_as(fresh_id(), text)
    }

    /// Reads a task that is called `id` if it brings no id.
    pub fn read_as(&self, id: TaskId, text: &str) -> Result<Arc<Task>, Rejected> {
        let task = parse_task(text, id, &|name| self.defaults(name))?;
        Ok(Arc::new(self.registry.share_lane(task)))
    }

    fn defaults(&self, name: &TaskName) -> TaskDefaults {
        self.registry.defaults(name.as_str()).cloned().unwrap_or_default()
    }
}
