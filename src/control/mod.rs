//! What a message from outside is: a task, a control command or a chunk; and what a command says. Carries nothing out.

pub mod execute;
pub mod show;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use taskyard_core::TaskId;
use taskyard_core::chunks;
use taskyard_core::conductor::EmptyFilter;
use taskyard_core::options::{REPLY_TO_MAX, check_length};
use taskyard_core::store::Filter;
use taskyard_core::task::Due;
use taskyard_core::wire::{Field, Given, Rejected, shape};

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
    /// Runs this task (as on the wire) and replies with its outcome.
    Run(String),
    /// Drains and ends.
    Shutdown,
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
    /// Another start for a task that has not started.
    Reschedule {
        /// The task.
        id: TaskId,
        /// When.
        due: Due,
    },
    /// One task.
    TaskShow {
        /// The task.
        id: TaskId,
    },
}

type Reader = fn(&Parameters<'_>) -> Result<ControlCommand, Rejected>;

/// Every command with its parameters, and how they are read.
const COMMANDS: [(&str, &[&str], Reader); 13] = [
    ("alive", &[], |_| Ok(ControlCommand::Alive)),
    ("status", &[], |_| Ok(ControlCommand::Status)),
    ("running", FILTER, |given| given.filter().map(all_if_empty).map(ControlCommand::Running)),
    ("cancel", FILTER, |given| given.filter().and_then(never_empty).map(ControlCommand::Cancel)),
    ("workers", &[], |_| Ok(ControlCommand::Workers)),
    ("producers", &[], |_| Ok(ControlCommand::Producers)),
    ("run", &["task"], |given| given.task().map(ControlCommand::Run)),
    ("shutdown", &[], |_| Ok(ControlCommand::Shutdown)),
    ("pause", &["pool"], |given| Ok(ControlCommand::Pause { pool: given.pool()? })),
    ("resume", &["pool"], |given| Ok(ControlCommand::Resume { pool: given.pool()? })),
    ("scale", &["pool", "min", "max"], |given| given.scale()),
    ("reschedule", &["uuid", "delay", "eta"], |given| given.reschedule()),
    ("task_show", &["uuid"], |given| Ok(ControlCommand::TaskShow { id: given.id()? })),
];

const FILTER: &[&str] = &["uuid", "task", "namespace", "all"];
/// How many ids a filter may name.
const IDS_MAX: usize = 10_000;
/// How many workers a pool may be scaled to.
const WORKERS_MAX: u32 = 10_000;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireControl<'a> {
    control: Given<'a>,
    control_data: Given<'a>,
    reply_to: Given<'a>,
}

/// Reads a control command.
pub fn parse_control(text: &str) -> Result<Control, Rejected> {
    shape::check(text)?;
    let wire: WireControl<'_> = shape::object(text)?;
    let reply_to = wire.reply_to.read("reply_to", Field::text)?;
    reply_to.as_deref().map_or(Ok(()), |name| check_length("reply_to", name, REPLY_TO_MAX))?;
    let names = COMMANDS.map(|(name, parameters, reader)| (name, (parameters, reader)));
    let Some((allowed, reader)) = wire.control.read("control", |field| field.one_of(&names))? else {
        return Err(Rejected::field("control", "is missing: the name of the command"));
    };
    let parameters: Parameters<'_> =
        wire.control_data.read("control_data", Field::object)?.unwrap_or_default();
    let command = parameters.only(allowed).and_then(|()| reader(&parameters));
    let command = command.map_err(|rejected| rejected.inside("control_data"))?;
    Ok(Control { command, reply_to: reply_to.map(Cow::into_owned) })
}

/// What stands in `control_data`.
#[derive(Default, Deserialize)]
struct Parameters<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Parameters<'a> {
    fn only(&self, allowed: &[&str]) -> Result<(), Rejected> {
        let Some(unknown) = self.0.keys().find(|name| !allowed.contains(&name.as_ref())) else {
            return Ok(());
        };
        let unknown: String = unknown.chars().take(40).collect();
        let allowed = if allowed.is_empty() { "none".into() } else { allowed.join(", ") };
        Err(Rejected::message(format!("{unknown:?} is not a parameter of this command; allowed: {allowed}")))
    }

    fn read<T>(
        &self,
        name: &'static str,
        reader: impl FnOnce(Field<'a>) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        Given(self.0.get(name).copied()).read(name, reader)
    }

    fn needed<T>(
        &self,
        name: &'static str,
        reader: impl FnOnce(Field<'a>) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        self.read(name, reader)?.ok_or_else(|| Rejected::field(name, "is missing"))
    }

    fn pool(&self) -> Result<String, Rejected> {
        self.needed("pool", Field::text).map(Cow::into_owned)
    }

    fn id(&self) -> Result<TaskId, Rejected> {
        self.needed("uuid", Field::parsed)
    }

    fn task(&self) -> Result<String, Rejected> {
        let object = |field: Field<'a>| {
            if field.is_object() { Ok(field.raw.get().to_owned()) } else { Err(field.must_be("a task")) }
        };
        self.needed("task", object)
    }

    fn filter(&self) -> Result<Filter, Rejected> {
        Ok(Filter {
            ids: self.read("uuid", ids)?.unwrap_or_default(),
            task: self.read("task", Field::parsed)?,
            namespace: self.read("namespace", Field::parsed)?,
            all: self.read("all", Field::flag)?.unwrap_or_default(),
        })
    }

    fn scale(&self) -> Result<ControlCommand, Rejected> {
        let pool = self.pool()?;
        let min = self.needed("min", |field| field.whole(0..=WORKERS_MAX))?;
        let max = self.needed("max", |field| field.whole(1..=WORKERS_MAX))?;
        if min > max {
            return Err(Rejected::field("min", format!("{min} is more than max ({max})")));
        }
        Ok(ControlCommand::Scale { pool, min, max })
    }

    fn reschedule(&self) -> Result<ControlCommand, Rejected> {
        let id = self.id()?;
        let due = match (self.read("delay", Field::seconds)?, self.read("eta", Field::time)?) {
            (Some(delay), None) if delay.is_zero() => Due::Now,
            (Some(delay), None) => Due::In(delay),
            (None, Some(eta)) => Due::At(eta),
            _ => return Err(Rejected::field("eta", "give either `delay` or `eta`")),
        };
        Ok(ControlCommand::Reschedule { id, due })
    }
}

/// One id, or a list of them that is not empty.
fn ids(field: Field<'_>) -> Result<Vec<TaskId>, Rejected> {
    if !field.raw.get().starts_with('[') {
        return field.parsed().map(|id| vec![id]);
    }
    let items = field.list()?;
    if !(1..=IDS_MAX).contains(&items.len()) {
        return Err(field.refused(format!("must have 1 to {IDS_MAX} ids, not {}", items.len())));
    }
    items.into_iter().map(|raw| Field { name: field.name, raw }.parsed()).collect()
}

fn all_if_empty(filter: Filter) -> Filter {
    Filter { all: filter.all || filter.is_empty(), ..filter }
}

fn never_empty(filter: Filter) -> Result<Filter, Rejected> {
    if filter.is_empty() { Err(Rejected::message(EmptyFilter.to_string())) } else { Ok(filter) }
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
