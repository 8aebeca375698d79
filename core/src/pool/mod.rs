//! A Pool keeps its workers at the right number and gives each what it can run; it keeps the time of what runs.

mod ahead;
mod alarms;
mod cancels;
mod crew;
mod drain;
mod exits;
mod intake;
mod ladder;
mod machine;
mod pace;
mod reports;
mod scale;
mod stalls;
mod starts;
mod status;
mod suspects;
#[cfg(test)]
mod tests;
mod voice;
mod worker;

use std::time::Duration;

use crate::dispatch::{Cancel, Dispatch, DispatchName, Ended};
use crate::id::{PoolId, Token, WorkerId};
use crate::names::TaskName;
use crate::status::PoolStatus;
use crate::task::Key;
use crate::window::Window;
use crate::worker::{Command, Report};

pub use machine::Pool;

/// What a Pool can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Queuer: run this.
    Dispatch(Box<Dispatch>),
    /// From the Conductor: the mark is committed, so this may start; see [`Effect::MayStart`].
    Go(DispatchName),
    /// From the Queuer: how many tasks wait that count as this pool's demand.
    Demand(usize),
    /// From the Queuer: take this out, or tell it to end.
    Cancel(Cancel),
    /// From the Queuer: the drain mark. What was sent ahead is recalled, what runs has `drain_grace`.
    Drain,
    /// From the Conductor: end what runs now, without waiting for `drain_grace` (a second signal).
    Force,
    /// From the Conductor: other bounds.
    Scale {
        /// At least so many workers.
        min: u32,
        /// At most so many.
        max: u32,
    },
    /// From the Conductor: takes nothing new, or does again.
    Pause(bool),
    /// From the Conductor: somebody at the edge looks. Answer: [`Effect::Status`].
    Look(Token),
    /// From a worker.
    Worker {
        /// Its number.
        worker: u32,
        /// What it says.
        report: Report,
    },
}

/// What a Pool wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the Queuer: how many dispatches it takes.
    Window(Window),
    /// To the Queuer: no worker for it any more (or none yet); it keeps its place and its key.
    Returned(Box<Dispatch>),
    /// To `InProgress`: a dispatch with a key began to run.
    Started {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// To `InProgress`: a dispatch ended.
    Ended(Ended),
    /// To the Conductor: a slot is held for a dispatch whose last delivery ended unreported; may it start? Without an
    /// [`Event::Go`] within 5 s it is returned, uncounted.
    MayStart {
        /// The pool.
        pool: PoolId,
        /// The dispatch.
        name: DispatchName,
    },
    /// To the Conductor: the cancel met a running task (which was told, if the reason is a user's).
    Told(Cancel),
    /// To the Conductor: it is not here.
    Missed(Cancel),
    /// To the Conductor: how many dispatches it may have claimed for this pool: `max` × concurrency plus what may be sent
    /// ahead; 1 while degraded, 0 while paused.
    Capacity {
        /// The pool.
        pool: PoolId,
        /// The number.
        slots: usize,
    },
    /// To the Conductor: its workers know these names (all of them).
    Learned {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
    /// To the Queuer: the same.
    Known {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
    /// To the Conductor: after the drain mark, its last worker is gone.
    Drained(PoolId),
    /// To the edge: how it is.
    Status(Token, Box<PoolStatus>),
    /// To a worker.
    Worker {
        /// Which, always one of this pool.
        worker: WorkerId,
        /// What to do.
        command: Command,
    },
}

/// How a pool is set up. Checked by whoever reads the configuration: `min <= max`, `max >= 1`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// At least so many workers.
    pub min: u32,
    /// At most so many workers.
    pub max: u32,
    /// The names that its workers know; `None`: one worker is started to learn them.
    pub names: Option<Vec<TaskName>>,
    /// The concurrency to count on before a worker has said its own.
    pub concurrency: u32,
    /// Whether a worker can be killed; a thread can't.
    pub killable: bool,
    /// How many workers that can't be killed may be stuck and replaced before the pool counts as degraded.
    pub max_stuck: u32,
    /// Workers that idle beyond `spare` for this long go, down to `min`.
    pub idle_for: Duration,
    /// How many idle workers are kept whatever the demand.
    pub spare: u32,
    /// How long a worker may take to get ready, and later to start a task for which it has a slot.
    pub ready_within: Duration,
    /// The time limit of tasks that have none of their own.
    pub timeout: Option<Duration>,
    /// From `cancel` to SIGTERM.
    pub grace: Duration,
    /// From SIGTERM to SIGKILL.
    pub kill_after: Duration,
    /// How long running tasks have after a drain mark.
    pub drain_grace: Duration,
    /// A worker that is older leaves after its task.
    pub max_age: Option<Duration>,
    /// A worker that ran so many tasks leaves.
    pub max_tasks: Option<u32>,
    /// A worker whose resident memory is larger leaves after its task; while a task runs it is killed.
    pub memory_limit: Option<u64>,
    /// Whether short tasks may be sent ahead to busy workers.
    pub send_ahead: bool,
    /// So many deaths at start within `restart_period` make the pool degraded.
    pub restart_intensity: u32,
    /// See `restart_intensity`.
    pub restart_period: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min: 0,
            max: 1,
            names: None,
            concurrency: 1,
            killable: true,
            max_stuck: 4,
            idle_for: Duration::from_secs(30),
            spare: 0,
            ready_within: Duration::from_secs(30),
            timeout: None,
            grace: Duration::from_secs(5),
            kill_after: Duration::from_secs(2),
            drain_grace: Duration::from_secs(10),
            max_age: None,
            max_tasks: None,
            memory_limit: None,
            send_ahead: true,
            restart_intensity: 3,
            restart_period: Duration::from_secs(5),
        }
    }
}
