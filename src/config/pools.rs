//! Checks the pools and says what each means for its machine and for whoever starts its workers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::names::Pattern;
use taskyard_core::options::{ATTEMPTS_MAX, FACTOR_MAX};
use taskyard_core::task::Retry;
use taskyard_core::{defaults, pool};

use super::error::ConfigError;
use super::raw::{self, Kind};
use super::values::{Size, Span};
use super::{Handlers, at_least_one};

/// How many workers a pool may have.
const WORKERS_MAX: u32 = 10_000;
/// How many tasks a worker may run at once.
const CONCURRENCY_MAX: u32 = 10_000;

/// A checked pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Its place in the configuration.
    pub id: PoolId,
    /// Its name.
    pub name: String,
    /// What its workers are.
    pub kind: Kind,
    /// What every worker runs; `None`: this program's own handlers.
    pub command: Option<Command>,
    /// Which namespaces it takes; at least one pattern.
    pub patterns: Vec<Pattern>,
    /// How many tasks a worker runs at once; `None`: as is usual for the kind.
    pub concurrency: Option<u32>,
    /// How a task is tried again that does not say it itself; `None`: as everywhere.
    pub retry: Option<Retry>,
    /// For its machine. The names that its workers know are learnt later.
    pub machine: pool::Settings,
}

/// A foreign command that speaks the worker protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs; `None`: where this program does.
    pub directory: Option<PathBuf>,
    /// What is added to its environment.
    pub environment: BTreeMap<String, String>,
}

pub(super) fn check(
    pools: BTreeMap<String, raw::Pool>,
    handlers: Handlers,
    drain_grace: Duration,
) -> Result<Vec<PoolSettings>, ConfigError> {
    if pools.is_empty() {
        return Err(ConfigError::new("pools", "there is none; at least one [pools.NAME] is needed"));
    }
    if pools.len() > PoolSet::MAX {
        return Err(ConfigError::new(
            "pools",
            format!("there are {}, at most {} are allowed", pools.len(), PoolSet::MAX),
        ));
    }
    let numbered = pools.into_iter().zip(0..);
    numbered
        .map(|((name, raw), number)| {
            let path = Path(format!("pools.{name}"));
            path.name(&name)?;
            path.pool(PoolId(number), name, raw, handlers, drain_grace)
        })
        .collect()
}

/// The path of the pool that is checked.
struct Path(String);

