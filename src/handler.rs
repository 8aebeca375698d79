//! What a user writes for each kind of task: its name, its payload, and how it runs. How a task is found, carried and
//! retried is decided elsewhere.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use taskyard_core::dispatch::TaskError;
pub use taskyard_core::task::TaskDefaults;
use taskyard_core::worker::WorkerEnd;

use crate::context::Context;

/// A kind of task: the value is its payload, `run` does the work.
///
/// A payload that serialises to an object travels as `kwargs`, any other as the only one of `args`.
pub trait TaskHandler: Serialize + DeserializeOwned + 'static {
    /// What tasks of this kind are called, everywhere: `app.mail.send`.
    const NAME: &'static str;
    /// What it gives back; must be JSON of at most 1 MiB.
    type Output: Serialize + DeserializeOwned + 'static;

    /// What holds for tasks of this kind that do not say otherwise.
    fn defaults() -> TaskDefaults {
        TaskDefaults::default()
    }

    /// Does the work. May block in pools of processes and threads; must not block in an `inline` pool, nor where several
    /// run at once.
    fn run(self, cx: Context) -> impl Future<Output = Result<Self::Output, HandlerError>>;
}

/// Why a handler did not succeed. `?` makes one from any error.
pub struct HandlerError(WorkerEnd);

impl HandlerError {
    /// A failure with a message; it is tried again as the task's policy says.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::failed("error", &message, None)
    }

    /// A failure that no other attempt would mend: the task goes to the trash at once.
    pub fn fatal(message: impl fmt::Display) -> Self {
        Self::new(message).no_retry()
    }

    /// No failure: run the task again after `span`. It does not count as an attempt.
    pub fn snooze(span: Duration) -> Self {
        Self(WorkerEnd::Snoozed(span))
    }

    /// Gives in to a cancel (see [`Context::cancelled`]): the task ends as cancelled and not as failed.
    pub fn cancelled() -> Self {
        Self(WorkerEnd::Cancelled)
    }

    /// The same, and no other attempt makes sense.
    pub fn no_retry(self) -> Self {
        self.map(|error| error.retry = false)
    }

    /// The same with a short name of its kind, for filters and statistics.
    pub fn kind(self, kind: impl Into<String>) -> Self {
        self.map(|error| error.kind = cut(kind.into(), KIND_MAX))
    }

    fn failed(kind: &str, message: &dyn fmt::Display, trace: Option<String>) -> Self {
        Self(WorkerEnd::Failed(Box::new(TaskError {
            kind: cut(kind.into(), KIND_MAX),
            message: cut(message.to_string(), MESSAGE_MAX),
            trace: trace.map(|trace| cut(trace, MESSAGE_MAX)),
            retry: true,
        })))
    }

    fn map(mut self, change: impl FnOnce(&mut TaskError)) -> Self {
        if let WorkerEnd::Failed(error) = &mut self.0 {
            change(error);
        }
        self
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<HandlerError> for WorkerEnd {
    fn from(error: HandlerError) -> Self {
        error.0
    }
}

/// The kind is the error's type, the trace its sources.
impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let path = std::any::type_name::<E>();
        let path = path.split('<').next().unwrap_or(path);
        let kind = path.rsplit("::").next().unwrap_or(path);
        let mut trace = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            trace.push(cause.to_string());
            source = cause.source();
        }
        let trace = (!trace.is_empty()).then(|| trace.join("\ncaused by: "));
        Self::failed(kind, &error, trace)
    }
}

const KIND_MAX: usize = 255;
const MESSAGE_MAX: usize = 16 * 1024;

/// What a worker reports for a failure that the handler did not name itself. Bounded like a handler's own.
pub(crate) fn failure(kind: &str, message: &dyn fmt::Display, retry: bool) -> WorkerEnd {
    let error = HandlerError::failed(kind, message, None);
    if retry { error.into() } else { error.no_retry().into() }
}

fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task_error(error: HandlerError) -> TaskError {
        match error.into() {
            WorkerEnd::Failed(error) => *error,
            end => panic!("not a failure: {end:?}"),
        }
    }

    #[test]
    fn any_error_becomes_a_failure_named_by_its_type() {
        fn parse() -> Result<u32, HandlerError> {
            Ok("x".parse::<u32>()?)
        }
        let error = task_error(parse().unwrap_err());
        assert_eq!((&*error.kind, error.retry), ("ParseIntError", true));
        assert_eq!(error.message, "invalid digit found in string");
    }

    #[test]
    fn a_failure_can_be_named_and_made_final() {
        let error = task_error(HandlerError::fatal("no such user").kind("no_user"));
        assert_eq!((&*error.kind, &*error.message, error.retry), ("no_user", "no such user", false));
    }

    #[test]
    fn what_an_error_says_is_bounded() {
        let error = task_error(HandlerError::new("é".repeat(100_000)));
        assert!(error.message.len() <= MESSAGE_MAX + '…'.len_utf8());
    }
}
