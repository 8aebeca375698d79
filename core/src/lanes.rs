//! What waits, by lane, with the heads of the lanes in order for each pool. The ready rows of the board and the Queuer's
//! tasks are kept so. Nothing here decides; whoever routes says which pools take a lane.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::PoolId;
use crate::map::Map;
use crate::names::{Lane, TaskName};
use crate::router::{Route, Router};

/// A lane's number in one table; never reused there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u32);

/// How many empty lanes are remembered, with their route, before they are swept out.
const EMPTY_LANES: usize = 1_000;

/// The lanes in use, each with its route.
#[derive(Debug)]
pub struct LaneTable {
    router: Router,
    ids: Map<Lane, LaneId>,
    lanes: BTreeMap<LaneId, Entry>,
    next: u32,
    empty: usize,
}

#[derive(Debug)]
struct Entry {
    lane: Lane,
    route: Route,
    users: usize,
}

/// A lane whose route changed.
#[derive(Debug)]
pub struct Rerouted {
    /// Which.
    pub lane: LaneId,
    /// Which pools took it before.
    pub old: Box<[PoolId]>,
    /// Which pools take it now.
    pub new: Box<[PoolId]>,
}

impl LaneTable {
    /// A table that routes by `router`.
    pub fn new(router: Router) -> Self {
        Self { router, ids: Map::default(), lanes: BTreeMap::new(), next: 0, empty: 0 }
    }

    /// The number of a lane, for a look at its route; [`enter`](Self::enter) keeps it.
    pub fn id(&mut self, lane: &Lane) -> LaneId {
        match self.ids.get(lane) {
            Some(id) => *id,
            None => self.add(lane),
        }
    }

    fn add(&mut self, lane: &Lane) -> LaneId {
        self.sweep();
        let id = LaneId(self.next);
        self.next += 1;
        self.empty += 1;
        self.ids.insert(lane.clone(), id);
        self.lanes.insert(id, Entry { lane: lane.clone(), route: self.router.route(lane), users: 0 });
        id
    }

    fn sweep(&mut self) {
        if self.empty <= EMPTY_LANES || self.empty * 2 < self.lanes.len() {
            return;
        }
        let ids = &mut self.ids;
        self.lanes.retain(|_, entry| {
            let used = entry.users > 0;
            if !used {
                ids.remove(&entry.lane);
            }
            used
        });
        self.empty = 0;
    }

    /// One more task is in the lane.
    pub fn enter(&mut self, id: LaneId) {
        if let Some(entry) = self.lanes.get_mut(&id) {
            self.empty -= usize::from(entry.users == 0);
            entry.users += 1;
        }
    }

    /// One task less is in the lane.
    pub fn leave(&mut self, id: LaneId) {
        if let Some(entry) = self.lanes.get_mut(&id) {
            entry.users -= 1;
            self.empty += usize::from(entry.users == 0);
        }
    }

    /// How many lanes hold a task.
    pub fn used(&self) -> usize {
        self.lanes.len() - self.empty
    }

    /// Whether a task in this lane would add to [`used`](Self::used).
    pub fn is_empty_lane(&self, id: LaneId) -> bool {
        self.lanes.get(&id).is_none_or(|entry| entry.users == 0)
    }

    /// Which pools take the lane.
    pub fn route(&self, id: LaneId) -> &Route {
        self.lanes.get(&id).map_or(&Route::Unroutable, |entry| &entry.route)
    }

    /// The pools that take the lane, most specific first; empty if none does.
    pub fn pools(&self, id: LaneId) -> &[PoolId] {
        pools(self.route(id))
    }

    /// All pools of the router.
    pub fn all_pools(&self) -> Vec<PoolId> {
        self.router.pools().collect()
    }

    /// A pool's workers know these names: the lanes whose route changes by that.
    pub fn learn(&mut self, pool: PoolId, names: &[TaskName]) -> Vec<Rerouted> {
        self.router.learn(pool, names);
        let mut changed = Vec::new();
        for (lane, entry) in &mut self.lanes {
            let route = self.router.route(&entry.lane);
            if route != entry.route {
                let (old, new) = (pools(&entry.route).into(), pools(&route).into());
                changed.push(Rerouted { lane: *lane, old, new });
                entry.route = route;
            }
        }
        changed
    }
}

fn pools(route: &Route) -> &[PoolId] {
    match route {
        Route::Pools(pools) => pools,
        Route::Unlearned | Route::Unroutable => &[],
    }
}

