//! When a crontab entry comes next, in its time zone. What is posted then is not decided here.
//!
//! A clock that is set changes nothing for entries outside of the hour that is skipped or repeated. Inside of it, an
//! entry with a fixed time of day (no `*` or step in its minutes and hours) comes exactly once: in the first instant
//! after the skipped hour, or in the first pass of the repeated one. An entry with a `*` or a step in them follows the
//! clock on the wall: what falls into the skipped hour does not come, what falls into the repeated one comes twice.

mod local;
mod plan;

use croner::Cron as Expression;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use taskyard_core::schedule::Ticks;
use taskyard_core::time::Timestamp;

use local::Local;

/// A crontab entry in a time zone.
#[derive(Debug, Clone)]
pub struct Cron {
    expression: Expression,
    zone: TimeZone,
}

/// Why a crontab entry was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    /// One of its fields.
    #[error("the {name} {text:?} cannot be read ({allowed})")]
    Field {
        /// Which.
        name: &'static str,
        /// What stood there.
        text: String,
        /// What may stand there.
        allowed: &'static str,
    },
    /// Not five or six fields.
    #[error(
        "{0:?} must have 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first"
    )]
    Shape(String),
    /// No such day.
    #[error("{0:?} never comes")]
    Never(String),
    /// Not in the time zone database.
    #[error("there is no time zone {0:?}; its names are as in Europe/Berlin or UTC")]
    TimeZone(String),
}

/// A field of a crontab entry: its name, and what may stand there.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31, or L for the last"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day of week", "0 to 7, both ends Sunday, or SUN to SAT"),
];

impl Cron {
    /// Reads an entry of five fields, of six with seconds first, or a nickname such as `@daily`.
    pub fn parse(text: &str, time_zone: &str) -> Result<Self, BadCron> {
        let zone = TimeZone::get(time_zone).map_err(|_| BadCron::TimeZone(time_zone.into()))?;
        let expression = parser().parse(text).map_err(|_| blame(text))?;
        let cron = Self { expression, zone };
        match cron.next_after(Timestamp(0)) {
            Some(_) => Ok(cron),
            None => Err(BadCron::Never(text.into())),
        }
    }
}

impl Ticks for Cron {
    fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let start = jiff::Timestamp::from_microsecond(time.0).ok()?;
        let start = Local(start.to_zoned_datetime(self.zone.clone()));
        let next = self.expression.find_next_occurrence(&start, false).ok()?;
        Some(Timestamp(next.0.timestamp().as_microsecond()))
    }
}

fn parser() -> CronParser {
    CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build()
}

