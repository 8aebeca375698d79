//! The two clocks a machine is told of. Nothing here reads a clock: the shell (or the simulation) passes [`Now`] in.

use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A reading of the monotonic clock, in microseconds since the yard started. Relative delays and timeouts use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant64(pub i64);

/// A reading of the wall clock, in microseconds since 1970-01-01T00:00:00Z. Absolute due times and expiry use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Both clocks, read once for a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock.
    pub mono: Instant64,
    /// The wall clock; it may step in either direction.
    pub wall: Timestamp,
}

/// When a machine wants to be woken, at the earlier of the two. `None` in both: nothing is waiting for time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakeup {
    /// A time on the monotonic clock.
    pub mono: Option<Instant64>,
    /// A time on the wall clock. The shell looks at the clock again each second, so that a step is noticed.
    pub wall: Option<Timestamp>,
}

impl Wakeup {
    /// No wake-up wanted.
    pub const NEVER: Self = Self { mono: None, wall: None };

    /// A wake-up at `mono`, if there is one.
    pub fn mono(mono: Option<Instant64>) -> Self {
        Self { mono, wall: None }
    }

    /// A wake-up at `wall`, if there is one.
    pub fn wall(wall: Option<Timestamp>) -> Self {
        Self { mono: None, wall }
    }

    /// The earlier of both wishes on each clock.
    pub fn or(self, other: Self) -> Self {
        Self { mono: earlier(self.mono, other.mono), wall: earlier(self.wall, other.wall) }
    }

    /// Whether one of the two times has come.
    pub fn is_due(self, now: Now) -> bool {
        self.mono.is_some_and(|at| at <= now.mono) || self.wall.is_some_and(|at| at <= now.wall)
    }

    /// How long to sleep from `now` if neither clock steps; `None` for ever.
    pub fn sleep(self, now: Now) -> Option<Duration> {
        let mono = self.mono.map(|at| at.0.saturating_sub(now.mono.0));
        let wall = self.wall.map(|at| at.0.saturating_sub(now.wall.0));
        earlier(mono, wall).map(|micros| Duration::from_micros(micros.max(0) as u64))
    }
}

/// The smaller of two times of which either may be missing.
pub fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A span in microseconds, held at what an `i64` can carry.
pub fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// Whole microseconds; held at what an `i64` can carry.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(micros(after)),
            Err(before) => Self(-micros(before.duration())),
        }
    }
}

macro_rules! clock {
    ($name:ident) => {
        impl $name {
            /// The microseconds from `earlier` to this; negative if `earlier` is later.
            pub fn since(self, earlier: Self) -> i64 {
                self.0.saturating_sub(earlier.0)
            }
        }
        impl Add<Duration> for $name {
            type Output = Self;
            fn add(self, span: Duration) -> Self {
                Self(self.0.saturating_add(micros(span)))
            }
        }
        impl Sub<Duration> for $name {
            type Output = Self;
            fn sub(self, span: Duration) -> Self {
                Self(self.0.saturating_sub(micros(span)))
            }
        }
    };
}
clock!(Instant64);
clock!(Timestamp);
