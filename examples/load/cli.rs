//! What can be asked for on the command line, and the pool that this means.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use taskyard::Pool;
use taskyard::store::{Durability, StoreChoice, StoreUrl};

/// Loads a yard with no-op tasks and says how it bears that.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Cli {
    /// How many tasks.
    #[arg(long, default_value_t = 500_000)]
    pub(crate) tasks: usize,
    /// What runs them.
    #[arg(long, value_enum, default_value_t = Kind::Process)]
    pub(crate) pool: Kind,
    /// How many workers; an inline pool has one.
    #[arg(long, default_value_t = 4)]
    pub(crate) workers: u32,
    /// How many tasks a worker runs at once, instead of the pool's own number.
    #[arg(long)]
    pub(crate) concurrency: Option<u32>,
    /// How many tasks a busy process or thread may hold that have not started; 0: sending ahead is off.
    #[arg(long, default_value_t = 64)]
    pub(crate) ahead: u32,
    /// How many bytes of payload each task has.
    #[arg(long, default_value_t = 0)]
    pub(crate) payload: usize,
    /// How many tasks are submitted together.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) batch: usize,
    /// How many batches may be unfinished, or unanswered where tasks are only posted.
    #[arg(long, default_value_t = 16)]
    pub(crate) open: usize,
    /// Submits so many tasks a second, whatever comes back; latency counts from when a task should have been submitted.
    #[arg(long, conflicts_with = "idle")]
    pub(crate) rate: Option<u32>,
    /// Submits one task at a time and pauses in between.
    #[arg(long)]
    pub(crate) idle: bool,
    /// The pause before each task when idle, in milliseconds.
    #[arg(long, default_value = "2", value_parser = millis)]
    pub(crate) pause: Duration,
    /// Only posts so many tasks that are due in an hour, and says what memory (and disk) each takes.
    #[arg(long, conflicts_with_all = ["idle", "rate"])]
    pub(crate) delayed: Option<usize>,
    /// Spreads the due times of delayed tasks over so many seconds after that hour.
    #[arg(long, default_value_t = 0)]
    pub(crate) over: u64,
    /// Delayed tasks are due so many seconds from now, instead of in an hour.
    #[arg(long, default_value_t = 3_600)]
    pub(crate) after: u64,
    /// So many submitters, each with one task at a time whose outcome it awaits.
    #[arg(long, conflicts_with_all = ["idle", "rate", "delayed"])]
    pub(crate) submitters: Option<usize>,
    /// Parks so many tasks that are all due at one instant, and says how fast they drain.
    #[arg(long, conflicts_with_all = ["idle", "rate", "delayed", "submitters"])]
    pub(crate) burst: Option<usize>,
    /// Parks tasks of which so many are due a second, and says how late they start.
    #[arg(long, conflicts_with_all = ["idle", "rate", "delayed", "submitters", "burst"])]
    pub(crate) due: Option<u32>,
    /// Parks so many tasks on disk, stops, lets them fall due, and says how soon after a new start the first one runs.
    #[arg(long, conflicts_with_all = ["idle", "rate", "delayed", "submitters", "burst", "due"])]
    pub(crate) overdue: Option<usize>,
    /// Where tasks are kept: `memory`, `sqlite:PATH` or `postgres://…`.
    #[arg(long, default_value = "memory")]
    pub(crate) store: StoreUrl,
    /// What a store on disk survives.
    #[arg(long, value_enum, default_value_t = Survives::Full)]
    pub(crate) durability: Survives,
    /// How many tasks run before it counts.
    #[arg(long, default_value_t = 2_000)]
    pub(crate) warm_up: usize,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kinds of pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Process,
    Blocking,
    Inline,
}

/// What a store on disk survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Survives {
    Full,
    Normal,
}

impl Cli {
    /// The store that was asked for.
    pub(crate) fn store(&self) -> StoreChoice {
        StoreChoice::from(self.store.clone()).durability(match self.durability {
            Survives::Full => Durability::Full,
            Survives::Normal => Durability::Normal,
        })
    }

    /// The folder of the store's file, if it has one.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let StoreUrl::Sqlite(path) = &self.store else { return None };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some(folder.unwrap_or(Path::new(".")).to_owned())
    }

    /// The pool that was asked for, of a fixed size.
    pub(crate) fn pool(&self) -> Pool {
        let pool = match self.pool {
            Kind::Process => Pool::process("load").ahead(self.ahead).workers(self.workers..=self.workers),
            Kind::Blocking => Pool::blocking("load").ahead(self.ahead).workers(self.workers..=self.workers),
            Kind::Inline => Pool::inline("load").workers(1..=1),
        };
        let pool = pool.pattern("load.#");
        match self.concurrency {
            Some(concurrency) => pool.concurrency(concurrency),
            None => pool,
        }
    }

    /// The same with another number of tasks.
    pub(crate) fn with_tasks(&self, tasks: usize) -> Self {
        Self { tasks, ..self.clone() }
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Blocking => "blocking",
            Self::Inline => "inline",
        }
    }
}

fn millis(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
