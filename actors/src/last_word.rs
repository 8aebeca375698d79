//! What one worker says on its way to the Pool, and the guarantee that its end is said exactly once and last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use taskyard_core::pool;
use taskyard_core::worker::Report;

use crate::inlet::Inlet;

/// The way of one worker's reports to its Pool.
pub(crate) struct Passage {
    worker: u32,
    pool: Arc<Inlet<pool::Event>>,
    ended: AtomicBool,
}

impl Passage {
    pub(crate) fn new(worker: u32, pool: &Arc<Inlet<pool::Event>>) -> Arc<Self> {
        Arc::new(Self { worker, pool: Arc::clone(pool), ended: AtomicBool::new(false) })
    }

    /// Passes reports on, nothing after an end. Returns whether the end was among them.
    pub(crate) fn pass_on(&self, mut reports: Vec<Report>) -> bool {
        let end = reports.iter().position(|report| matches!(report, Report::Exited { .. }));
        if let Some(end) = end {
            reports.truncate(end + 1);
        }
        let ended_before = match end {
            Some(_) => self.ended.swap(true, Ordering::AcqRel),
            None => self.ended.load(Ordering::Acquire),
        };
        if ended_before {
            return false;
        }
        let worker = self.worker;
        self.pool.put(reports.into_iter().map(|report| pool::Event::Worker { worker, report }));
        end.is_some()
    }
}

/// Reports the end of a worker whose actor is dropped before the worker said so: launcher or link panicked.
pub(crate) struct LastWord(pub(crate) Arc<Passage>);

impl Drop for LastWord {
    fn drop(&mut self) {
        let status = "the launcher or the link of this worker panicked".into();
        self.0.pass_on(vec![Report::Exited { status, output: String::new() }]);
    }
}
