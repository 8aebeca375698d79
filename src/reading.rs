//! Reads tasks from outside: each with the defaults of its handler, and with a fresh id if it brings none. Submits nothing.

use taskyard_core::TaskId;
use taskyard_core::names::TaskName;
use taskyard_core::task::Task;
use taskyard_core::wire::{Rejected, parse_task};

use crate::ids::fresh_id;
use crate::registry::Registry;

/// A task from its JSON. What it does not say itself is as the handlers of `registry` say.
pub(crate) fn read_task(registry: &Registry, text: &str) -> Result<Task, Rejected> {
    read_task_as(registry, fresh_id(), text)
}

/// The same; it is called `id` if it brings no id.
pub(crate) fn read_task_as(registry: &Registry, id: TaskId, text: &str) -> Result<Task, Rejected> {
    let defaults = |name: &TaskName| registry.defaults(name.as_str()).cloned().unwrap_or_default();
    parse_task(text, id, &defaults)
}
