//! Reads one field of a message. Each reader says what is allowed and what stood there instead; `null` is never "missing".

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::rejected::Rejected;
use crate::options::{SPAN_MAX, whole_micros};
use crate::rfc3339;
use crate::time::Timestamp;

/// How much of a refused value is shown.
const SHOWN_CHARS: usize = 40;

/// A field that may be missing, as it stands in the message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a>(pub Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Given<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not through `Option`, which would take `null` for "missing".
        <&RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw)))
    }
}

impl<'a> Given<'a> {
    /// Reads it if it is there.
    pub fn read<T>(
        self,
        name: &'static str,
        reader: impl FnOnce(Field<'a>) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        self.0.map(|raw| reader(Field { name, raw })).transpose()
    }
}

/// A field that is there.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// Its name, for errors.
    pub name: &'static str,
    /// Its JSON.
    pub raw: &'a RawValue,
}

impl<'a> Field<'a> {
    /// A string.
    pub fn text(self) -> Result<Cow<'a, str>, Rejected> {
        let text: Result<Text<'a>, _> = serde_json::from_str(self.raw.get());
        text.map(|text| text.0).map_err(|_| self.must_be("a string"))
    }

    /// A string that means something.
    pub fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(self) -> Result<T, Rejected> {
        self.text()?.parse().map_err(|reason: T::Err| self.refused(reason.to_string()))
    }

    /// One of a few names.
    pub fn one_of<T: Copy>(self, names: &[(&str, T)]) -> Result<T, Rejected> {
        let text = serde_json::from_str::<Text<'a>>(self.raw.get()).map(|text| text.0).unwrap_or_default();
        let found = names.iter().find(|(name, _)| *name == text);
        let allowed = || names.iter().map(|(name, _)| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.must_be(&format!("one of {}", allowed())))
    }

    /// `true` or `false`.
    pub fn flag(self) -> Result<bool, Rejected> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.must_be("true or false"))
    }

    /// A whole number.
    pub fn whole(self, allowed: RangeInclusive<u32>) -> Result<u32, Rejected> {
        let number: Option<u32> = serde_json::from_str(self.raw.get()).ok();
        number.filter(|number| allowed.contains(number)).ok_or_else(|| {
            self.must_be(&format!("a whole number from {} to {}", allowed.start(), allowed.end()))
        })
    }

    /// A number.
    pub fn number(self, allowed: RangeInclusive<f64>) -> Result<f64, Rejected> {
        let number: Option<f64> = serde_json::from_str(self.raw.get()).ok();
        number
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| self.must_be(&format!("a number from {} to {}", allowed.start(), allowed.end())))
    }

    /// A number of seconds, rounded up to a microsecond.
    pub fn seconds(self) -> Result<Duration, Rejected> {
        let number: Option<f64> = serde_json::from_str(self.raw.get()).ok();
        let span = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        span.filter(|span| *span <= SPAN_MAX)
            .map(whole_micros)
            .ok_or_else(|| self.must_be(&format!("a number of seconds from 0 to {}", SPAN_MAX.as_secs())))
    }

    /// A time with its offset.
    pub fn time(self) -> Result<Timestamp, Rejected> {
        let text = self.text().map_err(|_| self.must_be(rfc3339::EXPECTED))?;
        rfc3339::parse(&text).map_err(|bad| self.refused(bad.to_string()))
    }

    /// The elements of an array. What was there instead is not shown.
    pub fn list(self) -> Result<Vec<&'a RawValue>, Rejected> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.must_be_kind("an array"))
    }

    /// The fields of an object.
    pub fn object<T: Deserialize<'a>>(self) -> Result<T, Rejected> {
        if !self.is_object() {
            return Err(self.must_be("an object"));
        }
        serde_json::from_str(self.raw.get()).map_err(|error| self.refused(error.to_string()))
    }

    /// Whether an object stands there.
    pub fn is_object(self) -> bool {
        self.raw.get().starts_with('{')
    }

    /// The place of an array's or object's text; `open` is its first character. What was there instead is not shown.
    pub(super) fn nested(self, open: char, kind: &str) -> Result<&'a str, Rejected> {
        let text = self.raw.get();
        if text.starts_with(open) { Ok(text) } else { Err(self.must_be_kind(kind)) }
    }

    /// Refuses it for this reason.
    pub fn refused(self, reason: impl Into<String>) -> Rejected {
        Rejected::field(self.name, reason)
    }

    /// Refuses it: something else is allowed.
    pub fn must_be(self, allowed: &str) -> Rejected {
        self.refused(format!("must be {allowed}, not {}", self.shown()))
    }

    fn must_be_kind(self, allowed: &str) -> Rejected {
        self.refused(format!("must be {allowed}, not {}", self.kind()))
    }

    fn shown(self) -> Cow<'a, str> {
        let text = self.raw.get();
        match text.char_indices().nth(SHOWN_CHARS) {
            _ if text.starts_with(['{', '[']) => self.kind().into(),
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        }
    }

    fn kind(self) -> &'static str {
        match self.raw.get().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'n') => "null",
            Some(b't' | b'f') => "true or false",
            _ => "a number",
        }
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
