//! What is in the yard: one entry a live task, and how much of each pool's budget is used.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use super::budget::PoolBudget;
use crate::dispatch::{Dispatch, DispatchName, Outcome, Reason};
use crate::id::{Epoch, PoolId, TaskId, Token};
use crate::live::{Live, LiveIndex};
use crate::map::Map;
use crate::store::Claimed;
use crate::task::DueAt;
use crate::time::{Timestamp, Wakeup};

/// A live task.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) live: Arc<Live>,
    pub(super) pool: PoolId,
    pub(super) place: Place,
    pub(super) expires: Option<Timestamp>,
    pub(super) setbacks: u32,
    /// Who was the first to wait for its outcome; all others stand in the list of watchers.
    pub(super) watch: Option<Token>,
    /// What somebody wants done with it, until that is known to have happened or to be impossible.
    pub(super) wish: Option<Reason>,
    /// A running task was told to end.
    pub(super) told: bool,
}

impl Entry {
    /// Whether the registration under which it was claimed is lost.
    pub(super) fn is_disowned(&self) -> bool {
        self.wish == Some(Reason::Disowned)
    }
}

/// What a live task counts as.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// In its pool's budget: on the way, granted, or with a worker.
    Counted,
    /// Among the pool's tasks that are not due yet.
    Near,
    /// Outside of both: to be judged, or waiting for its key.
    Outside,
    /// Ended; the settlement is not recorded yet.
    Settling(After),
}

/// What a settlement makes of a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum After {
    /// It is finished.
    Finished(Outcome),
    /// It is back on the board, until then.
    Again(Timestamp),
    /// It is back on the board at another time that somebody asked for.
    Rescheduled,
}

/// All live tasks.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: Map<TaskId, Entry>,
    live: Arc<LiveIndex>,
    pools: Vec<PoolBudget>,
    expiring: BTreeSet<(Timestamp, TaskId)>,
    /// How many entries are disowned.
    disowned: usize,
}

impl Ledger {
    pub(super) fn new(pools: usize, live: Arc<LiveIndex>) -> Self {
        Self {
            entries: Map::default(),
            live,
            pools: vec![PoolBudget::default(); pools],
            expiring: BTreeSet::new(),
            disowned: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn pool_ids(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.pools.len() as u8).map(PoolId)
    }

    pub(super) fn pool(&mut self, pool: PoolId) -> &mut PoolBudget {
        let index = usize::from(pool.0);
        if self.pools.len() <= index {
            self.pools.resize(index + 1, PoolBudget::default());
        }
        &mut self.pools[index]
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// The entry of this very dispatch, if it has not ended.
    pub(super) fn running(&mut self, name: DispatchName) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(&name.id)?;
        (entry.live.epoch == name.epoch && !matches!(entry.place, Place::Settling(_))).then_some(entry)
    }

    /// All live tasks in order of arrival.
    pub(super) fn in_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<_> = self.entries.values().collect();
        entries.sort_unstable_by_key(|entry| entry.live.sequence);
        entries
    }

    /// The tasks of a pool that are not due yet, in order of arrival, but for those that somebody wants out already.
    pub(super) fn near_of(&self, pool: PoolId) -> Vec<TaskId> {
        let near = |entry: &&Entry| entry.pool == pool && entry.place == Place::Near && entry.wish.is_none();
        let mut near: Vec<_> = self.entries.values().filter(near).map(|entry| &entry.live).collect();
        near.sort_unstable_by_key(|live| live.sequence);
        near.into_iter().map(|live| live.task.id).collect()
    }

    /// A claimed task enters the yard.
    pub(super) fn begin(&mut self, claimed: Claimed, watch: Option<Token>) -> Dispatch {
        let Claimed { task, order, epoch, attempts, posted, due, judged, crash_marks, .. } = claimed;
        let id = task.id;
        let live = Live::new(task, order.sequence, posted, epoch, attempts + 1);
        let live = Arc::new(if crash_marks > 0 { live.suspected() } else { live });
        let place = match due {
            _ if claimed.unjudged => Place::Outside,
            DueAt::Now => Place::Counted,
            DueAt::Mono(_) | DueAt::Wall(_) | DueAt::Said(_) => Place::Near,
        };
        self.count(claimed.pool, &place);
        if let Some(expires) = claimed.expires {
            self.expiring.insert((expires, id));
        }
        self.live.insert(id, Arc::clone(&live));
        let entry = Entry {
            live: Arc::clone(&live),
            pool: claimed.pool,
            place,
            expires: claimed.expires,
            setbacks: claimed.setbacks,
            watch,
            wish: None,
            told: false,
        };
        self.entries.insert(id, entry);
        Dispatch { live, order, due, judged }
    }

    fn count(&mut self, pool: PoolId, place: &Place) {
        let budget = self.pool(pool);
        match place {
            Place::Counted => budget.counted += 1,
            Place::Near => budget.near += 1,
            Place::Outside | Place::Settling(_) => {}
        }
    }

