//! What a pool finishes while a claim is on its way to the board and back: so much is claimed beyond its free slots, so that
//! it does not run dry meanwhile. Slow tasks have none of it, and are left to whoever has a free slot.

use std::time::Duration;

use crate::time::{Instant64, Now};

/// At most so many.
const MOST: u64 = 1_000;
/// Of what part of a dispatch the measure is kept.
const SCALE: u64 = 16;
/// By what part the measure follows the latest claim.
const SMOOTHING: i64 = 4;
/// A claim that took so long met with a failure, and says nothing of the pool.
const TOO_LONG: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// How many ended so far.
    ended: u64,
    /// How many had when the claim was asked for, and when that was.
    at_ask: (u64, Instant64),
    /// How many end during a claim, in parts.
    smoothed: u64,
}

impl Pace {
    pub(super) fn ended(&mut self) {
        self.ended += 1;
    }

    pub(super) fn claim_asked(&mut self, now: Now) {
        self.at_ask = (self.ended, now.mono);
    }

    pub(super) fn claim_answered(&mut self, now: Now) {
        let (ended, asked) = self.at_ask;
        if asked + TOO_LONG < now.mono {
            return;
        }
        let measured = (self.ended - ended).min(MOST) * SCALE;
        let change = (measured as i64 - self.smoothed as i64) / SMOOTHING;
        self.smoothed = self.smoothed.saturating_add_signed(change);
    }

    pub(super) fn reserve(self) -> usize {
        (self.smoothed / SCALE) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(pace: &mut Pace, ended: u64, took: Duration) -> usize {
        let now = Now::default();
        pace.claim_asked(now);
        (0..ended).for_each(|_| pace.ended());
        pace.claim_answered(Now { mono: now.mono + took, ..now });
        pace.reserve()
    }

    const QUICK: Duration = Duration::from_millis(2);

    #[test]
    fn it_follows_what_ends_during_claims_and_is_bounded() {
        let mut pace = Pace::default();
        assert_eq!(claims(&mut pace, 400, QUICK), 100);
        let grown = (0..20).map(|_| claims(&mut pace, 400, QUICK)).collect::<Vec<_>>();
        assert!(grown.is_sorted() && (395..=400).contains(grown.last().unwrap()));
        let most = (0..40).map(|_| claims(&mut pace, 10_000, QUICK)).max();
        assert!((995..=1_000).contains(&most.unwrap()));
        assert_eq!((0..40).map(|_| claims(&mut pace, 0, QUICK)).min(), Some(0));
    }

    #[test]
    fn slow_tasks_have_none() {
        let mut pace = Pace::default();
        for ended in [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1] {
            assert_eq!(claims(&mut pace, ended, QUICK), 0);
        }
    }

    #[test]
    fn a_claim_whose_answer_was_lost_says_nothing() {
        let mut pace = Pace::default();
        assert_eq!(claims(&mut pace, 1_000, Duration::from_secs(5)), 0);
    }
}
