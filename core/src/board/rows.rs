//! The rows of the board by task id, and in order of arrival. A row moves only when the board grows, and the indexes beside
//! the rows hold little but places: so a million rows that wait cost little, and the few that come and go stay close
//! together.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use slab::Slab;

use super::arrivals::{Arrival, Arrivals};
use super::row::Row;
use crate::id::{Sequence, TaskId};
use crate::map::Hasher;

/// All unfinished tasks.
#[derive(Debug, Default)]
pub(super) struct Rows {
    slab: Slab<Row>,
    places: HashTable<u32>,
    arrivals: Arrivals,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Row> {
        self.slab.get(self.place(id)?)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Row> {
        let place = self.place(id)?;
        self.slab.get_mut(place)
    }

    /// Adds a row whose task has none yet, and whose sequence is the highest.
    pub(super) fn add(&mut self, row: Row) {
        let (hash, sequence) = (hash(row.task.id), row.order.sequence);
        let place = self.slab.insert(row) as u32;
        let Self { slab, places, arrivals } = self;
        arrivals.add(sequence, place);
        places.insert_unique(hash, place, |place| hash_at(slab, *place));
    }

    pub(super) fn remove(&mut self, id: TaskId) -> Option<Row> {
        let found = self.places.find_entry(hash(id), |place| is_at(&self.slab, *place, id)).ok()?;
        let (place, _) = found.remove();
        let row = self.slab.try_remove(place as usize);
        if self.arrivals.has_gaps(self.slab.len()) {
            let Self { slab, arrivals, .. } = self;
            arrivals.keep(|arrival| arrived(slab, arrival).is_some());
        }
        row
    }

    /// What arrived after a sequence, in order, and where to go on if there may be more. At most so many are looked for, of
    /// which some may be gone.
    pub(super) fn page(&self, after: Sequence, at_most: usize) -> (Vec<&Row>, Option<Sequence>) {
        let mut arrivals = self.arrivals.after(after);
        let mut last = None;
        let page = arrivals.by_ref().take(at_most).inspect(|arrival| last = Some(arrival.sequence));
        let rows = page.filter_map(|arrival| arrived(&self.slab, arrival)).collect();
        (rows, last.filter(|_| arrivals.next().is_some()))
    }

    /// All rows, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &Row> {
        self.slab.iter().map(|(_, row)| row)
    }

    fn place(&self, id: TaskId) -> Option<usize> {
        self.places.find(hash(id), |place| is_at(&self.slab, *place, id)).map(|place| *place as usize)
    }

    /// Panics if index and rows differ.
    pub(super) fn check_invariants(&self) {
        assert_eq!(self.slab.len(), self.places.len());
        assert!(self.values().all(|row| self.get(row.task.id).is_some_and(|found| std::ptr::eq(found, row))));
        assert!(self.arrivals.after(0).is_sorted_by_key(|arrival| arrival.sequence));
        let there = self.arrivals.after(0).filter(|arrival| arrived(&self.slab, *arrival).is_some());
        assert_eq!(self.slab.len(), there.count());
    }
}

/// A row that may be gone, its place then free or another's.
fn arrived(rows: &Slab<Row>, arrival: Arrival) -> Option<&Row> {
    rows.get(arrival.place as usize).filter(|row| row.order.sequence == arrival.sequence)
}

fn hash(id: TaskId) -> u64 {
    Hasher::default().hash_one(id)
}

fn hash_at(rows: &Slab<Row>, place: u32) -> u64 {
    rows.get(place as usize).map_or(0, |row| hash(row.task.id))
}

fn is_at(rows: &Slab<Row>, place: u32, id: TaskId) -> bool {
    rows.get(place as usize).is_some_and(|row| row.task.id == id)
}
