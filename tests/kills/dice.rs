//! Random numbers that a seed repeats.

use std::time::Duration;

/// `SplitMix64`.
pub(crate) struct Dice(u64);

impl Dice {
    /// As `KILL_SEED` says; else of this moment.
    pub(crate) fn seeded() -> (u64, Self) {
        let seed = match std::env::var("KILL_SEED") {
            Ok(seed) => seed.parse().expect("KILL_SEED is a number"),
            Err(_) => (taskyard::fresh_id().0 >> 64) as u64 ^ taskyard::fresh_id().0 as u64,
        };
        (seed, Self(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }

    /// From nothing to `longest`.
    pub(crate) fn span(&mut self, longest: Duration) -> Duration {
        Duration::from_micros(self.up_to(longest.as_micros() as u64))
    }

    /// Once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.up_to(times - 1) == 0
    }
}
