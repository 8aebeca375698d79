//! What a durable store is to the actors: it answers the Board's requests, on a thread of its own.
//!
//! - [`Store`]: what SQLite, Postgres and a shared memory board are · [`Bell`] how one says that others changed it
//! - [`open`]: its thread · [`Gateway`] the actor in front of it · [`Health`] how it is

mod batch;
mod bell;
mod clerk;
mod gateway;
mod health;

pub use bell::Bell;
pub use gateway::{Closing, Gateway, Opened, open};
pub use health::{Health, StoreDown, StoreStatus};

use std::time::Duration;

use taskyard_core::Now;
use taskyard_core::store::{Ask, Reply, Status};

/// A store that outlives the yard. It is asked on one thread, so its calls may block.
///
/// # What it promises
/// One reply per request, in order, after the commit. The requests of one call are committed together or, if one of them
/// meets a fault of its own, one by one; each is done whole or not at all. A request that was answered and is asked again
/// gets the same answer (what it said is kept until [`Ask::oldest_open`] passes it); one whose first answer was an error is
/// done at most once.
///
/// # Clocks
/// Due times and expiries are compared with `now.wall`; so nothing here reads a clock for them. Leases run on a clock that
/// the store shares with all who use it: boot time (SQLite), the server's (Postgres).
pub trait Store: Send {
    /// Answers a batch of requests in one commit.
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply>;

    /// How the board stands if others may have changed it since the last call of either method; `None`: nobody did. Called
    /// about once a second, and after the store rang its [`Bell`].
    fn look(&mut self, now: Now) -> Option<Status>;

    /// How long each of the next calls may take; `None`: as long as the store thinks fit. What is not known by then must be
    /// given up: the lease is taken for lost at that moment, and what runs has to be ended before others may run it. A store
    /// that nobody else can reach while this yard can't need not heed it.
    fn limit(&mut self, _span: Option<Duration>) {}
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        (**self).answer(now, asks)
    }

    fn look(&mut self, now: Now) -> Option<Status> {
        (**self).look(now)
    }

    fn limit(&mut self, span: Option<Duration>) {
        (**self).limit(span);
    }
}
