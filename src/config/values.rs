//! Values that can be typed in two ways: spans of time and sizes.

use std::fmt;
use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use taskyard_core::options::SPAN_MAX;

/// A span of time: seconds as a number, or text as in `"5s"`, `"2m 30s"`, `"24h"` (a day is not always so long, so it is no unit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A size: bytes as a number, or text as in `"512 MiB"`, `"2 GB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl Span {
    fn of_seconds(seconds: f64) -> Option<Self> {
        Duration::try_from_secs_f64(seconds).ok().filter(|span| *span <= SPAN_MAX).map(Self)
    }

    fn of_text(text: &str) -> Option<Self> {
        static PARSER: SpanParser = SpanParser::new();
        PARSER.parse_unsigned_duration(text).ok().filter(|span| *span <= SPAN_MAX).map(Self)
    }
}

impl Size {
    fn of_text(text: &str) -> Option<Self> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let scale: u64 = match unit.trim_start() {
            "B" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(scale).map(Self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpanVisitor)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SpanVisitor;

fn bad_span<E: Error>(shown: impl fmt::Display) -> E {
    E::custom(format_args!(
        "must be seconds from 0 to {}, or as in \"5s\", \"2m 30s\" or \"24h\", not {shown}",
        SPAN_MAX.as_secs()
    ))
}

impl Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("seconds, or a span as in \"5s\", \"2m 30s\" or \"24h\"")
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Span, E> {
        Span::of_seconds(seconds as f64).ok_or_else(|| bad_span(seconds))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Span, E> {
        Span::of_seconds(seconds).ok_or_else(|| bad_span(seconds))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
        Span::of_text(text).ok_or_else(|| bad_span(format_args!("{text:?}")))
    }
}

struct SizeVisitor;

fn bad_size<E: Error>(shown: impl fmt::Display) -> E {
    E::custom(format_args!("must be bytes, or as in \"512 MiB\" or \"2 GB\", not {shown}"))
}

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes, or a size as in \"512 MiB\"")
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
        u64::try_from(bytes).map(Size).map_err(|_| bad_size(bytes))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
        Size::of_text(text).ok_or_else(|| bad_size(format_args!("{text:?}")))
    }
}
