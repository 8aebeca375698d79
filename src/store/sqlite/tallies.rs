//! How many tasks each lane has in each state, and so how many there are in all and for which pools some wait. The same
//! numbers stand in the database, written once a commit; nothing is read or written here.

use std::collections::BTreeMap;

use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::store::RowState;

use crate::store::lanes::LaneNo;
use crate::store::record::{state, state_code};

/// The states of the unfinished.
pub(super) const STATES: usize = 5;

/// What there is in a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The number of its namespace in the database.
    pub(super) space: i64,
    /// The unfinished by state.
    pub(super) states: [i64; STATES],
    /// Rows of history.
    pub(super) ended: i64,
}

/// What a lane is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Nothing = 0,
    History = 1,
    Tasks = 2,
}

impl Tally {
    /// What the lane is needed for.
    pub(super) fn usage(&self) -> Usage {
        match (self.unfinished(), self.ended) {
            (0, 0) => Usage::Nothing,
            (0, _) => Usage::History,
            _ => Usage::Tasks,
        }
    }

    fn unfinished(&self) -> i64 {
        self.states.iter().sum()
    }

    /// How many there are in each state.
    pub(super) fn by_state(&self) -> impl Iterator<Item = (RowState, i64)> {
        (0..).zip(self.states).map(|(code, count)| (state(code), count))
    }

    pub(super) fn of(&self, state: RowState) -> i64 {
        self.states.get(place(state)).copied().unwrap_or_default()
    }
}

/// What there is in all lanes that are known.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    lanes: BTreeMap<LaneNo, Tally>,
    /// The lanes whose numbers are to be written, and what the database says that they are needed for.
    changed: BTreeMap<LaneNo, Usage>,
    totals: [i64; STATES],
    used: usize,
    /// By pool: how many lanes with unjudged and with ready tasks it takes.
    waiting: Vec<[u32; 2]>,
}

impl Tallies {
    /// What a lane has by the record.
    pub(super) fn load(&mut self, lane: LaneNo, pools: &[PoolId], tally: Tally) {
        self.lanes.insert(lane, tally);
        for (total, count) in self.totals.iter_mut().zip(tally.states) {
            *total += count;
        }
        self.used += usize::from(tally.unfinished() > 0);
        for state in [RowState::Unjudged, RowState::Ready] {
            if tally.of(state) > 0 {
                self.wait(pools, state, true);
            }
        }
    }

    /// What a lane has.
    pub(super) fn get(&self, lane: LaneNo) -> Tally {
        self.lanes.get(&lane).copied().unwrap_or_default()
    }

    /// Whether the lane is known here.
    pub(super) fn knows(&self, lane: LaneNo) -> bool {
        self.lanes.contains_key(&lane)
    }

    /// Whether a lane has no unfinished task.
    pub(super) fn is_unused(&self, lane: LaneNo) -> bool {
        self.get(lane).unfinished() == 0
    }

    /// How many lanes have unfinished tasks.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// How many tasks are in a state.
    pub(super) fn total(&self, state: RowState) -> usize {
        self.totals.get(place(state)).map_or(0, |total| *total as usize)
    }

    /// How many tasks are unfinished.
    pub(super) fn unfinished(&self) -> usize {
        self.totals.iter().sum::<i64>() as usize
    }

    /// A task of a lane goes from one state to another; `None`: from nowhere, or out of the board.
    pub(super) fn moves(
        &mut self,
        lane: LaneNo,
        pools: &[PoolId],
        from: Option<RowState>,
        to: Option<RowState>,
    ) {
        if from == to {
            return;
        }
        debug_assert!(self.knows(lane), "a lane was not loaded");
        let tally = self.lanes.entry(lane).or_default();
        let before = tally.usage();
        self.changed.entry(lane).or_insert(before);
        let steps = [from.map(|state| (state, -1)), to.map(|state| (state, 1))];
        let mut turned = Vec::new();
        for (state, step) in steps.into_iter().flatten() {
            let rows = tally.of(state);
            tally.states[place(state)] += step;
            self.totals[place(state)] += step;
            if matches!(state, RowState::Unjudged | RowState::Ready) && (rows == 0 || tally.of(state) == 0) {
                turned.push((state, rows == 0));
            }
        }
        let after = tally.usage();
        self.used = self.used + usize::from(after == Usage::Tasks) - usize::from(before == Usage::Tasks);
        for (state, some) in turned {
            self.wait(pools, state, some);
        }
    }

    /// So many rows of history come to a lane, or go.
    pub(super) fn ended(&mut self, lane: LaneNo, step: i64) {
        debug_assert!(self.knows(lane), "a lane was not loaded");
        let tally = self.lanes.entry(lane).or_default();
        self.changed.entry(lane).or_insert(tally.usage());
        tally.ended += step;
    }

