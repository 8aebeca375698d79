//! What a request is for, and so for whom its answer is.

use super::admission::Open;
use crate::dispatch::DispatchName;
use crate::id::{PoolId, Token};

/// What a request is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A post of new tasks, from these submissions.
    Post(Vec<Open>),
    /// A claim or preload of so many at most.
    Claim { pool: PoolId, ready: usize, near: usize },
    /// Settlements.
    Settle,
    /// A mark of this start.
    Mark(DispatchName),
    /// A promotion.
    Promote,
    /// What ended long ago is forgotten.
    Prune,
    /// A cancel, by the operation's number.
    Cancel(u64),
    /// A reschedule.
    Reschedule(Token),
    /// Somebody waits for a task's outcome and may be late.
    Watch(Token),
    /// Somebody waits for the outcome of a task that ended here and is another's: not refused, as nobody asked.
    Follow(Token),
    /// Somebody wants to know; the answer is passed on.
    Query(Token),
    /// How tasks ended that are waited for.
    Outcomes,
    /// What is left when the yard has drained.
    Left,
    /// Names that were learned.
    Learn,
    /// What the board says this owner has.
    Held,
    /// More about what this owner has and knows nothing of.
    Strays,
}

impl Purpose {
    /// Whether somebody at the edge waits who can be told that the store fails.
    pub(super) fn can_be_refused(&self) -> bool {
        matches!(self, Self::Post(_) | Self::Watch(_) | Self::Query(_))
    }

    /// Whether it is about what an owner has, and so about nothing once that owner is gone.
    pub(super) fn ends_with_the_owner(&self) -> bool {
        matches!(self, Self::Claim { .. } | Self::Settle | Self::Mark(_) | Self::Held | Self::Strays)
    }
}