/// Items in lanes, each in order of its key; for each pool the lanes that it takes in order of their first item.
#[derive(Debug)]
pub struct Laned<K, T> {
    lanes: Map<LaneId, BTreeMap<K, T>>,
    heads: Vec<BTreeSet<(K, LaneId)>>,
    overall: BTreeSet<(K, LaneId)>,
    len: usize,
}

impl<K: Ord + Copy, T> Default for Laned<K, T> {
    fn default() -> Self {
        Self { lanes: Map::default(), heads: Vec::new(), overall: BTreeSet::new(), len: 0 }
    }
}

impl<K: Ord + Copy, T> Laned<K, T> {
    /// Puts an item into a lane that these pools take.
    pub fn insert(&mut self, lane: LaneId, pools: &[PoolId], key: K, item: T) {
        let items = self.lanes.entry(lane).or_default();
        let head = items.first_key_value().map(|(key, _)| *key);
        items.insert(key, item);
        self.len += 1;
        if head.is_none_or(|head| key < head) {
            self.move_head(lane, pools, head, Some(key));
        }
    }

    /// Takes an item out of a lane.
    pub fn remove(&mut self, lane: LaneId, pools: &[PoolId], key: K) -> Option<T> {
        let items = self.lanes.get_mut(&lane)?;
        let head = items.first_key_value().map(|(key, _)| *key);
        let item = items.remove(&key)?;
        self.len -= 1;
        if head == Some(key) {
            let next = items.first_key_value().map(|(key, _)| *key);
            if next.is_none() {
                self.lanes.remove(&lane);
            }
            self.move_head(lane, pools, head, next);
        }
        Some(item)
    }

    /// An item.
    pub fn get(&self, lane: LaneId, key: K) -> Option<&T> {
        self.lanes.get(&lane)?.get(&key)
    }

    /// The first item that a pool takes.
    pub fn first(&self, pool: PoolId) -> Option<(K, LaneId)> {
        self.heads.get(usize::from(pool.0))?.first().copied()
    }

    /// The first item of all.
    pub fn first_of_all(&self) -> Option<(K, LaneId)> {
        self.overall.first().copied()
    }

    /// A lane is taken by other pools from now on.
    pub fn reroute(&mut self, change: &Rerouted) {
        let head =
            self.lanes.get(&change.lane).and_then(|items| items.first_key_value()).map(|(key, _)| *key);
        self.move_head(change.lane, &change.old, head, None);
        self.move_head(change.lane, &change.new, None, head);
    }

    fn move_head(&mut self, lane: LaneId, pools: &[PoolId], old: Option<K>, new: Option<K>) {
        for pool in pools {
            let pool = usize::from(pool.0);
            if self.heads.len() <= pool {
                self.heads.resize_with(pool + 1, BTreeSet::new);
            }
            move_head(&mut self.heads[pool], lane, old, new);
        }
        move_head(&mut self.overall, lane, old, new);
    }

    /// How many items a lane has.
    pub fn len_of(&self, lane: LaneId) -> usize {
        self.lanes.get(&lane).map_or(0, BTreeMap::len)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All items, lane by lane in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.lanes.values().flatten()
    }

    /// The lanes that a pool takes and that have items, in order of their first.
    pub fn lanes_of(&self, pool: PoolId) -> Vec<LaneId> {
        let heads = self.heads.get(usize::from(pool.0));
        heads.into_iter().flatten().map(|(_, lane)| *lane).collect()
    }

    /// All lanes that have items, in no order.
    pub fn lanes(&self) -> impl Iterator<Item = LaneId> {
        self.lanes.keys().copied()
    }

    /// Panics if the heads are not those of the lanes.
    pub fn check_invariants(&self, pools: impl Fn(LaneId) -> Box<[PoolId]>) {
        assert_eq!(self.len, self.lanes.values().map(BTreeMap::len).sum::<usize>());
        assert_eq!(self.overall.len(), self.lanes.len());
        let mut heads = 0;
        for (lane, items) in &self.lanes {
            let (key, _) = items.first_key_value().expect("a lane holds something");
            assert!(self.overall.contains(&(*key, *lane)));
            for pool in pools(*lane) {
                assert!(self.heads[usize::from(pool.0)].contains(&(*key, *lane)));
                heads += 1;
            }
        }
        assert_eq!(heads, self.heads.iter().map(BTreeSet::len).sum::<usize>());
    }
}

fn move_head<K: Ord>(heads: &mut BTreeSet<(K, LaneId)>, lane: LaneId, old: Option<K>, new: Option<K>) {
    if let Some(old) = old {
        heads.remove(&(old, lane));
    }
    if let Some(new) = new {
        heads.insert((new, lane));
    }
}
