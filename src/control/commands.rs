//! Every control command by its name, and how its parameters are read.

use serde::Deserialize;
use taskyard_core::conductor::EmptyFilter;
use taskyard_core::options::{REPLY_TO_MAX, check_length};
use taskyard_core::store::Filter;
use taskyard_core::wire::{Field, Given, Rejected, shape};

use super::parameters::Parameters;
use super::{Control, ControlCommand};

type Reader = fn(&Parameters<'_>) -> Result<ControlCommand, Rejected>;

/// Every command with its parameters, and how they are read.
const COMMANDS: [(&str, &[&str], Reader); 24] = [
    ("alive", &[], |_| Ok(ControlCommand::Alive)),
    ("status", &[], |_| Ok(ControlCommand::Status)),
    ("running", FILTER, |given| given.filter().map(all_if_empty).map(ControlCommand::Running)),
    ("cancel", FILTER, |given| given.filter().and_then(any).map(ControlCommand::Cancel)),
    ("workers", &[], |_| Ok(ControlCommand::Workers)),
    ("producers", &[], |_| Ok(ControlCommand::Producers)),
    ("owners", &[], |_| Ok(ControlCommand::Owners)),
    ("run", &["task"], |given| given.task().map(ControlCommand::Run)),
    ("task_show", &["uuid"], |given| Ok(ControlCommand::TaskShow { id: given.id()? })),
    ("reschedule", &["uuid", "delay", "eta"], |given| {
        Ok(ControlCommand::Reschedule { id: given.id()?, due: given.due()? })
    }),
    ("trash_list", FILTER_AND_PAGE, |given| {
        let (after, limit) = given.page()?;
        Ok(ControlCommand::TrashList { filter: all_if_empty(given.filter()?), after, limit })
    }),
    ("trash_show", &["uuid"], |given| Ok(ControlCommand::TrashShow { id: given.id()? })),
    ("trash_requeue", FILTER, |given| given.filter().and_then(any_trashed).map(ControlCommand::TrashRequeue)),
    ("trash_purge", FILTER, |given| given.filter().and_then(any_trashed).map(ControlCommand::TrashPurge)),
    ("schedules", &[], |_| Ok(ControlCommand::Schedules)),
    ("schedule_pause", &["name"], |given| Ok(ControlCommand::SchedulePause { name: given.name()? })),
    ("schedule_resume", &["name"], |given| Ok(ControlCommand::ScheduleResume { name: given.name()? })),
    ("schedule_run", &["name"], |given| Ok(ControlCommand::ScheduleRun { name: given.name()? })),
    ("pause", &["pool"], |given| Ok(ControlCommand::Pause { pool: given.pool()? })),
    ("resume", &["pool"], |given| Ok(ControlCommand::Resume { pool: given.pool()? })),
    ("scale", &["pool", "min", "max"], |given| {
        let (min, max) = given.bounds()?;
        Ok(ControlCommand::Scale { pool: given.pool()?, min, max })
    }),
    ("set_log_level", &["level"], |given| given.level().map(ControlCommand::SetLogLevel)),
    ("drain", &[], |_| Ok(ControlCommand::Drain)),
    ("shutdown", &[], |_| Ok(ControlCommand::Shutdown)),
];

const FILTER: &[&str] = &["uuid", "task", "namespace", "all"];
const FILTER_AND_PAGE: &[&str] = &["uuid", "task", "namespace", "all", "after", "limit"];

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
    Ok(Control { command, reply_to: reply_to.map(std::borrow::Cow::into_owned) })
}

fn all_if_empty(filter: Filter) -> Filter {
    Filter { all: filter.all || filter.is_empty(), ..filter }
}

fn any(filter: Filter) -> Result<Filter, Rejected> {
    if filter.is_empty() { Err(Rejected::message(EmptyFilter.to_string())) } else { Ok(filter) }
}

fn any_trashed(filter: Filter) -> Result<Filter, Rejected> {
    let all = "the filter is empty; for all that is in the trash say `all: true`";
    if filter.is_empty() { Err(Rejected::message(all)) } else { Ok(filter) }
}
