//! The workers of a Pool with the sums over them, kept with each change so that no question needs a scan. Tells nobody.

use std::collections::{BTreeMap, BTreeSet};

use super::worker::{Offer, Terms, Worker};
use crate::status::State;
use crate::time::Instant64;

/// All offers together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) serving: usize,
    pub(super) starting: usize,
    pub(super) free: usize,
    pub(super) busy: usize,
    pub(super) room: usize,
    pub(super) ahead: usize,
}

impl Sums {
    fn add(&mut self, offer: Offer) {
        self.serving += usize::from(offer.serving);
        self.starting += usize::from(offer.starting);
        self.free += offer.free as usize;
        self.busy += offer.busy as usize;
        self.room += offer.room as usize;
        self.ahead += offer.ahead as usize;
    }

    fn remove(&mut self, offer: Offer) {
        self.serving -= usize::from(offer.serving);
        self.starting -= usize::from(offer.starting);
        self.free -= offer.free as usize;
        self.busy -= offer.busy as usize;
        self.room -= offer.room as usize;
        self.ahead -= offer.ahead as usize;
    }
}

/// The workers by number. After each change of one, [`relist`](Self::relist) it.
#[derive(Debug)]
pub(super) struct Crew {
    workers: BTreeMap<u32, Worker>,
    terms: Terms,
    sums: Sums,
    /// Workers with a free slot, the most recently freed last.
    free: BTreeMap<u64, u32>,
    /// Workers that take tasks ahead, the one with the most room last.
    room: BTreeSet<(u32, u32)>,
    last_number: u32,
    last_freed: u64,
}

impl Crew {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            workers: BTreeMap::new(),
            terms,
            sums: Sums::default(),
            free: BTreeMap::new(),
            room: BTreeSet::new(),
            last_number: 0,
            last_freed: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    pub(super) fn sums(&self) -> Sums {
        self.sums
    }

    pub(super) fn get(&self, number: u32) -> Option<&Worker> {
        self.workers.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Worker> {
        self.workers.get_mut(&number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Worker)> {
        self.workers.iter().map(|(number, worker)| (*number, worker))
    }

    /// The numbers of those that `pick` picks, lowest first. For what is rare: it looks at all.
    pub(super) fn numbers(&self, pick: impl Fn(&Worker) -> bool) -> Vec<u32> {
        self.iter().filter(|(_, worker)| pick(worker)).map(|(number, _)| number).collect()
    }

    /// A new worker; its number was never used.
    pub(super) fn add(&mut self, now: Instant64) -> u32 {
        self.last_number += 1;
        self.workers.insert(self.last_number, Worker::new(now));
        self.relist(self.last_number);
        self.last_number
    }

    /// Takes a worker out that is gone.
    pub(super) fn remove(&mut self, number: u32, now: Instant64) -> Option<Worker> {
        self.get_mut(number)?.enter(State::Exited, now);
        self.relist(number);
        self.workers.remove(&number)
    }

    /// Counts a worker by what it can contribute now.
    pub(super) fn relist(&mut self, number: u32) {
        let Some(worker) = self.workers.get_mut(&number) else { return };
        let new = worker.offers(self.terms);
        let old = std::mem::replace(&mut worker.offer, new);
        if old == new {
            return;
        }
        self.sums.remove(old);
        self.sums.add(new);
        match (old.free > 0, new.free > 0) {
            (false, true) => _ = self.free.insert(worker.freed, number),
            (true, false) => _ = self.free.remove(&worker.freed),
            _ => {}
        }
        if old.room != new.room {
            self.room.remove(&(old.room, number));
            if new.room > 0 {
                self.room.insert((new.room, number));
            }
        }
    }

    /// A slot of this worker became free: it is the next to be given a task.
    pub(super) fn freed(&mut self, number: u32) {
        let Some(worker) = self.workers.get_mut(&number) else { return };
        self.last_freed += 1;
        let before = std::mem::replace(&mut worker.freed, self.last_freed);
        if worker.offer.free > 0 {
            self.free.remove(&before);
            self.free.insert(worker.freed, number);
        }
        self.relist(number);
    }

    /// Who has the next task: the most recently idle, so that the others stay idle and can go.
    pub(super) fn first_free(&self) -> Option<u32> {
        self.free.last_key_value().map(|(_, number)| *number)
    }

    /// Who takes the next task that is sent ahead.
    pub(super) fn most_room(&self) -> Option<u32> {
        self.room.last().map(|(_, number)| *number)
    }

    /// Who has most waiting ahead. For what is rare: it looks at all.
    pub(super) fn fullest(&self) -> Option<u32> {
        let waiting = self.iter().filter(|(_, worker)| worker.offer.ahead > 0);
        waiting.max_by_key(|(_, worker)| worker.offer.ahead).map(|(number, _)| number)
    }

    /// Who idles longest, and since when.
    pub(super) fn longest_idle(&self) -> Option<(u32, Instant64)> {
        let free = self.free.values().filter_map(|number| Some((*number, self.get(*number)?)));
        let mut idle = free.filter(|(_, worker)| worker.state == State::Idle);
        idle.next().map(|(number, worker)| (number, worker.since))
    }

    /// Panics if the sums are not those of the workers.
    pub(super) fn check(&self) {
        let mut sums = Sums::default();
        for (number, worker) in self.iter() {
            assert_eq!(worker.offer, worker.offers(self.terms), "worker {number} is listed wrongly");
            sums.add(worker.offer);
            let listed = self.free.get(&worker.freed) == Some(&number);
            assert_eq!(listed, worker.offer.free > 0, "worker {number} in the list of free ones");
            let roomy = self.room.contains(&(worker.offer.room, number));
            assert_eq!(roomy, worker.offer.room > 0, "worker {number} in the list of those with room");
            let most = worker.concurrency + worker.ahead;
            assert!(worker.sent.len() <= most as usize, "worker {number} has more than {most} tasks");
            let slots = worker.sent.len() + worker.promised.len();
            assert!(worker.promised.is_empty() || slots <= worker.concurrency as usize, "worker {number}");
            assert!(worker.state != State::Idle || worker.is_empty(), "worker {number} idles with tasks");
        }
        assert_eq!(sums, self.sums);
        assert!(self.free.len() <= self.len() && self.room.len() <= self.len());
    }
}
