//! For which pool a waiting task counts as demand: for one only, the most specific that could still grow, so that two
//! pools do not both start a worker for it.

use std::collections::BTreeMap;

use crate::id::PoolId;
use crate::lanes::{LaneId, Laned};
use crate::map::Map;

/// Demand by lane and by pool.
#[derive(Debug, Default)]
pub(super) struct Demand {
    lanes: Map<LaneId, Vec<(PoolId, usize)>>,
    pools: BTreeMap<PoolId, PoolDemand>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PoolDemand {
    headroom: usize,
    waiting: usize,
    told: usize,
}

impl PoolDemand {
    fn room(self) -> usize {
        self.headroom.saturating_sub(self.waiting)
    }

    /// What the pool is told: more than it can grow by would say nothing.
    fn wanted(self) -> usize {
        self.waiting.min(self.headroom)
    }
}

impl Demand {
    /// So many more tasks wait in a lane that these pools take.
    pub(super) fn add(&mut self, lane: LaneId, pools: &[PoolId], mut count: usize) {
        for pool in pools {
            let share = self.pools.entry(*pool).or_default().room().min(count);
            self.give(lane, *pool, share);
            count -= share;
        }
        if let Some(first) = pools.first() {
            self.give(lane, *first, count);
        }
    }

    fn give(&mut self, lane: LaneId, pool: PoolId, count: usize) {
        if count == 0 {
            return;
        }
        self.pools.entry(pool).or_default().waiting += count;
        let shares = self.lanes.entry(lane).or_default();
        match shares.iter_mut().find(|(owner, _)| *owner == pool) {
            Some((_, share)) => *share += count,
            None => shares.push((pool, count)),
        }
    }

    /// One task of the lane waits no longer.
    pub(super) fn remove(&mut self, lane: LaneId) {
        let Some(shares) = self.lanes.get_mut(&lane) else { return };
        if let Some((pool, share)) = shares.last_mut() {
            *share -= 1;
            if let Some(demand) = self.pools.get_mut(pool) {
                demand.waiting -= 1;
            }
            if *share == 0 {
                shares.pop();
            }
        }
        if shares.is_empty() {
            self.lanes.remove(&lane);
        }
    }

    /// A pool can grow by so much. Whether that calls for spreading its lanes anew.
    pub(super) fn set_headroom(&mut self, pool: PoolId, headroom: usize) -> bool {
        let demand = self.pools.entry(pool).or_default();
        let changed = demand.headroom != headroom;
        demand.headroom = headroom;
        changed
    }

    /// Spreads the demand of a lane in which so many wait over the pools that take it now.
    pub(super) fn spread(&mut self, lane: LaneId, pools: &[PoolId], waiting: usize) {
        let shares = self.lanes.remove(&lane).unwrap_or_default();
        for (pool, share) in &shares {
            if let Some(demand) = self.pools.get_mut(pool) {
                demand.waiting -= share;
            }
        }
        self.add(lane, pools, waiting);
    }

    /// What pools are to be told, lowest first.
    pub(super) fn changes(&mut self) -> impl Iterator<Item = (PoolId, usize)> {
        self.pools.iter_mut().filter(|(_, demand)| demand.wanted() != demand.told).map(|(pool, demand)| {
            demand.told = demand.wanted();
            (*pool, demand.told)
        })
    }

    pub(super) fn check_invariants<K: Ord + Copy, T>(&self, waiting: &Laned<K, T>) {
        let mut pools: BTreeMap<PoolId, usize> = BTreeMap::new();
        for (lane, shares) in &self.lanes {
            assert_eq!(waiting.len_of(*lane), shares.iter().map(|(_, share)| share).sum::<usize>());
            for (pool, share) in shares {
                *pools.entry(*pool).or_default() += share;
            }
        }
        for (pool, demand) in &self.pools {
            assert_eq!(demand.waiting, pools.get(pool).copied().unwrap_or(0), "demand of {pool:?}");
        }
    }
}
