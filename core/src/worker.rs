//! What a Pool tells a worker and what a worker reports, whatever kind of worker it is.

use std::sync::Arc;
use std::time::Duration;

use crate::dispatch::TaskError;
use crate::id::TaskId;
use crate::live::Live;
use crate::names::TaskName;

/// What a Pool tells one worker.
#[derive(Debug, Clone)]
pub enum Command {
    /// Come to be. Answer: [`Report::Ready`], or [`Report::Exited`] if that can't be.
    Launch,
    /// Run a task, at once or after what it runs now. Answers: [`Report::Started`], then [`Report::Done`].
    Run {
        /// The dispatch.
        live: Arc<Live>,
        /// How long it may take; for the handler's information, the Pool keeps the time.
        timeout: Option<Duration>,
    },
    /// Tell a task that it should end. No answer but the task's own end.
    Cancel {
        /// The task.
        id: TaskId,
        /// Why.
        reason: CancelReason,
    },
    /// Give back a task that was sent ahead. Answer: [`Report::Returned`], or its start if that came first.
    Recall {
        /// The task.
        id: TaskId,
    },
    /// End when nothing runs. Answer: [`Report::Exited`].
    Stop,
    /// Send a signal to the whole process group.
    Signal(Signal),
}

/// Why a running task is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Somebody asked.
    User,
    /// Its time is up.
    Timeout,
    /// The yard shuts down, or lost its lease: in both cases the task will run again, here or elsewhere.
    Shutdown,
}

/// The two signals of the kill ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// What a worker reports to its Pool.
#[derive(Debug, Clone)]
pub enum Report {
    /// It can take tasks.
    Ready {
        /// How many tasks it runs at once; at least 1.
        concurrency: u32,
        /// How many more it takes in ahead and can give back.
        ahead: u32,
        /// The names that it knows.
        names: Vec<TaskName>,
    },
    /// A task began to run.
    Started {
        /// The task.
        id: TaskId,
    },
    /// A task ended.
    Done {
        /// The task.
        id: TaskId,
        /// How.
        end: WorkerEnd,
    },
    /// A task that was sent ahead comes back, not started.
    Returned {
        /// The task.
        id: TaskId,
    },
    /// Its resident memory.
    Resident {
        /// Bytes.
        bytes: u64,
    },
    /// It broke the protocol; nothing more will be read from it.
    Fault {
        /// How, for a person.
        what: String,
    },
    /// It is gone, and was reaped (or never came to be).
    Exited {
        /// "exit status 3", "signal 9", or why it could not be started.
        status: String,
        /// The last lines of its output, cut.
        output: String,
    },
}

/// How a worker says that a task ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerEnd {
    /// With a value, JSON text.
    Succeeded(Arc<str>),
    /// With an error.
    Failed(Box<TaskError>),
    /// It gave in to a cancel.
    Cancelled,
    /// It wants to be run again after a while.
    Snoozed(Duration),
}
