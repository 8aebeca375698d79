//! InProgress is the one authority on keys: it aggregates what Queuer and Pool report and grants or refuses.

use crate::dispatch::{DispatchName, Ended};
use crate::keys::{Question, Verdict};
use crate::task::Key;

/// What InProgress can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Blocker: may it go on?
    Ask(Question),
    /// From the Blocker: a grant that is not needed after all.
    Release {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From the Queuer: a granted dispatch waits for a worker.
    Queued {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From a Pool: a granted dispatch began to run.
    Started {
        /// The key.
        key: Key,
        /// The dispatch.
        name: DispatchName,
    },
    /// From the Queuer or a Pool: a dispatch (with or without a key) ended. Its grant is released, then it goes on.
    Ended(Ended),
}

/// What InProgress wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the Blocker: the answer.
    Verdict(Verdict),
    /// To the Blocker: the count of a key that it was told is occupied fell.
    Freed(Key),
    /// To the Conductor: a dispatch ended; its key is free already.
    Ended(Ended),
}
