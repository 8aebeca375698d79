//! The basket's keeper: when the board is to be asked to promote what is due, to let what is due soon into the yard, and to
//! forget what ended long ago. It sleeps until the first parked row comes near; on a shared board it looks now and then all
//! the same, as others put rows there too. It asks nothing itself and knows no row.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::rest::Rest;
use crate::id::{PoolId, PoolSet};
use crate::store::Status;
use crate::time::{Instant64, Now, Timestamp, Wakeup, earlier};

/// How often a shared board is looked at though nothing is known to be due.
const POLL: Duration = Duration::from_secs(5);
/// How often a shared board is asked to forget.
const PRUNE: Duration = Duration::from_mins(1);

/// What the board last said of rows that wait for time, and what was made of it.
#[derive(Debug)]
pub(super) struct Basket {
    horizon: Duration,
    all_pools: PoolSet,
    next_due: Option<Timestamp>,
    next_expiry: Option<Timestamp>,
    /// What is due before this was asked for already; what is left of it found no room.
    looked_before: Option<Timestamp>,
    /// Pools for which something may be due soon.
    pub(super) near: PoolSet,
    /// What was known to be due when a promotion was asked for that is not answered yet.
    promoting: Option<Heads>,
    rest: Rest,
    polls: Option<Polls>,
}

type Heads = (Option<Timestamp>, Option<Timestamp>);

/// When a shared board is looked at.
#[derive(Debug)]
struct Polls {
    promote: Instant64,
    /// `None`: the board is at it.
    prune: Option<Instant64>,
}

/// What the board is to be asked now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Chores {
    pub(super) promote: bool,
    pub(super) prune: bool,
}

impl Basket {
    pub(super) fn new(horizon: Duration, all_pools: PoolSet, shared: bool) -> Self {
        let start = Instant64::default();
        Self {
            horizon,
            all_pools,
            next_due: None,
            next_expiry: None,
            looked_before: None,
            near: PoolSet::default(),
            promoting: None,
            rest: Rest::default(),
            polls: shared.then(|| Polls { promote: start, prune: Some(start + PRUNE) }),
        }
    }

    /// So it stands, by the board's latest answer or what others hinted.
    pub(super) fn stands(&mut self, status: &Status) {
        self.next_due = status.next_due;
        self.next_expiry = status.next_expiry;
    }

    /// Nothing that was heard before is of use.
    pub(super) fn poll_at_once(&mut self) {
        if let Some(polls) = &mut self.polls {
            polls.promote = Instant64::default();
        }
    }

    /// A claim brought something: there may be room for more.
    pub(super) fn goes_on(&mut self) {
        self.rest.end();
    }

    /// A pool takes tasks again: what was left when it took none may come.
    pub(super) fn goes_on_for(&mut self, pool: PoolId) {
        if self.next_due.is_some() && self.next_due < self.looked_before {
            self.near.insert(pool);
        }
    }

    /// Whether what is due soon is to be asked for. What is due already is promoted before, however much it is: else it would
    /// come beyond what the pool has slots for, and overtake what is older.
    pub(super) fn wants_near(&self, now: Now, pool: PoolId) -> bool {
        self.near.contains(pool) && self.next_due.is_none_or(|due| due > now.wall)
    }

    /// What is to be asked now. It counts as asked then.
    pub(super) fn look(&mut self, now: Now) -> Chores {
        self.look_ahead(now);
        Chores { promote: self.look_for_due(now), prune: self.look_for_old(now) }
    }

    fn look_ahead(&mut self, now: Now) {
        let before = now.wall + self.horizon;
        let near = self.next_due.is_some_and(|due| due < before);
        if near && self.looked_before.is_none_or(|looked| self.next_due >= Some(looked)) {
            self.looked_before = Some(before);
            self.near = self.all_pools;
        }
    }

    fn look_for_due(&mut self, now: Now) -> bool {
        let rested = self.rest.is_over(now);
        let polled = self.polls.as_ref().is_some_and(|polls| polls.promote <= now.mono);
        let asked = self.promoting.is_none() && (polled || rested && self.is_due(now));
        if asked {
            self.promoting = Some((self.next_due, self.next_expiry));
        }
        if let Some(polls) = self.polls.as_mut().filter(|_| asked) {
            polls.promote = now.mono + POLL;
        }
        asked
    }

    fn is_due(&self, now: Now) -> bool {
        earlier(self.next_due, self.next_expiry).is_some_and(|at| at <= now.wall)
    }

    fn look_for_old(&mut self, now: Now) -> bool {
        let Some(polls) = &mut self.polls else { return false };
        let asked = polls.prune.is_some_and(|at| at <= now.mono);
        if asked {
            polls.prune = None;
        }
        asked
    }

    /// The board promoted what it found, and [stands](Self::stands) as it said then.
    pub(super) fn promoted(&mut self, now: Now, expired: usize) {
        let before = self.promoting.take();
        let in_vain = expired == 0 && before == Some((self.next_due, self.next_expiry));
        if in_vain && self.is_due(now) {
            self.rest.was_in_vain(now);
        } else {
            self.rest.end();
        }
    }

    /// The board forgot what it found.
    pub(super) fn pruned(&mut self, now: Now, more: bool) {
        if let Some(polls) = &mut self.polls {
            polls.prune = Some(if more { now.mono } else { now.mono + PRUNE });
        }
    }

    pub(super) fn next_wakeup(&self) -> Wakeup {
        let prune = self.polls.as_ref().and_then(|polls| polls.prune);
        self.next_look().or(Wakeup::mono(prune))
    }

    fn next_look(&self) -> Wakeup {
        let poll = Wakeup::mono(self.polls.as_ref().map(|polls| polls.promote));
        match (self.promoting, self.rest.until()) {
            (Some(_), _) => Wakeup::NEVER,
            (None, Some(rested)) => Wakeup::mono(Some(rested)),
            (None, None) => Wakeup::wall(earlier(self.next_head(), self.next_expiry)).or(poll),
        }
    }

    /// When the first parked row is near, or, once it was asked for in vain, due.
    fn next_head(&self) -> Option<Timestamp> {
        self.next_due.map(|due| match self.looked_before {
            Some(before) if due < before => due,
            // A row that is due in exactly one horizon stays parked.
            _ => Timestamp((due - self.horizon).0.saturating_add(1)),
        })
    }
}
