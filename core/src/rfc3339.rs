//! The one reading of a time in text, on every transport: RFC 3339 with an offset, years 0000 to 9999 in UTC.
//!
//! `Z`, `+05:30` and `-00:00` are read alike; `t`, `z` and a space for the `T` are allowed, as RFC 3339 says. A time
//! without an offset, a day that does not exist, a leap second (`:60`) and anything else are refused. Up to nine
//! digits of a second are taken and rounded up to a microsecond, so that nothing starts early.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

use crate::time::Timestamp;

/// What is allowed, for error texts.
pub const EXPECTED: &str = "a time with an offset, as in 2027-01-01T00:00:00Z or 2027-01-01T05:30:00+05:30, of the years 0000 to 9999";

/// 0000-01-01T00:00:00Z.
pub const MIN: Timestamp = Timestamp(-62_167_219_200_000_000);
/// 9999-12-31T23:59:59.999999Z.
pub const MAX: Timestamp = Timestamp(253_402_300_799_999_999);

/// The text is not such a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {EXPECTED}, not {0:?}")]
pub struct BadTime(String);

/// Reads a time.
pub fn parse(text: &str) -> Result<Timestamp, BadTime> {
    read(text).ok_or_else(|| BadTime(text.chars().take(40).collect()))
}

fn read(text: &str) -> Option<Timestamp> {
    let (civil, offset) = split_offset(text)?;
    if !has_shape(civil) {
        return None;
    }
    let civil: DateTime = civil.parse().ok()?;
    let since_epoch = civil.duration_since(EPOCH).as_nanos() - i128::from(offset) * 1_000_000_000;
    let micros = since_epoch.div_euclid(1_000) + i128::from(since_epoch.rem_euclid(1_000) > 0);
    i64::try_from(micros).ok().map(Timestamp).filter(|time| (MIN..=MAX).contains(time))
}

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// What stands before the offset, and the offset in seconds.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(civil) = text.strip_suffix(['Z', 'z']) {
        return Some((civil, 0));
    }
    let (civil, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, hours, minutes) = match offset.as_bytes() {
        [b'+', h1, h2, b':', m1, m2] => (1, two(*h1, *h2)?, two(*m1, *m2)?),
        [b'-', h1, h2, b':', m1, m2] => (-1, two(*h1, *h2)?, two(*m1, *m2)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some((civil, sign * (hours * 3_600 + minutes * 60)))
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Whether it looks as in RFC 3339. What jiff reads beyond that (no seconds, no dashes, `:60` as `:59`) is not a time here.
fn has_shape(civil: &str) -> bool {
    const SHAPE: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    let bytes = civil.as_bytes();
    let Some((whole, fraction)) = bytes.split_at_checked(SHAPE.len()) else { return false };
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == shape,
    };
    let fraction_fits = match fraction {
        [] => true,
        [b'.', digits @ ..] => (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    whole.iter().zip(SHAPE).all(fits) && fraction_fits && &whole[17..] != b"60"
}

/// Shows a time in the form that [`parse`] reads; times outside the years 0000 to 9999 as the nearest inside.
#[derive(Debug, Clone, Copy)]
pub struct Rfc3339(pub Timestamp);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.clamp(MIN, MAX).0;
        let civil = EPOCH.checked_add(SignedDuration::from_micros(micros)).unwrap_or(DateTime::MAX);
        write!(f, "{civil}Z")
    }
}

impl serde::Serialize for Rfc3339 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(parse(text).ok().map(|time| Rfc3339(time).to_string()).as_deref(), expected, "{text}");
    }

    /// D14.
    #[test]
    fn there_is_one_reading_of_a_time() {
        let noon = Some("2024-02-29T12:00:00Z");
        for text in [
            "2024-02-29T12:00:00Z",
            "2024-02-29t12:00:00z",
            "2024-02-29 12:00:00Z",
            "2024-02-29T17:30:00+05:30",
            "2024-02-29T12:00:00-00:00",
            "2024-02-29T12:00:00.0Z",
            "2024-02-28T12:01:00-23:59",
        ] {
            check(text, noon);
        }
        check("2024-02-29T12:00:00.5Z", Some("2024-02-29T12:00:00.5Z"));
        check("2024-02-29T12:00:00.123456Z", Some("2024-02-29T12:00:00.123456Z"));
    }

    /// D14: never early.
    #[test]
    fn what_is_finer_than_a_microsecond_is_rounded_up() {
        check("2024-02-29T12:00:00.1234561Z", Some("2024-02-29T12:00:00.123457Z"));
        check("2024-02-29T12:00:00.123456789Z", Some("2024-02-29T12:00:00.123457Z"));
        check("2024-02-29T12:00:00.999999999Z", Some("2024-02-29T12:00:01Z"));
        check("1969-12-31T23:59:59.0000001Z", Some("1969-12-31T23:59:59.000001Z"));
    }

    /// D14.
    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "",
            "now",
            "2024-02-29",
            "2024-02-29T12:00:00",
            "2024-02-30T12:00:00Z",
            "2023-02-29T12:00:00Z",
            "2024-02-29T12:00:60Z",
            "2024-02-29T12:00:61Z",
            "2024-02-29T24:00:00Z",
            "2024-02-29T12:60:00Z",
            "2024-02-29T12:00Z",
            "20240229T120000Z",
            "2024-02-29T12:00:00,5Z",
            "2024-02-29T12:00:00.Z",
            "2024-02-29T12:00:00.1234567891Z",
            "2024-02-29T12:00:00+0530",
            "2024-02-29T12:00:00+05",
            "2024-02-29T12:00:00+24:00",
            "2024-02-29T12:00:00+05:60",
            "2024-02-29T12:00:00\u{2212}05:00",
            "2024-02-29T12:00:00Z[UTC]",
            " 2024-02-29T12:00:00Z",
            "2024-02-29T12:00:00Z\n",
            "1727354869",
        ] {
            check(text, None);
        }
    }

    /// D12.
    #[test]
    fn far_years_are_exact_and_farther_ones_refused() {
        for text in [
            "2038-01-19T03:14:08Z",
            "2106-02-07T06:28:16Z",
            "2262-04-11T23:47:16.854776Z",
            "9999-12-31T23:59:59.999999Z",
            "0000-01-01T00:00:00Z",
        ] {
            check(text, Some(text));
        }
        for text in [
            "9999-12-31T23:59:59.9999999Z",
            "9999-12-31T23:59:59-00:01",
            "0000-01-01T00:00:00+00:01",
            "+262142-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "-001-01-01T00:00:00Z",
        ] {
            check(text, None);
        }
    }
}
