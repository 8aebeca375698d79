//! A schedule decides which of its ticks are due, what becomes of missed ones, and when to look again. It submits
//! nothing, and knows no calendar: ticks come from [`Ticks`].

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::time::{Timestamp, Wakeup, micros};

/// A tick that is later than this, or that was followed by another, was missed.
pub const MISSED_AFTER: Duration = Duration::from_mins(1);
/// At most so many missed ticks are made up for: the newest.
pub const CATCH_UP_MAX: usize = 1_000;

/// When something happens again and again.
pub trait Ticks: Send {
    /// The first tick later than `time`; `None`: there is no more.
    fn next_after(&self, time: Timestamp) -> Option<Timestamp>;

    /// The last tick later than `after` and not later than `until`. As given here it looks for it by halves, in at most
    /// 64 questions, so that a long absence costs no more than a short one.
    fn last_within(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let is_followed = |time| self.next_after(Timestamp(time)).is_some_and(|tick| tick <= until);
        if !is_followed(after.0) {
            return None;
        }
        let (mut followed, mut last) = (after.0, until.0);
        while last.abs_diff(followed) > 1 {
            let middle = followed.midpoint(last);
            if is_followed(middle) {
                followed = middle;
            } else {
                last = middle;
            }
        }
        Some(Timestamp(last))
    }
}

/// A tick at `anchor` and then one per interval, on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    interval: i64,
    anchor: Timestamp,
}

impl Every {
    /// `None` for an interval of less than a microsecond.
    pub fn new(interval: Duration, anchor: Timestamp) -> Option<Self> {
        let interval = micros(interval);
        (interval > 0).then_some(Self { interval, anchor })
    }
}

impl Ticks for Every {
    fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        if time < self.anchor {
            return Some(self.anchor);
        }
        let into = i128::from(time.0) - i128::from(self.anchor.0);
        let next = i128::from(time.0) - into % i128::from(self.interval) + i128::from(self.interval);
        i64::try_from(next).ok().map(Timestamp)
    }
}

/// What becomes of ticks that were [missed](MISSED_AFTER) while nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Nothing.
    Skip,
    /// One run for all of them: the last.
    #[default]
    One,
    /// A run for each, at most [`CATCH_UP_MAX`].
    All,
}

/// See the [module](self).
pub struct Schedule {
    name: Box<str>,
    ticks: Box<dyn Ticks>,
    catch_up: CatchUp,
    jitter: Duration,
    /// All ticks up to here are done with. It never goes back, so that no tick runs twice after a step of the clock.
    done: Timestamp,
}

impl Schedule {
    /// A schedule whose ticks up to `done` are done with: the last one that ran, or the time at which it begins.
    /// Each tick is put off by its own part of `jitter`, the same on every node, but never up to the tick after it.
    pub fn new(
        name: &str,
        ticks: Box<dyn Ticks>,
        catch_up: CatchUp,
        jitter: Duration,
        done: Timestamp,
    ) -> Self {
        Self { name: name.into(), ticks, catch_up, jitter, done }
    }

    /// Up to which tick all is done with; what to keep for [`new`](Self::new) over a restart.
    pub fn done(&self) -> Timestamp {
        self.done
    }

    /// The ticks to run now, oldest first, each by the time that it stands for. Each tick is given at most once.
    pub fn due(&mut self, now: Timestamp) -> Vec<Timestamp> {
        let Some(last) = self.last_due(now) else { return Vec::new() };
        let ticks = match self.catch_up {
            CatchUp::Skip if self.start(last) + MISSED_AFTER < now => Vec::new(),
            CatchUp::Skip | CatchUp::One => vec![last],
            CatchUp::All => self.newest_until(last),
        };
        self.done = last;
        ticks
    }

    /// When the next tick is due.
    pub fn next_wakeup(&self) -> Wakeup {
        Wakeup::wall(self.ticks.next_after(self.done).map(|tick| self.start(tick)))
    }

    /// The newest tick that is not done with and whose start has come. Since a start lies before the next tick, only the
    /// newest of those that passed may still have to wait.
    fn last_due(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.ticks.last_within(self.done, now)?;
        if self.start(last) <= now {
            return Some(last);
        }
        self.ticks.last_within(self.done, Timestamp(last.0 - 1))
    }

    fn newest_until(&self, last: Timestamp) -> Vec<Timestamp> {
        let before = |tick: &Timestamp| self.ticks.last_within(self.done, Timestamp(tick.0 - 1));
        let mut ticks: Vec<_> = std::iter::successors(Some(last), before).take(CATCH_UP_MAX).collect();
        ticks.reverse();
        ticks
    }

    /// The tick, put off by its part of the jitter.
    fn start(&self, tick: Timestamp) -> Timestamp {
        let gap = self.ticks.next_after(tick).map_or(i64::MAX, |next| next.since(tick));
        let room = micros(self.jitter).min(gap).max(1) as u64;
        tick + Duration::from_micros(self.dice(tick) % room)
    }

    /// The same number for the same name and tick, on every node and at every look.
    fn dice(&self, tick: Timestamp) -> u64 {
        let mut bytes = [0; 8];
        blake3::Hasher::new_derive_key("taskyard schedule jitter 1")
            .update(&tick.0.to_le_bytes())
            .update(self.name.as_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
