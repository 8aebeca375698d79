//! Tells the stand-in whether the thread that runs handlers is stuck in one of them. It never reads a clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

/// Counts the steps of the thread that runs handlers: odd while it is awake, even while it waits for the socket.
#[derive(Default)]
pub(super) struct Pulse {
    steps: AtomicU64,
    stand_in_sleeps: AtomicBool,
    stand_in: OnceLock<Thread>,
}

impl Pulse {
    /// The thread begins to work.
    pub(super) fn wake(&self) {
        self.steps.fetch_or(1, Ordering::SeqCst);
        if self.stand_in_sleeps.load(Ordering::SeqCst) && self.stand_in_sleeps.swap(false, Ordering::SeqCst) {
            self.stand_in.get().inspect(|thread| thread.unpark());
        }
    }

    /// The thread is about to wait for the socket itself.
    pub(super) fn rest(&self) {
        self.steps.fetch_add(1, Ordering::SeqCst);
    }

    /// The thread works and goes on to the next thing.
    pub(super) fn beat(&self) {
        self.steps.fetch_add(2, Ordering::Relaxed);
    }

    /// Where it is.
    pub(super) fn now(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    /// Whether it was awake there.
    pub(super) fn is_awake(steps: u64) -> bool {
        steps & 1 == 1
    }

    /// Called by the stand-in, once.
    pub(super) fn introduce(&self, stand_in: Thread) {
        drop(self.stand_in.set(stand_in));
    }

    /// Called by the stand-in: sleeps until the thread wakes.
    pub(super) fn sleep_until_wake(&self) {
        self.stand_in_sleeps.store(true, Ordering::SeqCst);
        while !Self::is_awake(self.now()) && self.stand_in_sleeps.load(Ordering::SeqCst) {
            std::thread::park();
        }
        self.stand_in_sleeps.store(false, Ordering::SeqCst);
    }
}
