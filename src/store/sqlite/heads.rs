//! The first row of each lane, in order, for each pool: what a claim merges. Of a lane whose first row went it is not known
//! which is the first until somebody looks it up; nothing is read here.

use std::collections::{BTreeMap, BTreeSet};

use taskyard_core::id::PoolId;

use crate::store::lanes::LaneNo;

/// The first rows of lanes.
#[derive(Debug)]
pub(super) struct Heads<K> {
    firsts: BTreeMap<LaneNo, K>,
    /// Lanes whose first row must be looked up.
    stale: BTreeSet<LaneNo>,
    all: BTreeSet<(K, LaneNo)>,
    pools: Vec<BTreeSet<(K, LaneNo)>>,
}

impl<K> Default for Heads<K> {
    fn default() -> Self {
        Self { firsts: BTreeMap::new(), stale: BTreeSet::new(), all: BTreeSet::new(), pools: Vec::new() }
    }
}

impl<K: Ord + Copy> Heads<K> {
    /// A row came into a lane.
    pub(super) fn came(&mut self, lane: LaneNo, pools: &[PoolId], key: K) {
        if !self.stale.contains(&lane) && self.firsts.get(&lane).is_none_or(|head| key < *head) {
            self.put(lane, pools, Some(key));
        }
    }

    /// A row went out of a lane.
    pub(super) fn went(&mut self, lane: LaneNo, pools: &[PoolId], key: K) {
        if self.firsts.get(&lane) == Some(&key) {
            self.put(lane, pools, None);
            self.stale.insert(lane);
        }
    }

    /// Nothing is known of this lane.
    pub(super) fn doubt(&mut self, lane: LaneNo) {
        self.stale.insert(lane);
    }

    /// A lane to look up.
    pub(super) fn next_stale(&self) -> Option<LaneNo> {
        self.stale.first().copied()
    }

    /// This was found to be the first row of a lane.
    pub(super) fn found(&mut self, lane: LaneNo, pools: &[PoolId], head: Option<K>) {
        self.stale.remove(&lane);
        self.put(lane, pools, head);
    }

    fn put(&mut self, lane: LaneNo, pools: &[PoolId], head: Option<K>) {
        let old = match head {
            Some(head) => self.firsts.insert(lane, head),
            None => self.firsts.remove(&lane),
        };
        replace(&mut self.all, lane, old, head);
        for pool in pools {
            replace(self.pool_mut(*pool), lane, old, head);
        }
    }

    fn pool_mut(&mut self, pool: PoolId) -> &mut BTreeSet<(K, LaneNo)> {
        let place = usize::from(pool.0);
        if self.pools.len() <= place {
            self.pools.resize_with(place + 1, BTreeSet::new);
        }
        &mut self.pools[place]
    }

    /// Other pools take the lanes from now on.
    pub(super) fn reroute<'p>(&mut self, pools: impl Fn(LaneNo) -> &'p [PoolId]) {
        self.pools.clear();
        for (lane, head) in self.firsts.clone() {
            for pool in pools(lane) {
                self.pool_mut(*pool).insert((head, lane));
            }
        }
    }

    /// The first row of all lanes that a pool takes (`None`: of all lanes), and the first one of the others: up to there
    /// the first one's lane may be read without a look at the others.
    pub(super) fn first(&self, pool: Option<PoolId>) -> Option<(LaneNo, K, Option<K>)> {
        let heads = match pool {
            Some(pool) => self.pools.get(usize::from(pool.0))?,
            None => &self.all,
        };
        let mut heads = heads.iter();
        let (head, lane) = heads.next()?;
        Some((*lane, *head, heads.next().map(|(next, _)| *next)))
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn replace<K: Ord>(heads: &mut BTreeSet<(K, LaneNo)>, lane: LaneNo, old: Option<K>, new: Option<K>) {
    if let Some(old) = old {
        heads.remove(&(old, lane));
    }
    if let Some(new) = new {
        heads.insert((new, lane));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PoolId = PoolId(0);
    const B: PoolId = PoolId(1);

    fn lane(number: i64) -> LaneNo {
        LaneNo(number)
    }

    /// Lane 1 of both pools, lane 2 of B.
    fn pools(lane: LaneNo) -> &'static [PoolId] {
        if lane.0 == 1 { &[A, B] } else { &[B] }
    }

    fn heads() -> Heads<i64> {
        let mut heads = Heads::default();
        for (number, key) in [(1, 50), (2, 30), (1, 40), (2, 60)] {
            heads.came(lane(number), pools(lane(number)), key);
        }
        heads
    }

    #[test]
    fn each_pool_sees_the_first_of_its_lanes_and_how_far_it_reaches() {
        let heads = heads();
        assert_eq!(heads.first(Some(A)), Some((lane(1), 40, None)));
        assert_eq!(heads.first(Some(B)), Some((lane(2), 30, Some(40))));
        assert_eq!(heads.first(None), Some((lane(2), 30, Some(40))));
        assert_eq!(heads.first(Some(PoolId(9))), None);
    }

    #[test]
    fn a_lane_whose_first_row_went_must_be_looked_up() {
        let mut heads = heads();
        heads.went(lane(2), pools(lane(2)), 60);
        assert_eq!(heads.next_stale(), None, "it was not the first");
        heads.went(lane(2), pools(lane(2)), 30);
        assert_eq!(heads.next_stale(), Some(lane(2)));
        heads.came(lane(2), pools(lane(2)), 70);
        assert_eq!(heads.first(Some(B)), Some((lane(1), 40, None)), "what came may not be the first");
        heads.found(lane(2), pools(lane(2)), Some(35));
        assert_eq!((heads.first(Some(B)), heads.next_stale()), (Some((lane(2), 35, Some(40))), None));
        heads.doubt(lane(1));
        heads.found(lane(1), pools(lane(1)), None);
        assert_eq!(heads.first(Some(A)), None);
    }

    #[test]
    fn other_pools_may_take_the_lanes_later() {
        let mut heads = heads();
        heads.reroute(|_| &[A]);
        assert_eq!(heads.first(Some(A)), Some((lane(2), 30, Some(40))));
        assert_eq!(heads.first(Some(B)), None);
    }
}