impl Path {
    fn refuse(&self, key: &str, reason: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("{}.{key}", self.0), reason)
    }

    fn name(&self, name: &str) -> Result<(), ConfigError> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        if (1..=64).contains(&name.len()) && name.chars().all(plain) {
            return Ok(());
        }
        Err(ConfigError::new(&self.0, "a pool's name has 1 to 64 letters, digits, `-` or `_`"))
    }

    fn pool(
        &self,
        id: PoolId,
        name: String,
        raw: raw::Pool,
        handlers: Handlers,
        drain_grace: Duration,
    ) -> Result<PoolSettings, ConfigError> {
        self.kind(&raw, handlers)?;
        Ok(PoolSettings {
            id,
            name,
            kind: raw.kind,
            patterns: self.patterns(raw.patterns.as_deref())?,
            concurrency: raw.concurrency,
            retry: self.retry(&raw)?,
            machine: self.machine(&raw, drain_grace)?,
            command: self.command(raw)?,
        })
    }

    /// Whether each key makes sense for the kind of pool.
    fn kind(&self, raw: &raw::Pool, handlers: Handlers) -> Result<(), ConfigError> {
        let process = raw.kind == Kind::Process;
        if handlers == Handlers::None && !process {
            let reason = "must be \"process\": this program has no handlers of its own";
            return Err(self.refuse("kind", reason));
        }
        if handlers == Handlers::None && raw.command.is_none() {
            let reason =
                "is missing: this program has no handlers of its own, so the workers' program must be named";
            return Err(self.refuse("command", reason));
        }
        let only = |key, given: bool, fits: bool, kind: &str| {
            if given && !fits {
                Err(self.refuse(key, format!("only a pool of kind {kind} has it")))
            } else {
                Ok(())
            }
        };
        only("command", raw.command.is_some(), process, "\"process\"")?;
        only("memory_limit", raw.memory_limit.is_some(), process, "\"process\"")?;
        only("kill_after", raw.kill_after.is_some(), process, "\"process\"")?;
        only("max_stuck", raw.max_stuck.is_some(), raw.kind == Kind::Blocking, "\"blocking\"")?;
        let foreign = raw.command.is_some();
        let needs_command = "only a pool with a command has it";
        if raw.directory.is_some() && !foreign {
            return Err(self.refuse("directory", needs_command));
        }
        if !raw.environment.is_empty() && !foreign {
            return Err(self.refuse("environment", needs_command));
        }
        Ok(())
    }

    fn command(&self, raw: raw::Pool) -> Result<Option<Command>, ConfigError> {
        let Some(words) = raw.command else { return Ok(None) };
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(self.refuse("command", "is empty; it is a list of a program and its arguments"));
        };
        let arguments = words.collect();
        Ok(Some(Command { program, arguments, directory: raw.directory, environment: raw.environment }))
    }

    fn patterns(&self, raw: Option<&[String]>) -> Result<Vec<Pattern>, ConfigError> {
        let all = ["#".to_owned()];
        let texts = raw.unwrap_or(&all);
        if texts.is_empty() {
            return Err(
                self.refuse("patterns", "is empty, so the pool would take nothing; leave it out for all")
            );
        }
        let read = |(index, text): (usize, &String)| {
            text.parse().map_err(|bad| self.refuse(&format!("patterns[{index}]"), bad))
        };
        texts.iter().enumerate().map(read).collect()
    }

    fn machine(&self, raw: &raw::Pool, drain_grace: Duration) -> Result<pool::Settings, ConfigError> {
        let default = pool::Settings::default();
        let max = self.bounded("max", raw.max, WORKERS_MAX)?.unwrap_or(default.max);
        let min = raw.min.unwrap_or(default.min);
        if min > max {
            return Err(self.refuse("min", format!("{min} is more than {}.max ({max})", self.0)));
        }
        Ok(pool::Settings {
            min,
            max,
            concurrency: self
                .bounded("concurrency", raw.concurrency, CONCURRENCY_MAX)?
                .unwrap_or(default.concurrency),
            killable: raw.kind == Kind::Process,
            max_stuck: raw.max_stuck.unwrap_or(default.max_stuck),
            idle_for: raw.idle_for.map_or(defaults::IDLE_FOR, |span| span.0),
            spare: raw.spare.unwrap_or(default.spare),
            timeout: self.above_zero("timeout", raw.timeout)?,
            grace: raw.grace.map_or(defaults::GRACE, |span| span.0),
            kill_after: raw.kill_after.map_or(defaults::KILL_AFTER, |span| span.0),
            drain_grace,
            max_age: raw.max_age.map(|span| span.0),
            max_tasks: at_least_one(&format!("{}.max_tasks", self.0), raw.max_tasks)?,
            memory_limit: self.memory_limit(raw.memory_limit)?,
            send_ahead: raw.ahead.unwrap_or(default.send_ahead),
            ready_within: self.above_zero("ready_within", raw.ready_within)?.unwrap_or(default.ready_within),
            restart_intensity: at_least_one(&format!("{}.restart_intensity", self.0), raw.restart_intensity)?
                .unwrap_or(default.restart_intensity),
            restart_period: raw.restart_period.map_or(default.restart_period, |span| span.0),
            ..default
        })
    }

    fn retry(&self, raw: &raw::Pool) -> Result<Option<Retry>, ConfigError> {
        let said = raw.retry.clone().unwrap_or_default();
        if raw.max_attempts.is_some() && said.max_attempts.is_some() {
            return Err(self.refuse("max_attempts", "give either this or retry.max_attempts, not both"));
        }
        let key = if raw.max_attempts.is_some() { "max_attempts" } else { "retry.max_attempts" };
        let max_attempts = self.bounded(key, raw.max_attempts.or(said.max_attempts), ATTEMPTS_MAX)?;
        if max_attempts.is_none() && raw.retry.is_none() {
            return Ok(None);
        }
        let base = Retry::default();
        let retry = Retry {
            max_attempts: max_attempts.unwrap_or(base.max_attempts),
            initial: said.backoff.initial.map_or(base.initial, |span| span.0),
            factor: said.backoff.factor.unwrap_or(base.factor),
            max: said.backoff.max.map_or(base.max, |span| span.0),
            jitter: said.backoff.jitter.unwrap_or(base.jitter),
        };
        if !(1.0..=FACTOR_MAX).contains(&retry.factor) {
            return Err(self.refuse("retry.backoff.factor", format!("must be from 1 to {FACTOR_MAX}")));
        }
        if !(0.0..=1.0).contains(&retry.jitter) {
            return Err(self.refuse("retry.backoff.jitter", "must be from 0 to 1"));
        }
        Ok(Some(retry))
    }

    fn above_zero(&self, key: &str, value: Option<Span>) -> Result<Option<Duration>, ConfigError> {
        match value.map(|span| span.0) {
            Some(Duration::ZERO) => {
                Err(self.refuse(key, "must be more than 0; leave it out for the default"))
            }
            span => Ok(span),
        }
    }

    fn memory_limit(&self, limit: Option<Size>) -> Result<Option<u64>, ConfigError> {
        match limit.map(|size| size.0) {
            Some(0) => Err(self.refuse("memory_limit", "must be more than 0; leave it out for no limit")),
            limit => Ok(limit),
        }
    }

    fn bounded(&self, key: &str, value: Option<u32>, max: u32) -> Result<Option<u32>, ConfigError> {
        match value {
            Some(number) if !(1..=max).contains(&number) => {
                Err(self.refuse(key, format!("must be from 1 to {max}, not {number}")))
            }
            value => Ok(value),
        }
    }
}
