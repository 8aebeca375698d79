//! What the Blocker asks InProgress about a key, and the answers.

use crate::dispatch::DispatchName;
use crate::id::TaskId;
use crate::task::Key;

/// InProgress's answer to a question about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The key.
    pub key: Key,
    /// The dispatch that was asked for.
    pub name: DispatchName,
    /// The answer.
    pub answer: KeyAnswer,
}

/// Whether a dispatch may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAnswer {
    /// It is counted as in progress from now on.
    Granted,
    /// As many are in progress as its own limit allows. InProgress remembers the interest.
    Occupied {
        /// One of those in progress.
        holder: TaskId,
    },
    /// The question counted on an interest that has been served meanwhile: a `Freed` is ahead of this answer. Ask again
    /// for the first in order.
    Stale,
}

/// A question about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The key.
    pub key: Key,
    /// For which dispatch.
    pub name: DispatchName,
    /// How many may be in progress by its own policy.
    pub running: u32,
    /// Whether others that are known to be occupied wait, so that the interest must still stand.
    pub others_wait: bool,
}
