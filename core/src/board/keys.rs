//! How many rows of a key are ready or claimed, and which wait behind them. Keys whose waiting is bounded are not here:
//! those rows are judged in the yard.

use std::collections::BTreeMap;

use super::row::Row;
use super::rows::Rows;
use crate::dispatch::Order;
use crate::id::TaskId;
use crate::map::Map;
use crate::names::Namespace;
use crate::store::RowState;
use crate::task::Key;

type Name = (Key, Namespace);

/// The keys that have rows.
#[derive(Debug, Default)]
pub(super) struct Keys(Map<Name, KeyRows>);

#[derive(Debug, Default)]
struct KeyRows {
    counted: u32,
    behind: BTreeMap<Order, TaskId>,
}

fn name(row: &Row) -> Option<(Name, u32)> {
    row.serial_key().map(|(key, limit)| ((key, row.task.lane.namespace.clone()), limit))
}

impl Keys {
    /// Counts the row as ready or claimed if one more of its key may be (one more than may run, so that the next is
    /// at hand), or whatever the count if `force`. Whether it is counted or needs no count.
    pub(super) fn admit(&mut self, row: &mut Row, force: bool) -> bool {
        if row.counted {
            return true;
        }
        let Some((name, limit)) = name(row) else { return true };
        let rows = self.0.entry(name).or_default();
        if rows.counted > limit && !force {
            return false;
        }
        rows.counted += 1;
        row.counted = true;
        true
    }

    /// The row is no longer ready or claimed. The one to promote in its place, if one waits and may.
    pub(super) fn release(&mut self, row: &mut Row) -> Option<TaskId> {
        if !std::mem::take(&mut row.counted) {
            return None;
        }
        let (name, limit) = name(row)?;
        let rows = self.0.get_mut(&name)?;
        rows.counted -= 1;
        if rows.counted == 0 && rows.behind.is_empty() {
            self.0.remove(&name);
            return None;
        }
        rows.behind.first_key_value().filter(|_| rows.counted <= limit).map(|(_, id)| *id)
    }

    pub(super) fn wait_behind(&mut self, row: &Row) {
        if let Some((name, _)) = name(row) {
            self.0.entry(name).or_default().behind.insert(row.order, row.task.id);
        }
    }

    pub(super) fn leave_behind(&mut self, row: &Row) {
        let Some((name, _)) = name(row) else { return };
        if let Some(rows) = self.0.get_mut(&name) {
            rows.behind.remove(&row.order);
            if rows.counted == 0 && rows.behind.is_empty() {
                self.0.remove(&name);
            }
        }
    }

    pub(super) fn behind(&self) -> usize {
        self.0.values().map(|rows| rows.behind.len()).sum()
    }

    pub(super) fn check_invariants(&self, rows: &Rows) {
        let counted = rows.values().filter(|row| row.counted).count();
        assert_eq!(counted, self.0.values().map(|key| key.counted as usize).sum::<usize>());
        for key in self.0.values() {
            assert!(key.behind.is_empty() || key.counted > 0, "a row is behind nobody");
            assert!(
                key.behind.values().all(|id| rows.get(*id).is_some_and(|row| row.state == RowState::Behind))
            );
        }
    }
}
