//! A memory board that several yards of one process share, as they would share a database, and that outlives each of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::board::Board;
use taskyard_core::store::{Ask, Asker, OwnerId, Reply, Request, Status};
use taskyard_core::time::Instant64;
use taskyard_core::{Machine, Now};

use crate::clock::{Clock, RealClock};
use crate::store::{Bell, Store};

/// The board. Clones are the same one.
#[derive(Clone)]
pub struct Shared(Arc<Common>);

struct Common {
    /// Leases run on it: the yards' own monotonic clocks count from when each was started.
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Set up by the first yard.
    board: Option<Board>,
    /// Of the yards that have it open.
    bells: Vec<Bell>,
    /// How many requests may have brought tasks to the board.
    changes: u64,
}

impl Default for Shared {
    fn default() -> Self {
        Self::on(Arc::new(RealClock::start()))
    }
}

impl Shared {
    /// An empty board whose leases run on this clock.
    pub fn on(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Common { clock, state: Mutex::default() }))
    }

    /// The board as one yard sees it. The first yard says how it is set up; all must have the same pools.
    pub fn open(&self, bell: Bell, set_up: impl FnOnce() -> Board) -> Box<dyn Store> {
        let mut state = self.0.lock();
        state.board.get_or_insert_with(set_up);
        state.bells.push(bell.clone());
        let seen = state.changes;
        drop(state);
        Box::new(Seat { common: Arc::clone(&self.0), bell, seen, owner: OwnerId::SOLE })
    }

    /// How many tasks are unfinished.
    pub fn unfinished(&self) -> usize {
        self.0.lock().board.as_ref().map_or(0, Board::unfinished)
    }
}

impl Common {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time by which the board answers this.
    fn now(&self, now: Now, ask: &Ask) -> Now {
        let of_leases = ask.from == Asker::Lease || matches!(*ask.request, Request::Owners);
        let mono = if of_leases { self.clock.now().mono } else { now.mono };
        Now { mono, ..now }
    }
}

/// One yard's way to the board.
struct Seat {
    common: Arc<Common>,
    bell: Bell,
    /// The changes that this yard knows of.
    seen: u64,
    owner: OwnerId,
}

impl Store for Seat {
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        let mut replies = Vec::with_capacity(asks.len());
        let mut state = self.common.lock();
        let State { board: Some(board), bells, changes } = &mut *state else { return replies };
        for ask in asks {
            self.owner = ask.owner;
            board.handle(self.common.now(now, ask), ask.clone(), &mut replies);
        }
        let up_to_date = self.seen == *changes;
        if asks.iter().any(|ask| may_bring(&ask.request)) {
            *changes += 1;
            bells.iter().filter(|bell| !bell.is(&self.bell)).for_each(Bell::ring);
        }
        if up_to_date {
            self.seen = *changes;
        }
        replies
    }

    fn look(&mut self, now: Now) -> Option<Status> {
        let mut state = self.common.lock();
        if std::mem::replace(&mut self.seen, state.changes) == state.changes {
            return None;
        }
        let request = Arc::new(Request::Count);
        let ask = Ask { owner: self.owner, from: Asker::Conductor, no: 0, request, oldest_open: 0 };
        let mut replies = Vec::new();
        state.board.as_mut()?.handle(Now { mono: Instant64::default(), ..now }, ask, &mut replies);
        replies.pop().map(|reply| reply.status)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.common.lock().bells.retain(|bell| !bell.is(&self.bell));
    }
}

/// Whether the request may make rows ready for others.
fn may_bring(request: &Request) -> bool {
    matches!(
        request,
        Request::Post { .. }
            | Request::Settle(_)
            | Request::Promote { .. }
            | Request::Reschedule { .. }
            | Request::Requeue { .. }
            | Request::Tick { .. }
            | Request::TakeOver { .. }
            | Request::Release
    )
}