/// Which field is wrong: the first that cannot be read beside stars.
fn blame(text: &str) -> BadCron {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let Some(skipped) = FIELDS.len().checked_sub(fields.len()).filter(|skipped| *skipped <= 1) else {
        return BadCron::Shape(text.into());
    };
    let stands_alone = |index: usize| {
        let mut alone = ["*"; FIELDS.len()];
        alone[index + skipped] = fields[index];
        parser().parse(&alone.join(" ")).is_ok()
    };
    let Some(bad) = (0..fields.len()).find(|index| !stands_alone(*index)) else {
        return BadCron::Shape(text.into());
    };
    let (name, allowed) = FIELDS[bad + skipped];
    BadCron::Field { name, text: fields[bad].into(), allowed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskyard_core::rfc3339::{self, Rfc3339};

    /// All ticks after the first time up to the second.
    #[track_caller]
    fn check(cron: &str, zone: &str, (after, until): (&str, &str), expected: &[&str]) {
        let cron = Cron::parse(cron, zone).unwrap();
        let until = rfc3339::parse(until).unwrap();
        let mut time = rfc3339::parse(after).unwrap();
        let mut ticks = Vec::new();
        while let Some(next) = cron.next_after(time).filter(|next| *next <= until) {
            assert!(next > time, "time goes on");
            ticks.push(Rfc3339(next).to_string());
            time = next;
        }
        assert_eq!(ticks, expected);
    }

    fn refused(cron: &str) -> String {
        Cron::parse(cron, "UTC").unwrap_err().to_string()
    }

    #[test]
    fn an_entry_comes_at_its_times_and_never_at_the_time_asked() {
        let day = ("2024-05-01T00:00:00Z", "2024-05-02T00:00:00Z");
        check(
            "0 */8 * * *",
            "UTC",
            day,
            &["2024-05-01T08:00:00Z", "2024-05-01T16:00:00Z", "2024-05-02T00:00:00Z"],
        );
        check("@daily", "Europe/Berlin", day, &["2024-05-01T22:00:00Z"]);
        check("30 0 12 * * *", "UTC", day, &["2024-05-01T12:00:30Z"]);
        let odd = ("2024-05-01T08:00:00.000001Z", "2024-05-01T08:02:00Z");
        check("* * * * *", "UTC", odd, &["2024-05-01T08:01:00Z", "2024-05-01T08:02:00Z"]);
    }

    /// D20: 2024-03-31, 02:00 becomes 03:00 in Berlin.
    #[test]
    fn in_the_spring_gap_a_fixed_time_comes_once_and_stars_skip() {
        let night = ("2024-03-30T23:00:00Z", "2024-03-31T03:00:00Z");
        check("30 2 * * *", "Europe/Berlin", night, &["2024-03-31T01:00:00Z"]);
        check("0 3 * * *", "Europe/Berlin", night, &["2024-03-31T01:00:00Z"]);
        check(
            "0 * * * *",
            "Europe/Berlin",
            night,
            &["2024-03-31T00:00:00Z", "2024-03-31T01:00:00Z", "2024-03-31T02:00:00Z", "2024-03-31T03:00:00Z"],
        );
        check("*/30 2 * * *", "Europe/Berlin", night, &[]);
    }

    /// D20: 2024-10-27, 03:00 becomes 02:00 in Berlin.
    #[test]
    fn in_the_autumn_fold_a_fixed_time_comes_once_and_stars_come_twice() {
        let night = ("2024-10-26T22:30:00Z", "2024-10-27T02:00:00Z");
        check("30 2 * * *", "Europe/Berlin", night, &["2024-10-27T00:30:00Z"]);
        check(
            "0 * * * *",
            "Europe/Berlin",
            night,
            &["2024-10-26T23:00:00Z", "2024-10-27T00:00:00Z", "2024-10-27T01:00:00Z", "2024-10-27T02:00:00Z"],
        );
        check(
            "*/30 2 * * *",
            "Europe/Berlin",
            night,
            &["2024-10-27T00:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T01:00:00Z", "2024-10-27T01:30:00Z"],
        );
    }

    #[test]
    fn a_bad_entry_names_its_field() {
        assert_eq!(refused("60 * * * *"), r#"the minute "60" cannot be read (0 to 59)"#);
        assert_eq!(refused("* 24 * * *"), r#"the hour "24" cannot be read (0 to 23)"#);
        assert!(refused("* * 32 * *").contains("day of month"));
        assert!(refused("* * * FOO *").contains("the month \"FOO\""));
        assert!(refused("* * * * 8").contains("day of week"));
        assert!(refused("61 * * * * *").contains("the second"));
        assert!(refused("*/0 * * * *").contains("the minute"));
        for shape in ["", "* * * *", "* * * * * * *", "@sometimes"] {
            assert!(refused(shape).contains("must have 5 fields"), "{shape}");
        }
        assert!(refused("0 0 30 2 *").contains("never comes"));
        let zone = Cron::parse("* * * * *", "Europe/Atlantis").unwrap_err().to_string();
        assert!(zone.contains("no time zone \"Europe/Atlantis\""));
    }

    #[test]
    fn a_leap_day_is_found() {
        let years = ("2024-03-01T00:00:00Z", "2028-03-01T00:00:00Z");
        check("0 0 29 2 *", "UTC", years, &["2028-02-29T00:00:00Z"]);
    }
}
