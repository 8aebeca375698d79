//! The Queuer holds what waits for a worker, by lane, and passes the first in order to whichever pool has room.

use crate::dispatch::{Cancel, Dispatch, DispatchName, Ended};
use crate::id::PoolId;
use crate::names::TaskName;
use crate::task::Key;
use crate::window::Window;

/// What the Queuer can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Blocker: a dispatch that may run.
    Dispatch(Box<Dispatch>),
    /// From the Blocker: take this out, or pass the wish on to the pool that has it.
    Cancel(Cancel),
    /// From the Blocker: the drain mark. Everything held is given back, then the mark goes to every pool.
    Drain,
    /// From a Pool: how many dispatches it takes.
    Window(Window),
    /// From a Pool: a dispatch for which it has no worker any more; back to its old place, with its key.
    Returned(Box<Dispatch>),
    /// From a Pool: its workers know these names (all of them).
    Learned {
        /// The pool.
        pool: PoolId,
        /// The names.
        names: Vec<TaskName>,
    },
}

/// What the Queuer wants told.
#[derive(Debug)]
pub enum Effect {
    /// To a Pool: run this.
    Dispatch(PoolId, Box<Dispatch>),
    /// To a Pool: how many tasks wait that count as its demand.
    Demand(PoolId, usize),
    /// To a Pool: it was handed to you.
    Cancel(PoolId, Cancel),
    /// To a Pool: the drain mark.
    Drain(PoolId),
    /// To InProgress: a dispatch with a key waits for a worker.
    Queued {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// To InProgress: taken out or given back.
    Ended(Ended),
    /// To the Conductor: nobody has it now; it is on its way somewhere.
    Missed(Cancel),
}
