//! The rows of the board by task id. A row moves only when the board grows, and the index beside the rows holds nothing but
//! places: so a million rows that wait cost little, and the few that come and go stay close together.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use slab::Slab;

use super::row::Row;
use crate::id::TaskId;
use crate::map::Hasher;

/// All unfinished tasks.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Slab<Row>,
    places: HashTable<u32>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Row> {
        self.rows.get(self.place(id)?)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Row> {
        let place = self.place(id)?;
        self.rows.get_mut(place)
    }

    /// Adds a row whose task has none yet.
    pub(super) fn add(&mut self, row: Row) {
        let hash = hash(row.task.id);
        let place = self.rows.insert(row) as u32;
        let Self { rows, places } = self;
        places.insert_unique(hash, place, |place| hash_at(rows, *place));
    }

    pub(super) fn remove(&mut self, id: TaskId) -> Option<Row> {
        let found = self.places.find_entry(hash(id), |place| is_at(&self.rows, *place, id)).ok()?;
        let (place, _) = found.remove();
        self.rows.try_remove(place as usize)
    }

    /// All rows, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().map(|(_, row)| row)
    }

    fn place(&self, id: TaskId) -> Option<usize> {
        self.places.find(hash(id), |place| is_at(&self.rows, *place, id)).map(|place| *place as usize)
    }

    /// Panics if index and rows differ.
    pub(super) fn check_invariants(&self) {
        assert_eq!(self.rows.len(), self.places.len());
        assert!(self.values().all(|row| self.get(row.task.id).is_some_and(|found| std::ptr::eq(found, row))));
    }
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
