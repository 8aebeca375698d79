//! A pool as a user sets it up. What was said is checked when the yard starts, so that the order of the calls does not
//! matter; what it means is a [`PoolSpec`].

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::worker::Launcher;
use taskyard_core::names::Pattern;
use taskyard_core::options::check_retry;
use taskyard_core::pool;
use taskyard_core::task::Retry;

use crate::builder::PoolSpec;
use crate::config::{ConfigError, Kind as ConfigKind, PoolSettings};
use crate::context::Calls;
use crate::errors::StartError;
use crate::inline::InlineLauncher;
use crate::process::{LauncherThread, Limits, ProcessLauncher, ProcessSettings, Program};
use crate::registry::{Options, Registry};
use crate::threads::BlockingLauncher;

/// How many tasks an inline pool runs at once if nothing is said.
const INLINE_CONCURRENCY: u32 = 100;
/// How many tasks a worker may run at once.
const CONCURRENCY_MAX: u32 = 10_000;

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

/// What all pools of a yard share.
pub(crate) struct Surroundings<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) calls: &'a Arc<dyn Calls>,
    /// Counts the work of the workers in this process, for tests.
    pub(crate) in_flight: Option<&'a InFlight>,
    /// Starts processes; `None` if no pool needs it.
    pub(crate) thread: Option<&'a LauncherThread>,
}

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

    /// Workers of any other kind; `launcher` makes what launches them, on the yard's thread. What their handlers ask for,
    /// the given [`Calls`] answer.
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

    /// Whether its workers are processes.
    pub(crate) fn has_processes(&self) -> bool {
        matches!(self.kind, Kind::Process(_))
    }

    /// How its tasks are tried again, by its name, if that was said.
    pub(crate) fn said_retry(&self) -> Option<(String, Retry)> {
        Some((self.name.clone(), self.retry?))
    }

    /// What it means.
    pub(crate) fn into_spec(mut self, around: &Surroundings<'_>) -> Result<PoolSpec, StartError> {
        self.check()?;
        let patterns = self.parse_patterns()?;
        if self.runs_own_handlers() {
            if around.registry.is_empty() {
                return Err(StartError::NoHandlers(self.name));
            }
            self.settings.names = Some(around.registry.names().cloned().collect());
        }
        self.settings.send_ahead &= self.ahead != Some(0);
        let options = self.options(around.registry.options());
        if let Some(concurrency) =
            self.concurrency.or(self.runs_own_handlers().then_some(options.concurrency))
        {
            self.settings.concurrency = concurrency;
        }
        let calls = Arc::clone(around.calls);
        let (registry, in_flight) = (around.registry.clone(), around.in_flight.cloned());
        let launcher: Box<dyn FnOnce() -> Box<dyn Launcher> + Send> = match self.kind {
            Kind::Process(mut process) => {
                process.options = process.options.or(Some(options));
                let thread = around.thread.cloned();
                let thread = thread.map_or_else(LauncherThread::start, Ok).map_err(StartError::Thread)?;
                Box::new(|| Box::new(ProcessLauncher::new(*process, thread, calls)))
            }
            Kind::Blocking => {
                self.settings.killable = false;
                Box::new(move || {
                    Box::new(BlockingLauncher::new(registry, options.ahead, calls).counted_by(in_flight))
                })
            }
            Kind::Inline => Box::new(move || {
                Box::new(InlineLauncher::new(registry, options, calls).counted_by(in_flight))
            }),
            Kind::Custom(launcher) => Box::new(|| launcher(calls)),
        };
        Ok(PoolSpec { name: self.name, patterns, settings: self.settings, launcher })
    }

    fn runs_own_handlers(&self) -> bool {
        match &self.kind {
            Kind::Process(process) => process.program == Program::OwnBinary,
            Kind::Blocking | Kind::Inline => true,
            Kind::Custom(_) => false,
        }
    }

    /// How its workers take tasks, if they leave that to the pool.
    fn options(&self, registered: Options) -> Options {
        let usual = match self.kind {
            Kind::Blocking => 1,
            Kind::Inline => INLINE_CONCURRENCY,
            Kind::Process(_) | Kind::Custom(_) => registered.concurrency,
        };
        Options {
            concurrency: self.concurrency.unwrap_or(usual),
            ahead: self.ahead.unwrap_or(registered.ahead),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        if let Some(key) = self.misplaced {
            return Err(self.refuse(key, "only a pool of processes has it"));
        }
        if self.concurrency.is_some_and(|number| !(1..=CONCURRENCY_MAX).contains(&number)) {
            return Err(self.refuse("concurrency", format!("must be from 1 to {CONCURRENCY_MAX}")));
        }
        if matches!(self.kind, Kind::Blocking) && self.concurrency.is_some_and(|number| number > 1) {
            return Err(self.refuse("concurrency", "must be 1: a thread that blocks runs one task"));
        }
        if matches!(self.kind, Kind::Inline) && self.settings.max > 1 {
            return Err(self.refuse("max", "must be 1: an inline pool is one thread; see `concurrency`"));
        }
        if self.settings.timeout.is_some_and(|span| span.is_zero()) {
            return Err(self.refuse("timeout", "must be more than 0; leave it out for none"));
        }
        if self.settings.max_tasks == Some(0) {
            return Err(self.refuse("max_tasks", "must be at least 1; leave it out for no bound"));
        }
        self.retry
            .as_ref()
            .map_or(Ok(()), check_retry)
            .map_err(|rejected| self.refuse(rejected.field.as_deref().unwrap_or("retry"), rejected.reason))
    }

    fn parse_patterns(&self) -> Result<Vec<Pattern>, ConfigError> {
        let parse = |(index, text): (usize, &String)| {
            text.parse().map_err(|bad| self.refuse(&format!("patterns[{index}]"), bad))
        };
        self.patterns.iter().enumerate().map(parse).collect()
    }

    fn refuse(&self, key: &str, reason: impl fmt::Display) -> ConfigError {
        ConfigError::new(format!("pools.{}.{key}", self.name), reason)
    }
}

/// A pool of which all is known already.
impl From<PoolSpec> for Pool {
    fn from(spec: PoolSpec) -> Self {
        let patterns = spec.patterns.iter().map(ToString::to_string).collect();
        let custom = Self::of(spec.name, Kind::Custom(Box::new(|_| (spec.launcher)())));
        Self { patterns, concurrency: Some(spec.settings.concurrency), settings: spec.settings, ..custom }
    }
}

/// A pool of a configuration.
impl From<PoolSettings> for Pool {
    fn from(configured: PoolSettings) -> Self {
        let PoolSettings { name, kind, command, patterns, retry, machine, .. } = configured;
        let mut pool = match (kind, command) {
            (ConfigKind::Process, None) => Self::process(name),
            (ConfigKind::Process, Some(command)) => {
                let mut pool = Self::command(name, command.program, command.arguments);
                pool =
                    command.environment.into_iter().fold(pool, |pool, (name, value)| pool.env(name, value));
                command.directory.into_iter().fold(pool, Self::directory)
            }
            (ConfigKind::Blocking, _) => Self::blocking(name),
            (ConfigKind::Inline, _) => Self::inline(name),
        };
        if let Some(bytes) = machine.memory_limit {
            pool = pool.memory_limit(bytes);
        }
        pool.patterns = patterns.iter().map(ToString::to_string).collect();
        pool.concurrency = (machine.concurrency > 1).then_some(machine.concurrency);
        pool.ahead = (!machine.send_ahead).then_some(0);
        Self { settings: pool::Settings { killable: true, ..machine }, retry, ..pool }
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
