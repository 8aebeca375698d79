//! What the Conductor wants told.

use super::answer::{Answer, Happened};
use crate::dispatch::{Cancel, Dispatch, DispatchName};
use crate::id::{PoolId, Token};
use crate::store::Ask;

/// What the Conductor wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the board.
    Ask(Ask),
    /// To the Lease, each second: the yard is alive.
    Pulse,
    /// To the Lease: all is settled, the registration can go.
    Release,
    /// To a Pool: the mark is committed, the dispatch may start.
    Go {
        /// The pool.
        pool: PoolId,
        /// The dispatch.
        name: DispatchName,
    },
    /// To the Delayer: a dispatch begins.
    Dispatch(Box<Dispatch>),
    /// To the Delayer: take this out.
    Cancel(Cancel),
    /// To the Delayer: the drain mark.
    Drain,
    /// To the edge: an answer.
    Answer(Token, Answer),
    /// To the edge: something happened to a task, for whoever observes.
    Happened(Happened),
    /// To a Pool: see [`pool::Event::Force`](crate::pool::Event::Force).
    Force(PoolId),
    /// To a Pool.
    Scale {
        /// The pool.
        pool: PoolId,
        /// At least so many workers.
        min: u32,
        /// At most so many.
        max: u32,
    },
    /// To a Pool.
    Pause {
        /// The pool.
        pool: PoolId,
        /// Whether it pauses.
        paused: bool,
    },
    /// To a Pool: it says to the edge how it is.
    Look {
        /// The pool.
        pool: PoolId,
        /// For whom.
        reply: Token,
    },
}
