//! The Delayer holds what is not due yet and lets it go in order of due time, never early.

use crate::dispatch::{Cancel, Dispatch, Ended};

/// What the Delayer can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Conductor: a dispatch to hold until it is due.
    Dispatch(Box<Dispatch>),
    /// From the Conductor: take this out, or pass the wish on.
    Cancel(Cancel),
    /// From the Conductor: the drain mark. Everything held is given back, then the mark goes on.
    Drain,
}

/// What the Delayer wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the Blocker: it is due.
    Release(Box<Dispatch>),
    /// To the Blocker: not here.
    Cancel(Cancel),
    /// To the Blocker: the drain mark.
    Drain,
    /// To the Conductor: taken out, or given back.
    Ended(Ended),
}
