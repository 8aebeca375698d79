//! The difference between the clock here and the server's. What is stored is said on the server's clock, so that dispatchers
//! whose clocks differ agree on what is due; what is told to the yard is said on its own.

use std::time::{Duration, Instant};

use taskyard_core::Now;
use taskyard_core::task::{Due, DueAt};
use taskyard_core::time::{Timestamp, micros};

/// Whose clock decides what is due and what has expired. Leases run on the server's in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The server's.
    #[default]
    Server,
    /// The one whose readings are passed in: for tests that turn it by hand.
    Given,
}

/// Less than this is taken for no difference: clocks that are kept right differ by as much from one measurement to the next,
/// and a time that goes to the yard and comes back should be the same.
const TOLERANCE: Duration = Duration::from_millis(5);
/// A measurement that took longer says too little.
const TOO_SLOW: Duration = Duration::from_millis(500);

/// How far the server's clock is ahead, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Skew(i64);

impl Skew {
    /// What the server's clock shows.
    pub(super) fn now(self, now: Now) -> Now {
        Now { wall: self.to_server(now.wall), ..now }
    }

    /// A time of the yard's clock on the server's.
    pub(super) fn to_server(self, at: Timestamp) -> Timestamp {
        Timestamp(at.0.saturating_add(self.0))
    }

    /// A time of the server's clock on the yard's.
    pub(super) fn to_yard(self, at: Timestamp) -> Timestamp {
        Timestamp(at.0.saturating_sub(self.0))
    }

    /// A due time that was reckoned on the yard's clock, or said as it stands.
    pub(super) fn reckoned(self, due: DueAt) -> DueAt {
        match due {
            DueAt::Wall(at) => DueAt::Wall(self.to_server(at)),
            other => other,
        }
    }

    /// A due time as it was admitted: what the producer said as a time is that time on every clock, also where it has come
    /// on the yard's.
    pub(super) fn admitted(self, said: Due, due: DueAt) -> DueAt {
        match said {
            Due::At(at) if self.0 != 0 => DueAt::Wall(at),
            Due::At(_) => due,
            Due::Now | Due::In(_) => self.reckoned(due),
        }
    }

    /// An expiry as it was admitted.
    pub(super) fn admitted_expiry(self, said: Option<Due>, at: Timestamp) -> Timestamp {
        if matches!(said, Some(Due::At(_))) { at } else { self.to_server(at) }
    }

    /// Takes a reading of the server's clock that was asked for at `asked` and came at `came`, on the yard's clock.
    fn measure(&mut self, server: Timestamp, asked: Timestamp, came: Timestamp) {
        let took = came.since(asked);
        let middle = asked.0.saturating_add(took / 2);
        let found = server.0.saturating_sub(middle);
        // The reading may have been taken at either end.
        let unsure = micros(TOLERANCE).max(took / 2);
        if took < micros(TOO_SLOW) && found.saturating_sub(self.0).abs() > unsure {
            self.0 = if found.abs() > unsure { found } else { 0 };
        }
    }
}

/// One call's readings: the time that was passed in, and how long ago that was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    now: Now,
    begun: Instant,
}

impl Reading {
    pub(super) fn of(now: Now) -> Self {
        Self { now, begun: Instant::now() }
    }

    /// The time that was passed in.
    pub(super) fn begin(&self) -> Now {
        self.now
    }

    /// What the yard's wall clock shows by now.
    pub(super) fn wall(&self) -> Timestamp {
        self.now.wall + self.begun.elapsed()
    }
}

impl Clock {
    /// Learns from a reading of the server's clock that was asked for at `asked` (by the yard's).
    pub(super) fn learn(self, skew: &mut Skew, reading: &Reading, asked: Timestamp, server: i64) {
        if self == Self::Server {
            skew.measure(Timestamp(server), asked, reading.wall());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(from: i64, server: i64, asked: i64, came: i64) -> i64 {
        let mut skew = Skew(from);
        skew.measure(Timestamp(server), Timestamp(asked), Timestamp(came));
        skew.0
    }

    #[test]
    fn a_difference_is_learned_from_the_middle_of_the_way() {
        assert_eq!(measured(0, 3_600_000_100, 0, 200), 3_600_000_000);
        assert_eq!(measured(0, -60_000_000, 0, 0), -60_000_000);
    }

    #[test]
    fn what_measuring_itself_makes_is_no_difference() {
        assert_eq!(measured(0, 5_000, 0, 0), 0);
        assert_eq!(measured(0, 100_000, 0, 200_000), 0);
        assert_eq!(measured(60_000_000, 60_004_000, 0, 0), 60_000_000, "it stays what it is");
        assert_eq!(measured(60_000_000, 3_000, 0, 0), 0, "and goes as a whole");
    }

    #[test]
    fn a_slow_answer_says_nothing() {
        assert_eq!(measured(0, 60_000_000, 0, 600_000), 0);
    }

    #[test]
    fn a_time_that_goes_to_the_yard_and_comes_back_is_the_same() {
        let (skew, at) = (Skew(-3_600_000_000), Timestamp(i64::from(u32::MAX)));
        assert_eq!(skew.to_server(skew.to_yard(at)), at);
        assert_eq!(skew.reckoned(DueAt::Wall(skew.to_yard(at))), DueAt::Wall(at));
    }

    #[test]
    fn what_a_producer_said_as_a_time_is_not_changed() {
        let (skew, at) = (Skew(1_000_000), Timestamp(7));
        assert_eq!(skew.admitted(Due::At(at), DueAt::Wall(at)), DueAt::Wall(at));
        assert_eq!(
            skew.admitted(Due::At(at), DueAt::Now),
            DueAt::Wall(at),
            "it has come on the yard's clock only"
        );
        let reckoned = DueAt::Wall(Timestamp(1_000_007));
        assert_eq!(skew.admitted(Due::In(Duration::from_mins(1)), DueAt::Wall(at)), reckoned);
        assert_eq!(skew.admitted_expiry(Some(Due::At(at)), at), at);
    }
}
