//! What a pool means that was set up: checks what was said, each with the path that the same key has in a configuration, and
//! makes a [`PoolSpec`] of it. Nothing is started but the thread that will start processes.

use std::cell::OnceCell;
use std::fmt;
use std::io;
use std::sync::Arc;

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::worker::Launcher;
use taskyard_core::names::Pattern;
use taskyard_core::options::check_retry;
use taskyard_core::pool;

use super::{Kind, Pool};
use crate::builder::PoolSpec;
use crate::config::{ConfigError, Kind as ConfigKind, PoolSettings};
use crate::context::Calls;
use crate::errors::StartError;
use crate::inline::InlineLauncher;
use crate::process::{LauncherThread, ProcessLauncher, Program};
use crate::registry::{Options, Registry};
use crate::threads::BlockingLauncher;

/// How many tasks an inline pool runs at once if nothing is said.
const INLINE_CONCURRENCY: u32 = 100;
/// How many tasks a worker may run at once.
const CONCURRENCY_MAX: u32 = 10_000;

/// What all pools of a yard share.
pub(crate) struct Surroundings<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) calls: &'a Arc<dyn Calls>,
    /// Counts the work of the workers in this process, for tests.
    pub(crate) in_flight: Option<&'a InFlight>,
    /// Starts processes; there is one once a pool needs it.
    pub(crate) thread: OnceCell<LauncherThread>,
}

impl Surroundings<'_> {
    fn thread(&self) -> io::Result<LauncherThread> {
        if let Some(thread) = self.thread.get() {
            return Ok(thread.clone());
        }
        let thread = LauncherThread::start()?;
        Ok(self.thread.get_or_init(|| thread).clone())
    }
}

impl Pool {
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
                // What nobody said here is for the workers' own registry to say.
                let said = self.concurrency.is_some() || self.ahead.is_some();
                process.options = said.then_some(options);
                let thread = around.thread().map_err(StartError::Thread)?;
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
        let PoolSettings { name, kind, command, patterns, concurrency, retry, machine, .. } = configured;
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
        pool.concurrency = concurrency;
        pool.ahead = (!machine.send_ahead).then_some(0);
        Self { settings: pool::Settings { killable: true, ..machine }, retry, ..pool }
    }
}
