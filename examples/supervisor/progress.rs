//! How far a run of a file is, for whoever shows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Counts of a run's tasks.
#[derive(Default)]
pub(crate) struct Progress {
    taken: AtomicU64,
    ended: AtomicU64,
    all_read: AtomicBool,
}

impl Progress {
    /// One more was taken in.
    pub(crate) fn taken(&self) {
        self.taken.fetch_add(1, Relaxed);
    }

    /// One more has ended.
    pub(crate) fn ended(&self) {
        self.ended.fetch_add(1, Relaxed);
    }

    /// No more lines come.
    pub(crate) fn all_read(&self) {
        self.all_read.store(true, Relaxed);
    }

    /// How many have ended.
    pub(crate) fn done(&self) -> u64 {
        self.ended.load(Relaxed)
    }

    /// How many there are, once all lines are read.
    pub(crate) fn total(&self) -> Option<u64> {
        self.all_read.load(Relaxed).then(|| self.taken.load(Relaxed))
    }
}
