//! The Blocker holds what shares a key with a task in progress, and applies the policies for duplicates.

use crate::dispatch::{Cancel, Dispatch, DispatchName, Ended};
use crate::keys::{Question, Verdict};
use crate::task::Key;

/// What the Blocker can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Delayer: a dispatch that is due.
    Dispatch(Box<Dispatch>),
    /// From the Delayer: take this out, or pass the wish on.
    Cancel(Cancel),
    /// From the Delayer: the drain mark. Everything held is given back, then the mark goes on.
    Drain,
    /// From InProgress: the answer to the one question about this key.
    Verdict(Verdict),
    /// From InProgress: the count of this key fell, and the Blocker had been told *occupied* before.
    Freed(Key),
}

/// What the Blocker wants told.
#[derive(Debug)]
pub enum Effect {
    /// To InProgress: may it go on?
    Ask(Question),
    /// To InProgress: the grant is not needed; the dispatch was taken out meanwhile.
    Release {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// To the Queuer: it may go on (granted, or without a key).
    Pass(Box<Dispatch>),
    /// To the Queuer: not here.
    Cancel(Cancel),
    /// To the Queuer: the drain mark.
    Drain,
    /// To the Conductor: it waits for its key, and no longer counts in its pool's budget.
    Blocked(DispatchName),
    /// To the Conductor: it waits no longer (it was passed on).
    Unblocked(DispatchName),
    /// To the Conductor: taken out, dropped for a duplicate, or given back.
    Ended(Ended),
}
