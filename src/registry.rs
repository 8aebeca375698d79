//! Which handlers this binary has, by name, and how one of them runs a task: decodes, runs, catches a panic, encodes. It
//! never decides when or where.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use serde::Serialize;
use serde_json::Value;
use taskyard_core::names::{BadName, Lane, Namespace, TaskName};
use taskyard_core::task::{KeyLimits, Task};
use taskyard_core::worker::WorkerEnd;

use crate::context::Context;
use crate::handler::{HandlerError, TaskDefaults, TaskHandler, failure};
use crate::payload;
use crate::protocol::{ENVELOPE, FRAME_MAX};

/// The longest result of a handler, in bytes of JSON.
pub const RESULT_MAX: usize = FRAME_MAX - ENVELOPE;

/// A registration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two handlers of one name.
    #[error("there are two handlers for the task {0:?}")]
    Twice(TaskName),
    /// No name for a task.
    #[error("{name:?} is no name for a task: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: BadName,
    },
}

/// The handlers that this binary has. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    handlers: Arc<BTreeMap<Arc<str>, Entry>>,
    options: Options,
}

/// How the workers of this binary take tasks, unless their pool says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many tasks a worker runs at once. More than 1 is for handlers that never block.
    pub concurrency: u32,
    /// How many more it may hold that have not started.
    pub ahead: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { concurrency: 1, ahead: 64 }
    }
}

type Run = dyn Fn(&str, &str, Context) -> LocalBoxFuture<'static, WorkerEnd> + Send + Sync;

#[derive(Clone)]
struct Entry {
    name: TaskName,
    defaults: TaskDefaults,
    /// Where its tasks go that do not say otherwise; `None` if they must, since the name is no namespace.
    lane: Option<Arc<Lane>>,
    run: Arc<Run>,
}

impl Registry {
    /// No handlers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind of task.
    pub fn register<T: TaskHandler>(self) -> Result<Self, RegistryError> {
        let run = |args: &str, kwargs: &str, cx: Context| {
            let payload = payload::decode::<T>(args, kwargs);
            finish(async move { T::run(payload.map_err(bad_arguments)?, cx).await })
        };
        self.insert(T::NAME, T::defaults(), Arc::new(run))
    }

    /// Adds a kind of task whose handler takes `args` and `kwargs` as they are.
    pub fn register_fn<F, R, O>(self, name: &str, handler: F) -> Result<Self, RegistryError>
    where
        F: Fn(Value, Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, HandlerError>> + 'static,
        O: Serialize + 'static,
    {
        let handler = Arc::new(handler);
        let run = move |args: &str, kwargs: &str, cx: Context| {
            let arguments = value(args).and_then(|args| Ok((args, value(kwargs)?)));
            let handler = Arc::clone(&handler);
            finish(async move {
                let (args, kwargs) = arguments.map_err(bad_arguments)?;
                handler(args, kwargs, cx).await
            })
        };
        self.insert(name, TaskDefaults::default(), Arc::new(run))
    }

    /// The same handlers with other options for the workers of this binary.
    pub fn worker_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// How the workers of this binary take tasks.
    pub fn options(&self) -> Options {
        self.options
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &TaskName> {
        self.handlers.values().map(|entry| &entry.name)
    }

    /// What holds for tasks of this name that do not say otherwise.
    pub fn defaults(&self, name: &str) -> Option<&TaskDefaults> {
        self.handlers.get(name).map(|entry| &entry.defaults)
    }

    /// The names of tasks of which only so many run at once for a key, unless they say otherwise.
    pub(crate) fn limited(&self) -> impl Iterator<Item = &TaskName> {
        let limited = |entry: &&Entry| {
            entry.defaults.limits.is_some_and(|limits| limits.running != KeyLimits::UNLIMITED)
        };
        self.handlers.values().filter(limited).map(|entry| &entry.name)
    }

    /// The name and the defaults of tasks of this name, to be shared by all of them.
    pub(crate) fn kind(&self, name: &str) -> Option<(&TaskName, &TaskDefaults)> {
        self.handlers.get(name).map(|entry| (&entry.name, &entry.defaults))
    }

    /// The same task, which shares its lane with the others of its kind unless it goes another way: a million tasks that
    /// wait then have one.
    pub(crate) fn share_lane(&self, mut task: Task) -> Task {
        let lane = self.handlers.get(task.name().as_str()).and_then(|entry| entry.lane.as_ref());
        if let Some(lane) = lane.filter(|lane| **lane == task.lane) {
            task.lane = Arc::clone(lane);
        }
        task
    }

    /// Whether there is no handler.
    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }

    /// Runs a task. See [`run`](Self::run).
    pub fn run_task(&self, task: &Task, cx: Context) -> LocalBoxFuture<'static, WorkerEnd> {
        self.run(task.name().as_str(), task.body.args(), task.body.kwargs(), cx)
    }

