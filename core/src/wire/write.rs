//! Writes a task's JSON as a producer on the wire would: what was not said is left out, so that it reads back the same.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{policy, rejected::Rejected, shape};
use crate::defaults::MESSAGE_MAX;
use crate::id::TaskId;
use crate::names::{Namespace, TaskName};
use crate::options::Options;
use crate::rfc3339::Rfc3339;
use crate::task::{Body, Due, Extras, Task};

/// The body of a task; `args` and `kwargs` are JSON, an array and an object.
pub(crate) fn body(
    name: &TaskName,
    args: Option<&str>,
    kwargs: Option<&str>,
    id: Option<TaskId>,
    options: &Options,
) -> Result<Body, Rejected> {
    let length = |part: Option<&str>| part.map_or(0, str::len);
    let bare = r#"{"task":"","args":,"kwargs":}"#.len();
    let mut text = String::with_capacity(bare + name.as_str().len() + length(args) + length(kwargs));
    text.push_str(r#"{"task":"#);
    push_name(&mut text, name)?;
    let args = push_part(&mut text, r#","args":"#, args);
    let kwargs = push_part(&mut text, r#","kwargs":"#, kwargs);
    if id.is_some() || !options.is_empty() {
        let said = json(&Said::of(id, options)?)?;
        text.push(',');
        text.push_str(said.trim_start_matches('{'));
    } else {
        text.push('}');
    }
    let length = text.len();
    let body = Some(text).filter(|_| length <= MESSAGE_MAX);
    body.and_then(|text| Body::new(text.into(), args, kwargs)).ok_or_else(|| shape::too_long(length))
}

fn push_name(text: &mut String, name: &TaskName) -> Result<(), Rejected> {
    let name = name.as_str();
    if name.contains(['"', '\\']) {
        text.push_str(&json(name)?);
        return Ok(());
    }
    // A name has no control characters: nothing else needs an escape.
    text.push('"');
    text.push_str(name);
    text.push('"');
    Ok(())
}

fn push_part(text: &mut String, label: &str, part: Option<&str>) -> Range<usize> {
    let Some(part) = part else { return 0..0 };
    text.push_str(label);
    let start = text.len();
    text.push_str(part);
    start..text.len()
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, Rejected> {
    serde_json::to_string(value)
        .map_err(|error| Rejected::message(format!("the task cannot be written: {error}")))
}

/// What was said besides name and arguments, as it stands on the wire.
#[derive(Default, Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a Namespace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta: Option<Rfc3339>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_duplicate: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    callbacks: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errbacks: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn of(id: Option<TaskId>, options: &'a Options) -> Result<Self, Rejected> {
        let said = Self {
            uuid: id,
            namespace: options.namespace.as_ref(),
            delay: options.delay.map(|span| span.as_secs_f64()),
            eta: options.eta.map(Rfc3339),
            expires: options.expires.and_then(expires),
            timeout: options.timeout.map(|span| span.as_secs_f64()),
            on_duplicate: options.limits.map(policy::on_duplicate_json),
            key: options.key.as_deref(),
            priority: options.priority.map(crate::task::Priority::get),
            retry: options.retry.as_ref().map(policy::retry_json),
            ..Self::default()
        };
        match options.extras.as_deref() {
            Some(extras) => said.with(extras),
            None => Ok(said),
        }
    }

    fn with(mut self, extras: &'a Extras) -> Result<Self, Rejected> {
        self.callbacks = texts(&extras.callbacks)?;
        self.errbacks = texts(&extras.errbacks)?;
        self.bind = extras.bind.then_some(true);
        self.reply_to = extras.reply_to.as_deref();
        self.traceparent = extras.traceparent.as_deref();
        Ok(self)
    }
}

fn texts<'a>(tasks: &'a [Task]) -> Result<Vec<&'a RawValue>, Rejected> {
    let raw = |task: &'a Task| serde_json::from_str(task.body.text());
    tasks
        .iter()
        .map(raw)
        .collect::<Result<_, _>>()
        .map_err(|error| Rejected::message(format!("a callback cannot be written: {error}")))
}

fn expires(due: Due) -> Option<Value> {
    match due {
        Due::Now => None,
        Due::In(span) => Some(span.as_secs_f64().into()),
        Due::At(time) => Some(Rfc3339(time).to_string().into()),
    }
}
