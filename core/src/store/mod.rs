//! The board's requests and replies: what the Conductor (and the Lease) ask, and what every store (memory, SQLite, Postgres)
//! answers.
//!
//! A request is shared and numbered, so that it can be asked again after a lost reply: each is idempotent.

mod answer;
mod owner;
mod request;
mod view;

use std::sync::Arc;

pub use answer::{
    Answer, BatchState, Claimed, Known, Posted, Refusal, RescheduleAnswer, ScheduleState, Settled, Ticked,
};
pub use owner::{OwnerId, OwnerView, Registration, Renewal, others_take};
pub use request::{BatchId, Filter, NewRow, PoolRoom, Request, Room, Settle, Settlement};
pub use view::{AttemptEnd, AttemptRecord, Counts, RowState, TaskView};

use crate::id::PoolSet;
use crate::time::{Timestamp, earlier};

/// A numbered request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The registration under which it is asked. The board refuses one that was fenced.
    pub owner: OwnerId,
    /// Who gets the reply.
    pub from: Asker,
    /// Rises with each new request of this asker; a repetition keeps it.
    pub no: u64,
    /// What is asked.
    pub request: Arc<Request>,
    /// Every request of this asker before this number was answered, and the answer came: the board may forget what it said.
    pub oldest_open: u64,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asker {
    /// For everything about tasks.
    Conductor,
    /// For the registration of the owner.
    Lease,
}

/// The answer to the request of the same number.
#[derive(Debug)]
pub struct Reply {
    /// For whom.
    pub to: Asker,
    /// Which request.
    pub no: u64,
    /// The answer.
    pub answer: Result<Answer, StoreError>,
    /// How the board stands after it; says nothing beside an error.
    pub status: Status,
}

/// What waits on the board, as far as this yard is concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Pools for which rows are ready.
    pub ready: PoolSet,
    /// Pools for which rows are to be judged.
    pub unjudged: PoolSet,
    /// When the first parked row is due.
    pub next_due: Option<Timestamp>,
    /// When the first unclaimed row expires.
    pub next_expiry: Option<Timestamp>,
}

impl Status {
    /// Both together.
    pub fn or(self, other: Self) -> Self {
        Self {
            ready: self.ready.union(other.ready),
            unjudged: self.unjudged.union(other.unjudged),
            next_due: earlier(self.next_due, other.next_due),
            next_expiry: earlier(self.next_expiry, other.next_expiry),
        }
    }
}

/// Why the store did not answer. But for [`Fenced`](Self::Fenced) the request can be asked again, under its number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The asking owner's lease was taken: what it held is another's.
    #[error("this dispatcher's lease ended and another took its tasks over")]
    Fenced,
    /// Nothing was done; another attempt may succeed at any time (locked by another process, connecting).
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// Nothing was done, and will not be until somebody mends it (disk full, read-only).
    #[error("the store refuses to write: {0}")]
    Unwritable(String),
    /// It was done, or it was not: the connection broke in between.
    #[error("the store broke off: {0}")]
    Unknown(String),
}
