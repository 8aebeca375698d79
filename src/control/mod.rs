//! What a message from outside is: a task, a control command or a chunk; and what a command says. Carries nothing out.
//!
//! - `commands` every command by its name, and how it is read · `parameters` what is said with it
//! - [`execute`] carries commands out, those about the board as a whole in `board` · [`show`] how things look in replies

mod board;
mod commands;
pub mod execute;
mod parameters;
pub mod show;

use serde::Deserialize;
use serde_json::Value;
use taskyard_core::TaskId;
use taskyard_core::chunks;
use taskyard_core::store::Filter;
use taskyard_core::task::Due;
use taskyard_core::wire::{Given, Rejected, shape};
use tracing::level_filters::LevelFilter;

pub use commands::parse_control;

/// A message, told apart from the others.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A task, to be read by [`parse_task`](taskyard_core::wire::parse_task).
    Task(&'a str),
    /// A control command.
    Control(Control),
    /// A part of a message, to be taken in by [`Chunks`](taskyard_core::chunks::Chunks).
    Chunk(&'a str),
}

/// The fields by which messages are told apart.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Kind<'a> {
    control: Given<'a>,
    task: Given<'a>,
    #[serde(rename = "__dispatcherd_chunk__")]
    chunk: Given<'a>,
}

impl<'a> Incoming<'a> {
    /// Tells what a message is.
    pub fn parse(text: &'a str) -> Result<Self, Rejected> {
        // Most are tasks that have neither word in them: these are read only once.
        if !text.contains(r#""control""#) && !text.contains(chunks::MARKER) {
            return Ok(Self::Task(text));
        }
        shape::check(text)?;
        let kind: Kind<'_> = shape::object(text)?;
        match kind {
            Kind { control: Given(Some(_)), task: Given(Some(_)), .. } => {
                Err(Rejected::message("it has `task` and `control`: it can be a task or a command, not both"))
            }
            Kind { chunk: Given(Some(_)), .. } => Ok(Self::Chunk(text)),
            Kind { control: Given(Some(_)), .. } => parse_control(text).map(Self::Control),
            Kind { .. } => Ok(Self::Task(text)),
        }
    }
}

/// A control command and where its reply goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// What to do.
    pub command: ControlCommand,
    /// The channel for the reply, where the transport has channels.
    pub reply_to: Option<String>,
}

/// What can be asked of a running yard.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlCommand {
    /// Is anybody there?
    Alive,
    /// The yard in numbers.
    Status,
    /// The tasks in progress that the filter picks; an empty filter was made one that picks all.
    Running(Filter),
    /// Cancels what the filter picks; it is never empty.
    Cancel(Filter),
    /// The workers.
    Workers,
    /// The producers.
    Producers,
    /// The dispatchers that share the board.
    Owners,
    /// Runs this task (as on the wire) and replies with its outcome.
    Run(String),
    /// One task, with all that the board knows of it.
    TaskShow {
        /// The task.
        id: TaskId,
    },
    /// Another start for a task that has not started.
    Reschedule {
        /// The task.
        id: TaskId,
        /// When.
        due: Due,
    },
    /// Tasks in the trash, in the order in which they got there.
    TrashList {
        /// Which; an empty filter was made one that picks all.
        filter: Filter,
        /// After this place: the cursor.
        after: u64,
        /// At most so many.
        limit: usize,
    },
    /// One task in the trash.
    TrashShow {
        /// The task.
        id: TaskId,
    },
    /// Posts what the filter picks of the trash again; it is never empty.
    TrashRequeue(Filter),
    /// Forgets what the filter picks of the trash; it is never empty.
    TrashPurge(Filter),
    /// The schedules.
    Schedules,
    /// A schedule's ticks post nothing.
    SchedulePause {
        /// Its name.
        name: String,
    },
    /// A schedule's ticks post again.
    ScheduleResume {
        /// Its name.
        name: String,
    },
    /// Posts a schedule's task now, outside of its plan.
    ScheduleRun {
        /// Its name.
        name: String,
    },
    /// A pool takes nothing new.
    Pause {
        /// Its name.
        pool: String,
    },
    /// A pool takes tasks again.
    Resume {
        /// Its name.
        pool: String,
    },
    /// Other bounds for a pool.
    Scale {
        /// Its name.
        pool: String,
        /// At least so many workers.
        min: u32,
        /// At most so many; at least 1 and `min`.
        max: u32,
    },
    /// The program logs what is at least as grave as this.
    SetLogLevel(LevelFilter),
    /// Drains, replies with what remains, and ends.
    Drain,
    /// Drains and ends; the reply comes first.
    Shutdown,
}

/// What whoever sent a command is told.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was done: `{"ok":…}`.
    Ok(Value),
    /// It was refused: `{"error":{"field":…,"message":…}}`.
    Error(Rejected),
}

impl Reply {
    /// It could not be done, for this reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Error(Rejected::message(reason))
    }
}

impl From<Result<Value, Rejected>> for Reply {
    fn from(result: Result<Value, Rejected>) -> Self {
        result.map_or_else(Self::Error, Self::Ok)
    }
}

#[cfg(test)]
mod tests;
