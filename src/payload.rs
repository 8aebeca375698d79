//! What can be submitted, and how it becomes a task's arguments and back: an object travels as `kwargs`, anything else as
//! `args: [payload]`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use taskyard_core::task::TaskDefaults;

use crate::handler::TaskHandler;

/// The arguments of a task. `None`: there are none.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// The positional ones, a JSON array.
    pub args: Option<Box<RawValue>>,
    /// The named ones, a JSON object.
    pub kwargs: Option<Box<RawValue>>,
}

/// What can be submitted: every [`TaskHandler`], and [`Named`] for tasks whose handlers are elsewhere.
pub trait Payload {
    /// What its handler gives back.
    type Output: DeserializeOwned;

    /// What the task is called.
    fn name(&self) -> &str;

    /// The payload as JSON: `args` and `kwargs`, of which either may be missing.
    fn arguments(&self) -> Result<Arguments, serde_json::Error>;

    /// What holds for it if its kind is not registered here.
    fn defaults(&self) -> TaskDefaults;
}

impl<T: TaskHandler> Payload for T {
    type Output = T::Output;

    fn name(&self) -> &str {
        T::NAME
    }

    fn arguments(&self) -> Result<Arguments, serde_json::Error> {
        encode(self)
    }

    fn defaults(&self) -> TaskDefaults {
        T::defaults()
    }
}

/// A task by its name, with any arguments and any output.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// The positional arguments.
    pub args: Vec<Value>,
    /// The named arguments.
    pub kwargs: serde_json::Map<String, Value>,
}

impl Payload for Named {
    type Output = Value;

    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Result<Arguments, serde_json::Error> {
        let args = (!self.args.is_empty()).then(|| to_raw_value(&self.args)).transpose()?;
        let kwargs = (!self.kwargs.is_empty()).then(|| to_raw_value(&self.kwargs)).transpose()?;
        Ok(Arguments { args, kwargs })
    }

    fn defaults(&self) -> TaskDefaults {
        TaskDefaults::default()
    }
}

/// The arguments that carry `payload`. Fails if it is no JSON (a map whose keys are not text, say).
pub fn encode(payload: &impl Serialize) -> Result<Arguments, serde_json::Error> {
    let payload = to_raw_value(payload)?;
    Ok(if payload.get().starts_with('{') {
        Arguments { args: None, kwargs: Some(payload) }
    } else {
        Arguments { args: Some(to_raw_value(&[payload])?), kwargs: None }
    })
}

/// The payload that JSON texts of `args` and `kwargs` carry.
///
/// One positional argument is the payload; several are the fields of a struct or tuple in their order, which is what
/// other producers send. With neither, a payload without content is meant as well (`struct Ping;`).
pub fn decode<T: DeserializeOwned>(args: &str, kwargs: &str) -> Result<T, String> {
    let (no_args, no_kwargs) = (is_empty(args, '[', ']'), is_empty(kwargs, '{', '}'));
    match (no_args, no_kwargs) {
        (true, true) => from_text(kwargs).or_else(|error| from_text("null").map_err(|_| error)),
        (true, false) => from_text(kwargs),
        (false, true) => positional(args),
        (false, false) => Err("a task of this kind takes either args or kwargs, not both".into()),
    }
}

fn positional<T: DeserializeOwned>(args: &str) -> Result<T, String> {
    let each: Vec<&RawValue> = parsed(args)?;
    match each[..] {
        [only] => from_text(only.get()),
        _ => from_text(args),
    }
}

fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    parsed(text)
}

fn is_empty(text: &str, open: char, close: char) -> bool {
    let inside = text.trim().strip_prefix(open).and_then(|text| text.strip_suffix(close));
    inside.is_some_and(|inside| inside.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::fmt::Debug;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Mail {
        to: String,
        copies: u32,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Ping;
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair(u32, String);

    #[track_caller]
    fn round<T: Serialize + DeserializeOwned + PartialEq + Debug>(payload: &T) {
        let arguments = encode(payload).unwrap();
        let args = arguments.args.map_or("[]".into(), |args| args.to_string());
        let kwargs = arguments.kwargs.map_or("{}".into(), |kwargs| kwargs.to_string());
        assert_eq!(decode::<T>(&args, &kwargs).as_ref(), Ok(payload), "{args} {kwargs}");
    }

    #[test]
    fn every_shape_of_payload_comes_back() {
        round(&Mail { to: "😀\0".into(), copies: 2 });
        round(&Ping);
        round(&Pair(1, "x".into()));
        round(&vec![1, 2, 3]);
        round(&Vec::<u32>::new());
        round(&"text".to_owned());
        round(&std::collections::BTreeMap::<String, u32>::new());
    }

    #[test]
    fn several_positional_arguments_are_fields_in_order() {
        assert_eq!(decode(r#"["a", 3]"#, "{ }"), Ok(Mail { to: "a".into(), copies: 3 }));
    }

    #[test]
    fn a_task_without_arguments_is_a_payload_without_content() {
        assert_eq!(decode(" [ ] ", "{}"), Ok(Ping));
        assert!(decode::<Mail>("[]", "{}").unwrap_err().contains("missing field"));
    }

    #[test]
    fn both_kinds_of_arguments_are_refused() {
        assert!(decode::<Mail>("[1]", r#"{"to":"a"}"#).unwrap_err().contains("not both"));
    }
}