    fn uncount(&mut self, pool: PoolId, place: &Place) {
        let budget = self.pool(pool);
        match place {
            Place::Counted => budget.counted -= 1,
            Place::Near => budget.near -= 1,
            Place::Outside | Place::Settling(_) => {}
        }
    }

    fn move_to(&mut self, name: DispatchName, place: Place) {
        let Some(entry) = self.running(name) else { return };
        let pool = entry.pool;
        let old = std::mem::replace(&mut entry.place, place.clone());
        self.uncount(pool, &old);
        self.count(pool, &place);
    }

    pub(super) fn due(&mut self, name: DispatchName) {
        self.move_to(name, Place::Counted);
    }

    pub(super) fn blocked(&mut self, name: DispatchName) {
        self.move_to(name, Place::Outside);
    }

    pub(super) fn unblocked(&mut self, name: DispatchName) {
        self.move_to(name, Place::Counted);
    }

    /// The dispatch ended: it uses no budget any more. `judge` says what is to become of it; `None`: it is not live.
    pub(super) fn settling<T>(
        &mut self,
        name: DispatchName,
        judge: impl FnOnce(&Entry) -> (After, T),
    ) -> Option<T> {
        let entry = self.running(name)?;
        let (after, judged) = judge(entry);
        let (pool, expires) = (entry.pool, entry.expires);
        let place = std::mem::replace(&mut entry.place, Place::Settling(after));
        self.uncount(pool, &place);
        if place == Place::Counted {
            self.pool(pool).pace.ended();
        }
        self.live.remove(&name.id);
        if let Some(expires) = expires {
            self.expiring.remove(&(expires, name.id));
        }
        Some(judged)
    }

    /// The dispatch is another's from now on. Whether it was not before.
    pub(super) fn disown(&mut self, id: TaskId) -> bool {
        let Some(entry) = self.entries.get_mut(&id).filter(|entry| !entry.is_disowned()) else {
            return false;
        };
        entry.wish = Some(Reason::Disowned);
        entry.told = false;
        self.disowned += 1;
        true
    }

    /// Whether this dispatch is in the yard and another's.
    pub(super) fn is_disowned(&self, name: DispatchName) -> bool {
        let is = |entry: &Entry| entry.live.epoch == name.epoch && entry.is_disowned();
        self.disowned > 0 && self.entries.get(&name.id).is_some_and(is)
    }

    /// A disowned dispatch ended: nothing of it is recorded.
    pub(super) fn let_go(&mut self, name: DispatchName) {
        if self.settling(name, |_| (After::Rescheduled, ())).is_some() {
            self.disowned -= 1;
            self.settled(name.id, name.epoch);
        }
    }

    /// The settlement of this dispatch is recorded or refused.
    pub(super) fn settled(&mut self, id: TaskId, epoch: Epoch) -> Option<Entry> {
        let MapEntry::Occupied(entry) = self.entries.entry(id) else { return None };
        let this = entry.get().live.epoch == epoch && matches!(entry.get().place, Place::Settling(_));
        this.then(|| entry.remove())
    }

    /// The next task that has expired, at most once each.
    pub(super) fn pop_expired(&mut self, now: Timestamp) -> Option<TaskId> {
        let (_, id) = self.expiring.first().copied().filter(|(at, _)| *at <= now)?;
        self.expiring.pop_first();
        Some(id)
    }

    pub(super) fn next_expiry(&self) -> Wakeup {
        Wakeup::wall(self.expiring.first().map(|(at, _)| *at))
    }

    /// When a pool may claim again that rests.
    pub(super) fn next_claim(&self) -> Wakeup {
        Wakeup::mono(self.pools.iter().filter_map(|budget| budget.rest.until()).min())
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// Whether this dispatch is in the yard and has not ended.
    pub(super) fn has_begun(&self, name: DispatchName) -> bool {
        let is = |entry: &Entry| entry.live.epoch == name.epoch && !matches!(entry.place, Place::Settling(_));
        self.entries.get(&name.id).is_some_and(is)
    }

    /// How many have not ended.
    pub(super) fn running_count(&self) -> usize {
        let ended = |entry: &&Entry| matches!(entry.place, Place::Settling(_));
        self.entries.len() - self.entries.values().filter(ended).count()
    }

    pub(super) fn check_invariants(&self) {
        for (index, budget) in self.pools.iter().enumerate() {
            let count = |place: &Place| {
                let counted = |entry: &&Entry| usize::from(entry.pool.0) == index && entry.place == *place;
                self.entries.values().filter(counted).count()
            };
            assert_eq!(budget.counted, count(&Place::Counted), "counted of pool {index}");
            assert_eq!(budget.near, count(&Place::Near), "near of pool {index}");
        }
        assert_eq!(self.disowned, self.entries.values().filter(|entry| entry.is_disowned()).count());
        assert_eq!(self.live.len(), self.running_count());
    }
}
