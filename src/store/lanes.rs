//! The lanes of a board by their number in its database, each with the pools here that take it. Nothing is counted here,
//! and nothing is read or written: whoever keeps the database says which lanes there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::id::PoolId;
use taskyard_core::map::Map;
use taskyard_core::names::{Lane, TaskName};
use taskyard_core::router::{Route, Router};

/// A lane's number in the database; never reused there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneNo(pub(crate) i64);

/// The lanes that are known here.
#[derive(Debug)]
pub(crate) struct Lanes {
    router: Router,
    numbers: Map<Arc<Lane>, LaneNo>,
    entries: BTreeMap<LaneNo, Entry>,
}

#[derive(Debug)]
struct Entry {
    lane: Arc<Lane>,
    route: Route,
}

impl Lanes {
    /// No lanes yet; they will be routed by `router`.
    pub(crate) fn new(router: Router) -> Self {
        Self { router, numbers: Map::default(), entries: BTreeMap::new() }
    }

    /// There is a lane of this number.
    pub(crate) fn add(&mut self, number: LaneNo, lane: Arc<Lane>) {
        let route = self.router.route(&lane);
        self.numbers.insert(Arc::clone(&lane), number);
        self.entries.insert(number, Entry { lane, route });
    }

    /// The number of a lane, if it is known here.
    pub(crate) fn number(&self, lane: &Lane) -> Option<LaneNo> {
        self.numbers.get(lane).copied()
    }

    /// The lane of a number, if it is known here.
    pub(crate) fn lane(&self, number: LaneNo) -> Option<&Arc<Lane>> {
        self.entries.get(&number).map(|entry| &entry.lane)
    }

    /// The pools that take the lane, most specific first; empty if none does.
    pub(crate) fn pools(&self, number: LaneNo) -> &[PoolId] {
        match self.entries.get(&number).map(|entry| &entry.route) {
            Some(Route::Pools(pools)) => pools,
            Some(Route::Unlearned | Route::Unroutable) | None => &[],
        }
    }

    /// The pool that counts a claim which names none.
    pub(crate) fn pool_of(&self, number: LaneNo) -> PoolId {
        self.pools(number).first().copied().unwrap_or(PoolId(0))
    }

    /// Whether no pool ever takes the lane, as far as is known.
    pub(crate) fn is_unroutable(&self, lane: &Lane) -> bool {
        self.router.route(lane) == Route::Unroutable
    }

    /// All lanes that are known here, by number.
    #[cfg(feature = "postgres")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LaneNo, &Arc<Lane>)> {
        self.entries.iter().map(|(number, entry)| (*number, &entry.lane))
    }

    /// How many are known here.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A pool's workers know these names.
    pub(crate) fn learn(&mut self, pool: PoolId, names: &[TaskName]) {
        self.router.learn(pool, names);
        for entry in self.entries.values_mut() {
            entry.route = self.router.route(&entry.lane);
        }
    }

    /// Forgets lanes. One of two numbers of a lane may go, and what it is found by is the other's to give.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(LaneNo) -> bool) {
        let numbers = &mut self.numbers;
        self.entries.retain(|number, entry| {
            let kept = keep(*number);
            if !kept && numbers.get(&entry.lane) == Some(number) {
                numbers.remove(&entry.lane);
            }
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PoolId = PoolId(0);
    const B: PoolId = PoolId(1);

    fn lane(namespace: &str, name: &str) -> Arc<Lane> {
        Arc::new(Lane { namespace: namespace.parse().unwrap(), name: name.parse().unwrap() })
    }

    fn lanes() -> Lanes {
        let mut router = Router::default();
        router.bind(A, &["a.#".parse().unwrap()], Some(&["one".parse().unwrap()]));
        router.bind(B, &["a.x".parse().unwrap(), "b".parse().unwrap()], None);
        Lanes::new(router)
    }

    #[test]
    fn a_lane_is_found_by_its_name_and_by_its_number() {
        let mut lanes = lanes();
        lanes.add(LaneNo(3), lane("a.y", "one"));
        assert_eq!(lanes.number(&lane("a.y", "one")), Some(LaneNo(3)));
        assert_eq!(lanes.number(&lane("a.y", "two")), None);
        assert_eq!(lanes.lane(LaneNo(3)), Some(&lane("a.y", "one")));
        assert_eq!((lanes.pools(LaneNo(3)), lanes.pool_of(LaneNo(3))), ([A].as_slice(), A));
        assert!(lanes.pools(LaneNo(4)).is_empty());
    }

    #[test]
    fn names_that_are_learned_later_change_who_takes_a_lane() {
        let mut lanes = lanes();
        lanes.add(LaneNo(1), lane("a.x", "one"));
        lanes.add(LaneNo(2), lane("b", "two"));
        assert_eq!(lanes.pools(LaneNo(1)), [A]);
        assert!(lanes.pools(LaneNo(2)).is_empty() && !lanes.is_unroutable(&lane("b", "two")));
        lanes.learn(B, &["one".parse().unwrap()]);
        assert_eq!(lanes.pools(LaneNo(1)), [B, A], "the most specific first");
        assert!(lanes.is_unroutable(&lane("b", "two")));
    }

    #[test]
    fn what_is_forgotten_can_be_added_again() {
        let mut lanes = lanes();
        lanes.add(LaneNo(1), lane("a.x", "one"));
        lanes.add(LaneNo(2), lane("b", "two"));
        lanes.retain(|number| number == LaneNo(2));
        assert_eq!((lanes.len(), lanes.number(&lane("a.x", "one"))), (1, None));
        lanes.add(LaneNo(9), lane("a.x", "one"));
        assert_eq!(lanes.number(&lane("a.x", "one")), Some(LaneNo(9)));
    }

    #[test]
    fn of_a_lane_with_two_numbers_one_can_be_forgotten() {
        let mut lanes = lanes();
        lanes.add(LaneNo(1), lane("a.x", "one"));
        lanes.add(LaneNo(2), lane("a.x", "one"));
        lanes.retain(|number| number == LaneNo(2));
        assert_eq!(lanes.number(&lane("a.x", "one")), Some(LaneNo(2)));
    }
}
