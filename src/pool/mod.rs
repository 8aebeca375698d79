//! A pool as a user sets it up. It only keeps what is said: the order of the calls does not matter, and what makes no sense
//! is told when the yard starts.

mod meaning;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taskyard_actors::worker::Launcher;
use taskyard_core::pool;
use taskyard_core::task::Retry;

use crate::context::Calls;
use crate::process::{Limits, ProcessSettings, Program};
pub(crate) use meaning::Surroundings;

/// A pool to be: alike workers, and the namespaces that they take.
///
/// ```
/// # use std::time::Duration;
/// # use taskyard::Pool;
/// let nlp = Pool::process("nlp").pattern("datashare.nlp.#").workers(1..=4).timeout(Duration::from_mins(5));
/// ```
#[must_use = "a pool does nothing before it is given to a yard"]
pub struct Pool {
    name: String,
    patterns: Vec<String>,
    settings: pool::Settings,
    concurrency: Option<u32>,
    ahead: Option<u32>,
    retry: Option<Retry>,
    kind: Kind,
    /// Something that was said and that a pool of this kind does not have.
    misplaced: Option<&'static str>,
}

enum Kind {
    Process(Box<ProcessSettings>),
    Blocking,
    Inline,
    Custom(MakeLauncher),
}

/// Makes what launches the workers of a pool, which may ask the yard.
type MakeLauncher = Box<dyn FnOnce(Arc<dyn Calls>) -> Box<dyn Launcher> + Send>;

impl Pool {
    /// Workers that are processes of this binary, and run its registered handlers. Its `main` must begin with
    /// [`run_if_worker`](crate::worker::run_if_worker).
    pub fn process(name: impl Into<String>) -> Self {
        let name = name.into();
        let settings = ProcessSettings::new(name.clone(), Program::OwnBinary);
        Self::of(name, Kind::Process(Box::new(settings)))
    }

    /// Workers that are processes of another program, which speaks the worker protocol. Searched in `PATH` if `program`
    /// has no slash.
    pub fn command<A: Into<String>>(
        name: impl Into<String>,
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let (name, program) = (name.into(), Program::Command { program: program.into(), args });
        let settings = ProcessSettings::new(name.clone(), program);
        Self::of(name, Kind::Process(Box::new(settings)))
    }

    /// Workers that are threads, for handlers that block and need no process of their own. A thread can't be killed.
    pub fn blocking(name: impl Into<String>) -> Self {
        Self::of(name.into(), Kind::Blocking)
    }

    /// One thread that runs many async handlers at once (100 if [`concurrency`](Self::concurrency) does not say another
    /// number), none of which may block.
    pub fn inline(name: impl Into<String>) -> Self {
        Self::of(name.into(), Kind::Inline)
    }

    /// Workers of any other kind (see [`launcher`](crate::launcher)); `launcher` makes what launches them, on the yard's
    /// thread. What their handlers ask for, the given [`Calls`] answer.
    pub fn custom(
        name: impl Into<String>,
        launcher: impl FnOnce(Arc<dyn Calls>) -> Box<dyn Launcher> + Send + 'static,
    ) -> Self {
        Self::of(name.into(), Kind::Custom(Box::new(launcher)))
    }

    fn of(name: String, kind: Kind) -> Self {
        Self {
            name,
            patterns: Vec::new(),
            settings: pool::Settings::default(),
            concurrency: None,
            ahead: None,
            retry: None,
            kind,
            misplaced: None,
        }
    }

    /// It takes the namespaces that match this pattern, too: `*` is one word, `#` zero or more.
    pub fn pattern(mut self, pattern: impl Into<String>) -> Self {
        self.patterns.push(pattern.into());
        self
    }

    /// At least and at most so many workers; `0..=1` if nothing is said. An inline pool has one.
    pub fn workers(mut self, workers: RangeInclusive<u32>) -> Self {
        (self.settings.min, self.settings.max) = workers.into_inner();
        self
    }

