//! A configuration as it was typed. What it means, and whether it can be, is not decided here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use taskyard_core::schedule::CatchUp;

use super::values::{Size, Span};
use crate::store::Durability;

/// The whole file. What is left out is as in the table of defaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The yard as a whole.
    pub yard: Yard,
    /// Where tasks are kept.
    pub store: Store,
    /// The pools by name; their order is that of their names.
    pub pools: BTreeMap<String, Pool>,
    /// The Unix socket; left out: none.
    pub socket: Option<Socket>,
    /// What is posted again and again.
    pub schedules: Vec<Schedule>,
    /// Tasks, as on the wire, that are posted at each start.
    pub on_start: Vec<toml::Table>,
}

/// The yard as a whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Yard {
    /// How many tasks may be in the yard.
    pub live_max: Option<usize>,
    /// How many unfinished tasks the board keeps.
    pub board_max: Option<usize>,
    /// How many not yet due tasks a pool may have in the yard.
    pub near_max: Option<usize>,
    /// How far ahead of its due time a parked task is taken into the Delayer.
    pub horizon: Option<Span>,
    /// How long a task waits for one step of priority; 0: strictly by priority.
    pub aging: Option<Span>,
    /// What becomes of a task that no pool takes.
    pub unroutable: Unroutable,
    /// How long running tasks have once the yard drains.
    pub drain_grace: Option<Span>,
}

/// Where tasks are kept.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// `memory`, `sqlite:PATH` or `postgres://…`; left out: in memory.
    pub url: Option<String>,
    /// What a task survives once its submit was answered.
    pub durability: Option<Durability>,
    /// In which schema of the database the tables are.
    pub schema: Option<String>,
    /// How long claims hold after the last sign of life.
    pub lease: Option<Span>,
    /// How long the value of an ended task is kept.
    pub result_ttl: Option<Span>,
    /// The largest value that is kept.
    pub result_max: Option<Size>,
    /// How long it is kept how a task ended.
    pub history: Option<Span>,
    /// How many ended tasks are kept.
    pub history_max: Option<usize>,
}

/// What becomes of a task that no pool takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unroutable {
    /// It waits for a pool.
    #[default]
    Park,
    /// It is refused at submit.
    Reject,
}

/// A pool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// What its workers are.
    pub kind: Kind,
    /// The program and its arguments that every worker runs; left out: this program's own handlers.
    pub command: Option<Vec<String>>,
    /// Where the command runs.
    pub directory: Option<PathBuf>,
    /// What is added to the command's environment.
    pub environment: BTreeMap<String, String>,
    /// Which namespaces it takes; left out: all.
    pub patterns: Option<Vec<String>>,
    /// At least so many workers.
    pub min: Option<u32>,
    /// At most so many workers.
    pub max: Option<u32>,
    /// How many tasks a worker runs at once, before it has said its own number.
    pub concurrency: Option<u32>,
    /// Whether short tasks may be sent ahead to busy workers.
    pub ahead: Option<bool>,
    /// The time limit of tasks that have none of their own.
    pub timeout: Option<Span>,
    /// From `cancel` to SIGTERM.
    pub grace: Option<Span>,
    /// From SIGTERM to SIGKILL.
    pub kill_after: Option<Span>,
    /// How long a surplus worker idles before it goes.
    pub idle_for: Option<Span>,
    /// How many idle workers are kept whatever the demand.
    pub spare: Option<u32>,
    /// A worker that is older leaves after its task.
    pub max_age: Option<Span>,
    /// A worker that ran so many tasks leaves.
    pub max_tasks: Option<u32>,
    /// A worker whose resident memory is larger leaves.
    pub memory_limit: Option<Size>,
    /// How often a task is tried that does not say it itself; short for `retry.max_attempts`.
    pub max_attempts: Option<u32>,
    /// How a task is tried again that does not say it itself.
    pub retry: Option<Retry>,
    /// How many threads may be stuck and replaced before the pool counts as degraded.
    pub max_stuck: Option<u32>,
    /// How long a worker has to get ready, and to start a task that it has a slot for.
    pub ready_within: Option<Span>,
    /// So many deaths at start in a row make the pool degraded.
    pub restart_intensity: Option<u32>,
    /// A worker that dies so soon and has run nothing died at start.
    pub restart_period: Option<Span>,
}

/// What a pool's workers are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Processes.
    #[default]
    Process,
    /// Threads.
    Blocking,
    /// Asynchronous slots on a thread of the pool.
    Inline,
}

/// How a task is tried again.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// How many counted attempts in all.
    pub max_attempts: Option<u32>,
    /// The pauses between them.
    pub backoff: Backoff,
}

/// The pauses between attempts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backoff {
    /// The pause after the first failure.
    pub initial: Option<Span>,
    /// By what each further pause grows.
    pub factor: Option<f64>,
    /// The longest pause.
    pub max: Option<Span>,
    /// By what part of itself a pause is spread.
    pub jitter: Option<f64>,
}

/// The Unix socket.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socket {
    /// Where it is.
    pub path: PathBuf,
}

/// A task that is posted again and again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// What tells it from the others.
    pub name: String,
    /// The name of the task.
    pub task: String,
    /// The time between ticks; either this or `cron`.
    pub every: Option<Span>,
    /// A crontab entry; either this or `every`.
    pub cron: Option<String>,
    /// Whose clock `cron` follows; left out: UTC.
    pub time_zone: Option<String>,
    /// The task's positional arguments.
    pub args: Option<Vec<toml::Value>>,
    /// The task's named arguments.
    pub kwargs: Option<toml::Table>,
    /// Where the task is routed.
    pub namespace: Option<String>,
    /// What becomes of ticks that were missed.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// By how much each tick is spread.
    pub jitter: Option<Span>,
}
