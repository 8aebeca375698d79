//! What producers say of themselves, for whoever asks. Counts, and decides nothing.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// What a producer pulls from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A Unix socket.
    Socket,
    /// A file or standard input.
    File,
    /// A schedule.
    Schedule,
    /// The list of tasks that are posted at the start.
    OnStart,
}

/// What a producer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It pulls.
    Running,
    /// The board is full: it pulls nothing until there is room.
    Full,
    /// It failed and is run again after a while.
    Failed,
    /// Its source has no more.
    Done,
}

/// What a producer says of itself.
#[derive(Debug)]
pub struct Status {
    name: String,
    kind: Kind,
    received: AtomicU64,
    rejected: AtomicU64,
    /// How many of its submissions wait for room.
    waiting: AtomicUsize,
    now: Mutex<(State, Option<String>)>,
}

/// The same at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// What tells it from the others.
    pub name: String,
    /// What it pulls from.
    pub kind: Kind,
    /// What it does.
    pub state: State,
    /// How many messages came, refused ones included.
    pub received: u64,
    /// How many of them were refused.
    pub rejected: u64,
    /// Why it failed the last time, if it ever did.
    pub last_error: Option<String>,
}

impl Status {
    fn new(kind: Kind, name: String) -> Self {
        let now = Mutex::new((State::Running, None));
        Self {
            name,
            kind,
            received: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            now,
        }
    }

    /// What tells it from the others.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is now.
    pub fn snapshot(&self) -> Snapshot {
        let (mut state, last_error) = self.lock().clone();
        if state == State::Running && self.waiting.load(Relaxed) > 0 {
            state = State::Full;
        }
        Snapshot {
            name: self.name.clone(),
            kind: self.kind,
            state,
            received: self.received.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            last_error,
        }
    }

    pub(super) fn received(&self, messages: usize) {
        self.received.fetch_add(messages as u64, Relaxed);
    }

    pub(super) fn rejected(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    /// Something waits for room, until the guard is dropped.
    pub(super) fn wait_for_room(self: &Arc<Self>) -> WaitsForRoom {
        self.waiting.fetch_add(1, Relaxed);
        WaitsForRoom(Arc::clone(self))
    }

    pub(super) fn enter(&self, state: State) {
        self.lock().0 = state;
    }

    pub(super) fn failed(&self, error: &str) {
        *self.lock() = (State::Failed, Some(error.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, (State, Option<String>)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While this is there, its producer waits for room.
pub(super) struct WaitsForRoom(Arc<Status>);

impl Drop for WaitsForRoom {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

/// All producers of a yard.
#[derive(Debug, Default)]
pub struct Roster(Mutex<Vec<Arc<Status>>>);

impl Roster {
    /// A new producer.
    pub fn enter(&self, kind: Kind, name: impl Into<String>) -> Arc<Status> {
        let status = Arc::new(Status::new(kind, name.into()));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&status));
        status
    }

    /// How each is now, in the order in which they came.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|status| status.snapshot()).collect()
    }
}
