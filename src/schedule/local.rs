//! Lets croner search along the local clock of a jiff time zone.

use std::cmp::Ordering;

use croner::errors::CronError;
use croner::time::{CivilDateTime, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, ZonedDateTime};

/// An instant with its time zone.
#[derive(Clone)]
pub(super) struct Local(pub(super) ZonedDateTime);

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        let time = self.0.datetime();
        let (month, day) = (time.month() as u32, time.day() as u32);
        let (hour, minute, second) = (time.hour() as u32, time.minute() as u32, time.second() as u32);
        CivilDateTime::new(
            croner::time::CivilDate::from_parts_unchecked(time.year().into(), month, day),
            croner::time::CivilTime::from_parts_unchecked(hour, minute, second),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(self.0.weekday().to_sunday_zero_offset() as u32)
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let time = to_jiff(civil).ok_or(CronError::InvalidDate)?;
        let zoned = self.0.time_zone().to_ambiguous_zoned_datetime(time);
        let pick =
            |zoned: Result<ZonedDateTime, jiff::Error>| zoned.map(Self).map_err(|_| CronError::InvalidTime);
        Ok(match zoned.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(pick(zoned.unambiguous())?),
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(pick(zoned.clone().earlier())?, pick(zoned.later())?)
            }
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

fn to_jiff(civil: CivilDateTime) -> Option<DateTime> {
    let year = i16::try_from(civil.year()).ok()?;
    let (month, day) = (civil.month() as i8, civil.day() as i8);
    let (hour, minute, second) = (civil.hour() as i8, civil.minute() as i8, civil.second() as i8);
    DateTime::new(year, month, day, hour, minute, second, 0).ok()
}
