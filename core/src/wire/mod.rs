//! A task on the wire: what was typed, and its one way to the [`Task`] that is meant.
//!
//! A value of the wrong type or out of range is refused with its field's name; it never becomes "run now", and `null`
//! never means "missing". Fields that nobody here knows stay in the body, which is kept byte for byte.

mod field;
mod policy;
mod rejected;
pub mod shape;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;

pub use field::{Field, Given};
pub use rejected::Rejected;

use crate::id::TaskId;
use crate::names::TaskName;
use crate::options::{Options, check_count};
use crate::task::{Body, Due, Extras, Priority, Task, TaskDefaults};

/// How deep callbacks may have callbacks of their own. Each level keeps its own copy of its text.
pub const CALLBACK_DEPTH_MAX: usize = 8;

/// What a task is given that does not say it itself, by its name.
pub type DefaultsOf<'a> = &'a dyn Fn(&TaskName) -> TaskDefaults;

/// Reads a task; `fresh_id` becomes its id if it brings none.
pub fn parse_task(text: &str, fresh_id: TaskId, defaults: DefaultsOf<'_>) -> Result<Task, Rejected> {
    shape::check(text)?;
    Reading { defaults, depth: 0 }.task(text, fresh_id)
}

/// A task as it was typed: each field unread.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireTask<'a> {
    uuid: Given<'a>,
    task: Given<'a>,
    args: Given<'a>,
    kwargs: Given<'a>,
    namespace: Given<'a>,
    delay: Given<'a>,
    eta: Given<'a>,
    expires: Given<'a>,
    timeout: Given<'a>,
    on_duplicate: Given<'a>,
    key: Given<'a>,
    priority: Given<'a>,
    retry: Given<'a>,
    callbacks: Given<'a>,
    errbacks: Given<'a>,
    bind: Given<'a>,
    reply_to: Given<'a>,
    traceparent: Given<'a>,
}

/// The one conversion, for a task or for a callback inside of one.
#[derive(Clone, Copy)]
struct Reading<'d> {
    defaults: DefaultsOf<'d>,
    depth: usize,
}

impl Reading<'_> {
    fn task(self, text: &str, fresh_id: TaskId) -> Result<Task, Rejected> {
        let wire: WireTask<'_> = shape::object(text)?;
        let id = wire.uuid.read("uuid", Field::parsed)?.unwrap_or(fresh_id);
        let Some(name) = wire.task.read("task", Field::parsed::<TaskName>)? else {
            return Err(Rejected::field("task", "is missing: the name of the task"));
        };
        let defaults = (self.defaults)(&name);
        let body = body(text, &wire)?;
        let options = self.options(&wire, id, &defaults)?;
        options.into_task(id, name, body, &defaults)
    }

    fn options(self, wire: &WireTask<'_>, id: TaskId, defaults: &TaskDefaults) -> Result<Options, Rejected> {
        let base = defaults.retry.unwrap_or_default();
        Ok(Options {
            namespace: wire.namespace.read("namespace", Field::parsed)?,
            delay: wire.delay.read("delay", Field::seconds)?,
            eta: wire.eta.read("eta", Field::time)?,
            expires: wire.expires.read("expires", expires)?,
            timeout: wire.timeout.read("timeout", Field::seconds)?,
            limits: wire.on_duplicate.read("on_duplicate", policy::on_duplicate)?,
            key: wire.key.read("key", Field::text)?.map(|key| key.into_owned().into_boxed_str()),
            priority: wire.priority.read("priority", priority)?,
            retry: wire.retry.read("retry", |field| policy::retry(field, base))?,
            extras: self.extras(wire, id)?,
        })
    }

    fn extras(self, wire: &WireTask<'_>, id: TaskId) -> Result<Option<Box<Extras>>, Rejected> {
        let said = [wire.callbacks, wire.errbacks, wire.bind, wire.reply_to, wire.traceparent];
        if said.iter().all(|given| given.0.is_none()) {
            return Ok(None);
        }
        let callbacks = wire.callbacks.read("callbacks", |field| self.callbacks(field, id))?;
        let errbacks = wire.errbacks.read("errbacks", |field| self.callbacks(field, id))?;
        Ok(Some(Box::new(Extras {
            callbacks: callbacks.unwrap_or_default(),
            errbacks: errbacks.unwrap_or_default(),
            traceparent: wire.traceparent.read("traceparent", Field::text)?.map(Cow::into_owned),
            reply_to: wire.reply_to.read("reply_to", Field::text)?.map(Cow::into_owned),
            bind: wire.bind.read("bind", Field::flag)?.unwrap_or_default(),
        })))
    }

    fn callbacks(self, field: Field<'_>, parent: TaskId) -> Result<Vec<Task>, Rejected> {
        let items = field.list()?;
        check_count(field.name, items.len())?;
        if self.depth == CALLBACK_DEPTH_MAX {
            return Err(field.refused(format!("callbacks nest at most {CALLBACK_DEPTH_MAX} deep")));
        }
        let inner = Self { depth: self.depth + 1, ..self };
        let read = |(index, text): (usize, &str)| {
            let place = format!("{}[{index}]", field.name);
            inner.task(text, parent.derived(place.as_bytes())).map_err(|rejected| rejected.inside(&place))
        };
        items.iter().map(|item| item.get()).enumerate().map(read).collect()
    }
}

fn body(text: &str, wire: &WireTask<'_>) -> Result<Body, Rejected> {
    let args = wire.args.read("args", |field| field.nested('[', "an array"))?;
    let kwargs = wire.kwargs.read("kwargs", |field| field.nested('{', "an object"))?;
    let place = |part: Option<&str>| part.map_or(0..0, |part| place(text, part));
    Body::new(text.into(), place(args), place(kwargs)).ok_or_else(|| shape::too_long(text.len()))
}

/// Where `part`, a slice of `text`, stands in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    start..start.wrapping_add(part.len())
}

fn expires(field: Field<'_>) -> Result<Due, Rejected> {
    if field.raw.get().starts_with('"') { field.time().map(Due::At) } else { field.seconds().map(Due::In) }
}

fn priority(field: Field<'_>) -> Result<Priority, Rejected> {
    let number = field.whole(0..=Priority::MAX.into())?;
    Priority::new(number as u8).ok_or_else(|| field.must_be("a whole number from 0 to 9"))
}
