//! A task that a handler submits: the builder, and the wire form of a task made from a handler's payload and defaults.

use std::future::IntoFuture;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use taskyard_core::TaskId;
use taskyard_core::task::{KeyLimits, Overflow, Retry};

use crate::context::{CallError, Context};
use crate::handler::TaskHandler;
use crate::payload::{self, Arguments};

/// A task as it is on the wire, with the defaults of its kind.
pub fn wire_task<T: TaskHandler>(payload: &T) -> Result<Map<String, Value>, serde_json::Error> {
    let mut task = Map::new();
    task.insert("task".into(), T::NAME.into());
    match payload::encode(payload)? {
        Arguments::Kwargs(kwargs) => task.insert("kwargs".into(), kwargs.into()),
        Arguments::Args(only) => task.insert("args".into(), vec![only].into()),
    };
    let defaults = T::defaults();
    let mut set = |field: &str, value: Option<Value>| value.map(|value| task.insert(field.into(), value));
    set("namespace", defaults.namespace.map(|namespace| namespace.as_str().into()));
    set("timeout", defaults.timeout.map(|timeout| timeout.as_secs_f64().into()));
    set("retry", defaults.retry.map(|retry| wire_retry(&retry)));
    set("on_duplicate", defaults.on_duplicate.map(wire_limits));
    set("priority", defaults.priority.map(|priority| priority.get().into()));
    Ok(task)
}

fn wire_retry(retry: &Retry) -> Value {
    json!({
        "max_attempts": retry.max_attempts,
        "backoff": {
            "initial": retry.initial.as_secs_f64(),
            "factor": retry.factor,
            "max": retry.max.as_secs_f64(),
            "jitter": retry.jitter,
        },
    })
}

fn wire_limits(limits: KeyLimits) -> Value {
    match limits {
        KeyLimits::PARALLEL => "parallel".into(),
        KeyLimits::SERIAL => "serial".into(),
        KeyLimits::DISCARD => "discard".into(),
        KeyLimits::QUEUE_ONE => "queue_one".into(),
        KeyLimits::REPLACE => "replace".into(),
        KeyLimits { running, waiting, overflow } => {
            let overflow = match overflow {
                Overflow::DropNew => "drop_new",
                Overflow::DropWaiting => "drop_waiting",
            };
            let mut limits = json!({ "limit": running, "overflow": overflow });
            if waiting != KeyLimits::UNLIMITED {
                limits["waiting"] = waiting.into();
            }
            limits
        }
    }
}

/// A task that a handler is about to submit; await it to do so. The answer is the task's id.
#[derive(Debug)]
#[must_use = "nothing is submitted before it is awaited"]
pub struct Submit {
    cx: Context,
    task: Result<Map<String, Value>, serde_json::Error>,
}

impl Submit {
    pub(crate) fn new<T: TaskHandler>(cx: Context, payload: &T) -> Self {
        let traceparent = cx.traceparent().map(str::to_owned);
        let submit = Self { cx, task: wire_task(payload) };
        traceparent.into_iter().fold(submit, |submit, traceparent| submit.set("traceparent", traceparent))
    }

    /// Starts it no earlier than `delay` from now.
    pub fn delay(self, delay: Duration) -> Self {
        self.set("delay", delay.as_secs_f64())
    }

    /// Submits it once, however often this handler is retried: its id is derived from the running task's and `label`.
    pub fn once(self, label: &str) -> Self {
        let id = self.cx.id().derived(label.as_bytes());
        self.set("uuid", id.to_string())
    }

    /// Sets any other field of the task, as it is on the wire.
    pub fn set(mut self, field: &str, value: impl Into<Value>) -> Self {
        if let Ok(task) = &mut self.task {
            task.insert(field.into(), value.into());
        }
        self
    }
}

impl IntoFuture for Submit {
    type Output = Result<TaskId, CallError>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let answer = self.cx.call("submit", self.task?.into()).await?;
            answer.as_str().and_then(|id| id.parse().ok()).ok_or(CallError::Answer(answer))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::{HandlerError, TaskDefaults};
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Resize {
        image: String,
    }

    impl TaskHandler for Resize {
        const NAME: &'static str = "image.resize";
        type Output = ();
        fn defaults() -> TaskDefaults {
            TaskDefaults {
                namespace: "image".parse().ok(),
                timeout: Some(Duration::from_millis(1500)),
                retry: Some(Retry { max_attempts: 7, ..Retry::default() }),
                on_duplicate: Some(KeyLimits { running: 2, waiting: 5, overflow: Overflow::DropWaiting }),
                ..TaskDefaults::default()
            }
        }
        async fn run(self, _: Context) -> Result<(), HandlerError> {
            Ok(())
        }
    }

    #[test]
    fn a_task_carries_the_defaults_of_its_kind() {
        let wire = wire_task(&Resize { image: "a.png".into() }).unwrap();
        let expected = json!({
            "task": "image.resize",
            "kwargs": {"image": "a.png"},
            "namespace": "image",
            "timeout": 1.5,
            "retry": {"max_attempts": 7, "backoff": {"initial": 1.0, "factor": 2.0, "max": 600.0, "jitter": 0.2}},
            "on_duplicate": {"limit": 2, "waiting": 5, "overflow": "drop_waiting"},
        });
        assert_eq!(Value::from(wire), expected);
    }
}
