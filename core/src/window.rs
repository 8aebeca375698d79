//! How a Pool tells the Queuer what it takes.

use crate::id::PoolId;

/// How many dispatches a pool takes: a sliding window over their running number. The Queuer numbers what it passes to a
/// pool from 1 and never passes one numbered beyond `up_to`; a window that shrinks takes effect for what is not on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The pool.
    pub pool: PoolId,
    /// The number of the last dispatch that it takes.
    pub up_to: u64,
    /// How many more tasks could run if the pool grew to its `max`, those included for which a worker is starting; 0 while
    /// it can't grow.
    pub headroom: usize,
}
