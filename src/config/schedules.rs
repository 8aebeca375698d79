//! Checks what is posted without being asked: schedules and the tasks of the start.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard_core::TaskId;
use taskyard_core::schedule::CatchUp;
use taskyard_core::task::TaskDefaults;
use taskyard_core::wire::{Rejected, parse_task};

use super::error::ConfigError;
use super::raw;
use crate::schedule::Cron;

/// A checked schedule.
#[derive(Debug, Clone)]
pub struct ScheduleSettings {
    /// What tells it from the others.
    pub name: String,
    /// The task, as on the wire.
    pub task: String,
    /// When it comes.
    pub when: When,
    /// What becomes of ticks that were missed.
    pub catch_up: CatchUp,
    /// By how much each tick is spread.
    pub jitter: Duration,
}

/// When a schedule comes.
#[derive(Debug, Clone)]
pub enum When {
    /// Again after each such span.
    Every(Duration),
    /// By a crontab entry.
    Cron(Box<Cron>),
}

pub(super) fn check(schedules: Vec<raw::Schedule>) -> Result<Vec<ScheduleSettings>, ConfigError> {
    let mut names = BTreeSet::new();
    let mut checked = Vec::with_capacity(schedules.len());
    for (index, raw) in schedules.into_iter().enumerate() {
        let path = format!("schedules[{index}]");
        let refuse = |key: &str, reason: String| ConfigError::new(format!("{path}.{key}"), reason);
        if !(1..=255).contains(&raw.name.len()) {
            return Err(refuse("name", format!("must have 1 to 255 bytes, not {}", raw.name.len())));
        }
        if !names.insert(raw.name.clone()) {
            return Err(refuse("name", format!("another schedule is called {:?} already", raw.name)));
        }
        let when = when(&raw).map_err(|(key, reason)| refuse(key, reason))?;
        let task = task(&raw).map_err(|rejected| placed(&path, &rejected))?;
        let jitter = raw.jitter.map_or(Duration::ZERO, |span| span.0);
        checked.push(ScheduleSettings { name: raw.name, task, when, catch_up: raw.catch_up, jitter });
    }
    Ok(checked)
}

pub(super) fn on_start(tasks: Vec<toml::Table>) -> Result<Vec<String>, ConfigError> {
    let check = |(index, table)| {
        let text = json_of(toml::Value::Table(table)).to_string();
        checked(text).map_err(|rejected| placed(&format!("on_start[{index}]"), &rejected))
    };
    tasks.into_iter().enumerate().map(check).collect()
}

fn when(raw: &raw::Schedule) -> Result<When, (&'static str, String)> {
    match (raw.every, &raw.cron) {
        (Some(_), None) if raw.time_zone.is_some() => Err(("time_zone", "only `cron` has one".into())),
        (Some(every), None) if every.0 < Duration::from_millis(1) => {
            Err(("every", "must be at least 1 ms".into()))
        }
        (Some(every), None) => Ok(When::Every(every.0)),
        (None, Some(cron)) => {
            let zone = raw.time_zone.as_deref().unwrap_or("UTC");
            Cron::parse(cron, zone).map(|cron| When::Cron(Box::new(cron))).map_err(|bad| {
                let key =
                    if matches!(bad, crate::schedule::BadCron::TimeZone(_)) { "time_zone" } else { "cron" };
                (key, bad.to_string())
            })
        }
        _ => Err(("every", "give either `every` or `cron`".into())),
    }
}

fn task(raw: &raw::Schedule) -> Result<String, Rejected> {
    let mut task = json!({ "task": raw.task });
    if let Some(args) = &raw.args {
        task["args"] = args.iter().cloned().map(json_of).collect();
    }
    if let Some(kwargs) = &raw.kwargs {
        task["kwargs"] = json_of(toml::Value::Table(kwargs.clone()));
    }
    if let Some(namespace) = &raw.namespace {
        task["namespace"] = namespace.as_str().into();
    }
    checked(task.to_string())
}

/// The text, if it is a task. The handlers' defaults are not known here; they make no task wrong.
fn checked(text: String) -> Result<String, Rejected> {
    parse_task(&text, TaskId(0), &|_| TaskDefaults::default()).map(|_| text)
}

fn placed(path: &str, rejected: &Rejected) -> ConfigError {
    match &rejected.field {
        Some(field) => ConfigError::new(format!("{path}.{field}"), &rejected.reason),
        None => ConfigError::new(path, &rejected.reason),
    }
}

/// A value of TOML in JSON; a date or time as its text.
fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, json_of(value))).collect(),
    }
}
