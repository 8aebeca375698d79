//! How pools and workers look to whoever asks for their status.

use crate::id::TaskId;
use crate::time::Instant64;

/// A pool, as status pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// When this was so, on the yard's monotonic clock.
    pub at: Instant64,
    /// At least so many workers.
    pub min: u32,
    /// At most so many.
    pub max: u32,
    /// Its workers, lowest number first.
    pub workers: Vec<WorkerStatus>,
    /// How many dispatches may be claimed for it.
    pub capacity: usize,
    /// How many tasks wait that count as its demand.
    pub demand: usize,
    /// Whether it takes nothing new for now.
    pub paused: bool,
    /// Whether its workers die at start, or too many of them are stuck.
    pub degraded: bool,
    /// Whether it is known which names its workers know.
    pub learned: bool,
    /// What it has seen.
    pub counters: Counters,
}

/// What a pool has seen, for status pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Dispatches received from the Queuer.
    pub received: u64,
    /// Dispatches that ended here.
    pub ended: u64,
    /// Dispatches that went back to the Queuer.
    pub returned: u64,
    /// Workers launched.
    pub launched: u64,
    /// Workers that died before they were ready.
    pub failed_starts: u64,
    /// Workers that broke the protocol.
    pub faults: u64,
}

/// The states of a worker: `Starting → Idle ⇄ Busy → Stopping → Exited`.
///
/// | state | counts as capacity | may take a task |
/// |---|---|---|
/// | `Starting` | yes | |
/// | `Idle` | yes | yes |
/// | `Busy` | yes | while it has a slot |
/// | `Stopping` | | |
/// | `Exited` | | |
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was launched and is not ready yet.
    Starting,
    /// It has nothing to run.
    Idle,
    /// It has something to run.
    Busy,
    /// It was told to end.
    Stopping,
    /// It is gone.
    Exited,
}

impl State {
    /// Whether such a worker is one that the pool's size counts on.
    pub const fn counts_as_capacity(self) -> bool {
        matches!(self, Self::Starting | Self::Idle | Self::Busy)
    }

    /// Whether such a worker may be given a task if it has room for one.
    pub const fn may_take(self) -> bool {
        matches!(self, Self::Idle | Self::Busy)
    }
}

/// A worker, as status pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    /// Its number in the pool.
    pub number: u32,
    /// What it does.
    pub state: State,
    /// The tasks in its slots, in sending order.
    pub running: Vec<TaskId>,
    /// How many tasks it has done.
    pub done: u32,
    /// Since when it is in this state.
    pub since: Instant64,
}
