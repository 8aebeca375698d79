//! Where a task goes on a board and in which order: pure rules, the same for every store.
//!
//! What is written down of a row, and where, is each store's own.

use crate::dispatch::Order;
use crate::id::{PoolId, Sequence};
use crate::store::{PoolRoom, Room, RowState};
use crate::task::{DueAt, Key, KeyLimits, Priority};
use crate::time::{Now, Timestamp};

/// The place in the order of what becomes due at `due` (see [`Order`]); `aging` in microseconds.
pub fn order(priority: Priority, due: Timestamp, posted: Timestamp, sequence: Sequence, aging: i64) -> Order {
    let priority = i64::from(priority.get());
    let rank = match aging {
        0 => -(priority << 56),
        _ => due.max(posted).0.saturating_sub(priority.saturating_mul(aging)),
    };
    Order { rank, sequence }
}

/// A due time on the wall clock.
pub fn wall(due: DueAt, now: Now) -> Timestamp {
    match due {
        DueAt::Now => now.wall,
        DueAt::Mono(at) => Timestamp(now.wall.0.saturating_add(at.since(now.mono))),
        DueAt::Wall(at) => at,
        DueAt::Said(at) => at.max(now.wall),
    }
}

/// Whether a due time has come, on the clock that it is on.
pub fn is_due(due: DueAt, now: Now) -> bool {
    match due {
        DueAt::Now => true,
        DueAt::Mono(at) => at <= now.mono,
        DueAt::Wall(at) | DueAt::Said(at) => at <= now.wall,
    }
}

/// The key of which only a bounded number is ready or claimed, the others being behind; with how many may run.
pub fn serial_key(key: Option<Key>, limits: KeyLimits) -> Option<(Key, u32)> {
    let bounded = limits.running != KeyLimits::UNLIMITED && !limits.bounds_waiting();
    key.filter(|_| bounded).map(|key| (key, limits.running))
}

/// Whether a task that was `judged` or not must be judged against the others of its key before it counts.
pub fn must_be_judged(key: Option<Key>, limits: KeyLimits, judged: bool) -> bool {
    !judged && key.is_some() && limits.bounds_waiting()
}

/// Where an unclaimed row goes. `admit`: whether one more of its key may be ready or claimed (asked only where that
/// matters: of a row that is due and needs no judgement); `true` of a row whose key does not bound that.
pub fn state(due: Timestamp, now: Now, must_be_judged: bool, admit: impl FnOnce() -> bool) -> RowState {
    if due > now.wall {
        RowState::Parked
    } else if must_be_judged {
        RowState::Unjudged
    } else if admit() {
        RowState::Ready
    } else {
        RowState::Behind
    }
}

/// Which pool may claim a new row in the write that posts it, if any: one that takes its lane, has room, and for which
/// nothing of that state waits (`waits`). Its room is used up by one then.
///
/// A parked row is claimed for the Delayer if it is due before the horizon, whatever waits; one that is behind never is.
pub fn claim_new(
    state: RowState,
    due: Timestamp,
    pools: &[PoolId],
    room: &mut Room,
    waits: impl Fn(PoolId) -> bool,
) -> Option<PoolId> {
    if room.total == 0 {
        return None;
    }
    let pool = match state {
        RowState::Parked if due < room.before => take_room(pools, room, |room| &mut room.near, |_| false),
        RowState::Ready => take_room(pools, room, |room| &mut room.ready, waits),
        RowState::Unjudged => pools.iter().copied().find(|pool| !waits(*pool)),
        _ => None,
    }?;
    room.total -= 1;
    Some(pool)
}

fn take_room(
    pools: &[PoolId],
    room: &mut Room,
    which: impl Fn(&mut PoolRoom) -> &mut usize,
    waits: impl Fn(PoolId) -> bool,
) -> Option<PoolId> {
    for pool in pools {
        let free = room.pools.iter_mut().find(|room| room.pool == *pool).map(&which);
        if let Some(free) = free.filter(|free| **free > 0 && !waits(*pool)) {
            *free -= 1;
            return Some(*pool);
        }
    }
    None
}