    /// How many tasks a worker runs at once, for handlers that do not block. A foreign command says its own number; this
    /// one is counted on before.
    pub fn concurrency(mut self, concurrency: u32) -> Self {
        self.concurrency = Some(concurrency);
        self
    }

    /// How many short tasks a busy worker may hold that have not started; 0 for none.
    pub fn ahead(mut self, ahead: u32) -> Self {
        self.ahead = Some(ahead);
        self
    }

    /// The time limit of tasks that have none of their own.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// How long a task has from being told to end to SIGTERM.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// How long a worker has from SIGTERM to SIGKILL.
    pub fn kill_after(mut self, span: Duration) -> Self {
        self.settings.kill_after = span;
        self
    }

    /// How long running tasks have once the yard drains.
    pub fn drain_grace(mut self, grace: Duration) -> Self {
        self.settings.drain_grace = grace;
        self
    }

    /// How long a surplus worker idles before it goes.
    pub fn idle_for(mut self, span: Duration) -> Self {
        self.settings.idle_for = span;
        self
    }

    /// How many idle workers are kept whatever the demand.
    pub fn spare(mut self, spare: u32) -> Self {
        self.settings.spare = spare;
        self
    }

    /// A worker that is older leaves after its task.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.settings.max_age = Some(age);
        self
    }

    /// A worker that ran so many tasks leaves.
    pub fn max_tasks(mut self, tasks: u32) -> Self {
        self.settings.max_tasks = Some(tasks);
        self
    }

    /// How many stuck threads of a blocking pool are replaced before it counts as degraded.
    pub fn max_stuck(mut self, stuck: u32) -> Self {
        self.settings.max_stuck = stuck;
        self
    }

    /// How long a worker may take to get ready, and later to start a task for which it has a slot.
    pub fn ready_within(mut self, span: Duration) -> Self {
        self.settings.ready_within = span;
        self
    }

    /// After so many deaths at start in a row the pool is degraded. A worker that dies within `period` without having run
    /// anything died at start.
    pub fn restarts(mut self, intensity: u32, period: Duration) -> Self {
        (self.settings.restart_intensity, self.settings.restart_period) = (intensity, period);
        self
    }

    /// How often and how fast tasks are tried again that do not say it themselves.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }

    /// A worker process whose resident memory is larger leaves after its task, and is killed while it runs one.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.settings.memory_limit = Some(bytes);
        self.of_process("memory_limit", |process| process.watch_memory = true)
    }

    /// Sets a variable in the environment of worker processes.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.of_process("environment", |process| process.env.push((name.into(), value.into())))
    }

    /// Where worker processes start; else where this one is.
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        self.of_process("directory", |process| process.directory = Some(directory.into()))
    }

    /// Arguments for this binary when it is started as a worker, or as what becomes a foreign command. Tests give
    /// `["--exact", "worker_entry", "--nocapture"]` and have a `#[test] fn worker_entry()` that calls
    /// [`run_if_worker`](crate::worker::run_if_worker).
    pub fn worker_args<A: Into<String>>(self, args: impl IntoIterator<Item = A>) -> Self {
        self.of_process("worker_args", |process| process.worker_args.extend(args.into_iter().map(Into::into)))
    }

    /// Limits of worker processes that the kernel keeps.
    pub fn limits(self, limits: Limits) -> Self {
        self.of_process("limits", |process| process.limits = limits)
    }

    fn of_process(mut self, key: &'static str, change: impl FnOnce(&mut ProcessSettings)) -> Self {
        match &mut self.kind {
            Kind::Process(process) => change(process),
            _ => self.misplaced = self.misplaced.or(Some(key)),
        }
        self
    }

    /// How its tasks are tried again, by its name, if that was said.
    pub(crate) fn said_retry(&self) -> Option<(String, Retry)> {
        Some((self.name.clone(), self.retry?))
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("name", &self.name)
            .field("patterns", &self.patterns)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