    fn wait(&mut self, pools: &[PoolId], state: RowState, some: bool) {
        let kind = usize::from(state == RowState::Ready);
        for pool in pools {
            let pool = usize::from(pool.0);
            if self.waiting.len() <= pool {
                self.waiting.resize(pool + 1, [0; 2]);
            }
            let lanes = &mut self.waiting[pool][kind];
            *lanes = if some { *lanes + 1 } else { lanes.saturating_sub(1) };
        }
    }

    /// Whether tasks of this state (unjudged or ready) wait for a pool.
    pub(super) fn waits(&self, pool: PoolId, state: RowState) -> bool {
        let kind = usize::from(state == RowState::Ready);
        self.waiting.get(usize::from(pool.0)).is_some_and(|lanes| lanes[kind] > 0)
    }

    /// The pools for which tasks of this state (unjudged or ready) wait.
    pub(super) fn waiting(&self, state: RowState) -> PoolSet {
        let pools = (0..self.waiting.len()).map(|pool| PoolId(pool as u8));
        pools.filter(|pool| self.waits(*pool, state)).collect()
    }

    /// Other pools take the lanes from now on.
    pub(super) fn reroute<'p>(&mut self, pools: impl Fn(LaneNo) -> &'p [PoolId]) {
        self.waiting.clear();
        for (lane, tally) in self.lanes.clone() {
            for state in [RowState::Unjudged, RowState::Ready] {
                if tally.of(state) > 0 {
                    self.wait(pools(lane), state, true);
                }
            }
        }
    }

    /// All lanes that are known.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LaneNo, &Tally)> {
        self.lanes.iter().map(|(lane, tally)| (*lane, tally))
    }

    /// The lanes whose numbers are to be written, which then are as they should be; for each, whether its usage changed.
    pub(super) fn take_changed(&mut self) -> Vec<(LaneNo, Tally, bool)> {
        let changed = std::mem::take(&mut self.changed);
        let look = |(lane, before)| {
            let tally = self.get(lane);
            (lane, tally, tally.usage() != before)
        };
        changed.into_iter().map(look).collect()
    }

    /// Forgets lanes without an unfinished task. They must have been written.
    pub(super) fn forget_unused(&mut self) {
        self.lanes.retain(|_, tally| tally.unfinished() > 0);
    }
}

fn place(state: RowState) -> usize {
    state_code(state) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use RowState::{Claimed, Parked, Ready, Unjudged};

    const A: PoolId = PoolId(0);
    const B: PoolId = PoolId(1);
    const LANE: LaneNo = LaneNo(1);

    #[test]
    fn moves_are_counted_by_lane_and_in_all() {
        let mut tallies = Tallies::default();
        tallies.load(LANE, &[A], Tally { states: [2, 0, 0, 1, 0], ..Tally::default() });
        tallies.load(LaneNo(2), &[A], Tally::default());
        tallies.moves(LaneNo(2), &[A], None, Some(Parked));
        tallies.moves(LANE, &[A], Some(Ready), Some(Claimed));
        assert_eq!((tallies.total(Parked), tallies.total(Ready), tallies.total(Claimed)), (3, 0, 1));
        assert_eq!((tallies.unfinished(), tallies.used()), (4, 2));
        tallies.moves(LaneNo(2), &[A], Some(Parked), None);
        assert_eq!((tallies.used(), tallies.is_unused(LaneNo(2))), (1, true));
        let changed: Vec<_> =
            tallies.take_changed().into_iter().map(|(lane, _, turned)| (lane, turned)).collect();
        assert_eq!(
            changed,
            [(LANE, false), (LaneNo(2), false)],
            "what comes and goes at once changes no usage"
        );
        assert!(tallies.take_changed().is_empty());
    }

    #[test]
    fn a_pool_waits_for_nothing_once_all_its_lanes_are_empty() {
        let mut tallies = Tallies::default();
        tallies.load(LANE, &[A, B], Tally::default());
        tallies.load(LaneNo(2), &[B], Tally::default());
        tallies.moves(LANE, &[A, B], None, Some(Ready));
        tallies.moves(LaneNo(2), &[B], None, Some(Ready));
        tallies.moves(LaneNo(2), &[B], None, Some(Unjudged));
        tallies.moves(LANE, &[A, B], Some(Ready), Some(Claimed));
        assert_eq!((tallies.waits(A, Ready), tallies.waits(B, Ready)), (false, true));
        assert_eq!(tallies.waiting(Unjudged).iter().collect::<Vec<_>>(), [B]);
        tallies.reroute(|_| &[A]);
        assert_eq!(tallies.waiting(Ready).iter().collect::<Vec<_>>(), [A]);
    }
}
