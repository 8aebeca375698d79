//! Bounds a message before it is read (size, nesting) and finds the field in which it stops being JSON.

use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::rejected::Rejected;
use crate::defaults::{MESSAGE_MAX, NESTING_MAX};

/// Refuses what is too long or nests too deep.
pub fn check(text: &str) -> Result<(), Rejected> {
    if text.len() > MESSAGE_MAX {
        return Err(too_long(text.len()));
    }
    check_nesting(text, 0)
}

/// Refuses a message of so many bytes.
pub fn too_long(bytes: usize) -> Rejected {
    Rejected::message(format!("the message has {bytes} bytes, at most {MESSAGE_MAX} are allowed"))
}

/// Refuses what nests too deep inside of so many levels: raw JSON is skipped over uncounted, so it is counted here.
pub fn check_nesting(json: &str, outside: usize) -> Result<(), Rejected> {
    let allowed = NESTING_MAX.saturating_sub(outside);
    let opening = json.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if opening <= allowed || depth(json) <= allowed {
        return Ok(());
    }
    Err(Rejected::message(format!("the message nests deeper than {NESTING_MAX} levels")))
}

fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

/// Splits a message into its fields.
pub fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Rejected> {
    // An array would be taken for the fields in their order.
    if !text.trim_start().starts_with('{') {
        return Err(Rejected::message("the message is not a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| not_json(text, &error))
}

/// Refuses what is not JSON (`NaN`, say), naming the field that was being read.
fn not_json(text: &str, error: &serde_json::Error) -> Rejected {
    let last = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let broken = LastKey(&last).deserialize(&mut reader).is_err();
    match last.into_inner().filter(|_| broken) {
        Some(field) => Rejected::field(field, format!("its value is not JSON: {error}")),
        None => Rejected::message(format!("the message is not JSON: {error}")),
    }
}

/// Walks an object and remembers the key whose value is being read.
struct LastKey<'c>(&'c RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for LastKey<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LastKey<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            *self.0.borrow_mut() = Some(key.chars().take(64).collect());
            map.next_value::<IgnoredAny>()?;
            *self.0.borrow_mut() = None;
        }
        Ok(())
    }
}