    /// Runs a task. `args` and `kwargs` are JSON texts. It always ends: a panic, a result that can't be carried and a name
    /// that is not known are failures.
    pub fn run(
        &self,
        name: &str,
        args: &str,
        kwargs: &str,
        cx: Context,
    ) -> LocalBoxFuture<'static, WorkerEnd> {
        let Some(entry) = self.handlers.get(name) else {
            let message = format!("no handler is called {name:?}");
            return std::future::ready(failure("unknown_task", &message, false)).boxed_local();
        };
        // Decoding calls the payload's own code.
        match std::panic::catch_unwind(AssertUnwindSafe(|| (entry.run)(args, kwargs, cx))) {
            Ok(run) => run,
            Err(panic) => std::future::ready(panicked(&*panic)).boxed_local(),
        }
    }

    fn insert(mut self, name: &str, defaults: TaskDefaults, run: Arc<Run>) -> Result<Self, RegistryError> {
        let name: TaskName =
            name.parse().map_err(|why| RegistryError::Name { name: name.to_owned(), why })?;
        if self.handlers.contains_key(name.as_str()) {
            return Err(RegistryError::Twice(name));
        }
        let namespace = defaults.namespace.clone().or_else(|| Namespace::of_task(&name).ok());
        let lane = namespace.map(|namespace| Arc::new(Lane { namespace, name: name.clone() }));
        let handlers = Arc::make_mut(&mut self.handlers);
        handlers.insert(name.as_str().into(), Entry { name, defaults, lane, run });
        Ok(self)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("names", &self.handlers.keys()).finish_non_exhaustive()
    }
}

fn value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn bad_arguments(why: String) -> HandlerError {
    HandlerError::fatal(without_value(&why)).kind("bad_arguments")
}

/// The error is logged and shown, and arguments may hold secrets: of a text that does not fit, only what was expected
/// instead is said.
fn without_value(why: &str) -> String {
    match (why.find("string \""), why.rfind("\", expected")) {
        (Some(from), Some(to)) if from < to => format!("{}a string{}", &why[..from], &why[to + 1..]),
        _ => why.into(),
    }
}

/// A handler's run as the end of its task.
fn finish<O: Serialize>(
    run: impl Future<Output = Result<O, HandlerError>> + 'static,
) -> LocalBoxFuture<'static, WorkerEnd> {
    async move {
        let run = async {
            match run.await {
                Ok(output) => result(&output),
                Err(error) => error.into(),
            }
        };
        // What it gives back may panic as well, when it is written down or dropped.
        AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|panic| panicked(&*panic))
    }
    .boxed_local()
}

fn result(output: &impl Serialize) -> WorkerEnd {
    match serde_json::to_string(output) {
        Ok(text) if text.len() <= RESULT_MAX => WorkerEnd::Succeeded(text.into()),
        Ok(text) => {
            let message =
                format!("the result is {} bytes long, at most {RESULT_MAX} are allowed", text.len());
            failure("result_too_large", &message, false)
        }
        Err(error) => failure("result_not_json", &error, false),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> WorkerEnd {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    failure("panic", &text.unwrap_or("a panic without a message"), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_said_aloud() {
        let error = serde_json::from_str::<u32>(r#""hunter2 \" , expected""#).unwrap_err().to_string();
        assert!(error.contains("hunter2"), "{error}");
        assert_eq!(without_value(&error), "invalid type: a string, expected u32 at line 1 column 23");
        assert_eq!(
            without_value("unknown field `file`, expected `path`"),
            "unknown field `file`, expected `path`"
        );
    }
}
