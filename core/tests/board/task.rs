//! Tasks as the scripts say them.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::store::{BatchId, NewRow};
use taskyard_core::task::{DueAt, Key, KeyLimits, Priority, Task, TaskDefaults};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::wire::parse_task;

/// When each script starts, on the wall clock.
pub(crate) const START: Timestamp = Timestamp(1_700_000_000_000_000);

/// So many milliseconds after the start of the script.
pub(crate) fn at(ms: u64) -> Timestamp {
    START + Duration::from_millis(ms)
}

/// The id of task `n`.
pub(crate) fn id(n: u64) -> TaskId {
    TaskId(n.into())
}

/// A task to post.
#[derive(Clone)]
pub(crate) struct New {
    task: Task,
    due: DueAt,
    expires: Option<Timestamp>,
    exempt: bool,
    batch: Option<BatchId>,
}

/// Task `n`: due at once, in a lane that pool A takes.
pub(crate) fn task(n: u64) -> New {
    typed(n, r#"{"task":"one","namespace":"a.x"}"#)
}

/// Task `n` as it was typed, due at once. A store may keep the text and nothing else of what stands in it.
pub(crate) fn typed(n: u64, text: &str) -> New {
    let task = parse_task(text, id(n), &|_| TaskDefaults::default()).unwrap();
    New { task, due: DueAt::Now, expires: None, exempt: false, batch: None }
}

impl New {
    pub(crate) fn due_at(self, ms: u64) -> Self {
        Self { due: DueAt::Wall(at(ms)), ..self }
    }

    pub(crate) fn due(self, due: Timestamp) -> Self {
        Self { due: DueAt::Wall(due), ..self }
    }

    /// On the monotonic clock, which starts at 0 with the script.
    pub(crate) fn due_in(self, ms: i64) -> Self {
        Self { due: DueAt::Mono(Instant64(ms * 1_000)), ..self }
    }

    pub(crate) fn expires_at(self, ms: u64) -> Self {
        Self { expires: Some(at(ms)), ..self }
    }

    pub(crate) fn expires(self, at: Timestamp) -> Self {
        Self { expires: Some(at), ..self }
    }

    pub(crate) fn priority(mut self, priority: u8) -> Self {
        self.task.priority = Priority::new(priority).unwrap();
        self
    }

    pub(crate) fn key(mut self, key: u128, limits: KeyLimits) -> Self {
        (self.task.key, self.task.limits) = (Some(Key(key)), limits);
        self
    }

    pub(crate) fn serial(self) -> Self {
        self.key(7, KeyLimits::SERIAL)
    }

    pub(crate) fn lane(mut self, namespace: &str, name: &str) -> Self {
        let text = format!(r#"{{"task":"{name}","namespace":"{namespace}"}}"#);
        let New { task, .. } = typed(0, &text);
        (self.task.lane, self.task.body) = (task.lane, task.body);
        self
    }

    pub(crate) fn exempt(self) -> Self {
        Self { exempt: true, ..self }
    }

    pub(crate) fn batch(self, batch: BatchId) -> Self {
        Self { batch: Some(batch), ..self }
    }

    pub(crate) fn row(self) -> NewRow {
        let Self { task, due, expires, exempt, batch } = self;
        NewRow { task: Arc::new(task), due, expires, exempt, batch }
    }
}
