//! The live index: what status pages and handles read without entering a mailbox.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use dashmap::DashMap;

use crate::id::{Epoch, PoolId, Sequence, TaskId};
use crate::map::Hasher;
use crate::task::Task;
use crate::time::{Instant64, Timestamp};

/// Where a dispatch is. Each stage sets its own when it takes the dispatch in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Waits for its due time in the Delayer.
    Delayed,
    /// Waits for its key in the Blocker.
    Blocked,
    /// Waits for a worker in the Queuer, or was sent ahead to one that has not started it.
    Queued,
    /// A worker runs it.
    Running,
}

/// What never changes about a dispatch, and where it is.
#[derive(Debug)]
pub struct Live {
    /// The task.
    pub task: Arc<Task>,
    /// Its order of arrival.
    pub sequence: Sequence,
    /// When it was posted.
    pub posted: Timestamp,
    /// Which pass this is.
    pub epoch: Epoch,
    /// Which counted attempt this will be, from 1.
    pub attempt: u32,
    /// Its last delivery ended unreported: it may start only after a mark was committed.
    pub suspect: bool,
    stage: AtomicU8,
    pool: AtomicU8,
    worker: AtomicU32,
    started: AtomicI64,
    progress: Mutex<Option<Box<Progress>>>,
}

/// How far a running task says it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// 0 to 1.
    pub fraction: f64,
    /// For a person.
    pub note: Option<String>,
}

const NO_POOL: u8 = u8::MAX;

impl Live {
    /// A dispatch that enters the yard.
    pub fn new(task: Arc<Task>, sequence: Sequence, posted: Timestamp, epoch: Epoch, attempt: u32) -> Self {
        Self {
            task,
            sequence,
            posted,
            epoch,
            attempt,
            suspect: false,
            stage: AtomicU8::new(Stage::Delayed as u8),
            pool: AtomicU8::new(NO_POOL),
            worker: AtomicU32::new(0),
            started: AtomicI64::new(0),
            progress: Mutex::new(None),
        }
    }

    /// The same, of a task whose last delivery ended unreported.
    #[must_use]
    pub fn suspected(self) -> Self {
        Self { suspect: true, ..self }
    }

    /// Where it is.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Relaxed) {
            0 => Stage::Delayed,
            1 => Stage::Blocked,
            2 => Stage::Queued,
            _ => Stage::Running,
        }
    }

    /// Says where it is now.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }

    /// The pool that the Queuer handed it to, if it did.
    pub fn pool(&self) -> Option<PoolId> {
        let pool = self.pool.load(Relaxed);
        (pool != NO_POOL).then_some(PoolId(pool))
    }

    /// Says which pool has it; `None`: the Queuer again.
    pub fn hand_to(&self, pool: Option<PoolId>) {
        self.pool.store(pool.map_or(NO_POOL, |pool| pool.0), Relaxed);
    }

    /// The worker that runs it, and since when; `None` before it started.
    pub fn running(&self) -> Option<(u32, Instant64)> {
        (self.stage() == Stage::Running)
            .then(|| (self.worker.load(Relaxed), Instant64(self.started.load(Relaxed))))
    }

    /// A worker started it.
    pub fn start(&self, worker: u32, at: Instant64) {
        self.worker.store(worker, Relaxed);
        self.started.store(at.0, Relaxed);
        self.enter(Stage::Running);
    }

    /// What the handler last said of its progress.
    pub fn progress(&self) -> Option<Progress> {
        self.progress.lock().ok()?.as_deref().cloned()
    }

    /// The handler says how far it is.
    pub fn set_progress(&self, progress: Progress) {
        if let Ok(mut slot) = self.progress.lock() {
            *slot = Some(Box::new(progress));
        }
    }
}

/// All live dispatches by task id. The Conductor inserts and removes, two operations a task; others only look.
pub type LiveIndex = DashMap<TaskId, Arc<Live>, Hasher>;
