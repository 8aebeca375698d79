//! A board so plain that it can be seen to be right: one lane, one priority, no keys, no bounds. Stores are compared with it.

use std::collections::BTreeMap;

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{OwnerId, RescheduleAnswer, RowState, TaskView};

/// Milliseconds since the script began.
pub(crate) type Ms = u64;

/// How a pass ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Retry(Ms),
    GiveBack,
    Trash,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    Cancelled,
    Expired,
    Trashed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Parked,
    Ready,
    Claimed,
    Ended(Fate),
}

#[derive(Debug)]
struct Row {
    place: Place,
    /// Rank and sequence.
    order: (Ms, u64),
    due: Ms,
    expires: Ms,
    owner: OwnerId,
    epoch: u32,
    attempts: u32,
    unwanted: bool,
}

impl Row {
    fn is_held_by(&self, owner: OwnerId) -> bool {
        self.place == Place::Claimed && self.owner == owner
    }

    fn come_back(&mut self, now: Ms, due: Ms) {
        self.due = due;
        self.place = match due {
            _ if self.unwanted => Place::Ended(Fate::Cancelled),
            due if due > now => Place::Parked,
            _ => Place::Ready,
        };
    }
}

/// The board.
#[derive(Debug, Default)]
pub(crate) struct Model {
    rows: BTreeMap<u64, Row>,
}

impl Model {
    /// Whether the task is new.
    pub(crate) fn post(&mut self, now: Ms, n: u64, due: Ms, expires: Ms) -> bool {
        let sequence = self.rows.len() as u64;
        let new = !self.rows.contains_key(&n);
        let place = if due > now { Place::Parked } else { Place::Ready };
        self.rows.entry(n).or_insert(Row {
            place,
            order: (due.max(now), sequence),
            due,
            expires,
            owner: OwnerId::SOLE,
            epoch: 0,
            attempts: 0,
            unwanted: false,
        });
        new
    }

    /// Those in a place, in the order that `key` gives.
    fn sorted<K: Ord>(&self, place: Place, key: impl Fn(&Row) -> K) -> Vec<u64> {
        let mut found: Vec<_> = self.rows.iter().filter(|(_, row)| row.place == place).collect();
        found.sort_by_key(|(_, row)| key(row));
        found.into_iter().map(|(n, _)| *n).collect()
    }

    /// Takes the first of some tasks: the claimed with their epochs, and those that had expired.
    fn take(
        &mut self,
        now: Ms,
        owner: OwnerId,
        tasks: Vec<u64>,
        up_to: usize,
    ) -> (Vec<(u64, u32)>, Vec<u64>) {
        let (mut taken, mut expired) = (Vec::new(), Vec::new());
        for n in tasks {
            let row = self.rows.get_mut(&n).unwrap();
            if taken.len() == up_to {
                break;
            } else if row.expires <= now {
                row.place = Place::Ended(Fate::Expired);
                expired.push(n);
            } else {
                (row.place, row.owner, row.epoch) = (Place::Claimed, owner, row.epoch + 1);
                taken.push((n, row.epoch));
            }
        }
        (taken, expired)
    }

    pub(crate) fn claim(&mut self, now: Ms, owner: OwnerId, up_to: usize) -> (Vec<(u64, u32)>, Vec<u64>) {
        let ready = self.sorted(Place::Ready, |row| row.order);
        self.take(now, owner, ready, up_to)
    }

    pub(crate) fn preload(
        &mut self,
        now: Ms,
        owner: OwnerId,
        before: Ms,
        up_to: usize,
    ) -> (Vec<(u64, u32)>, Vec<u64>) {
        let mut parked = self.sorted(Place::Parked, |row| (row.due, row.order));
        parked.retain(|n| self.rows[n].due < before);
        self.take(now, owner, parked, up_to)
    }

    /// Whether the end is recorded.
    pub(crate) fn settle(&mut self, now: Ms, owner: OwnerId, (n, epoch): (u64, u32), end: End) -> bool {
        let Some(row) = self.rows.get_mut(&n).filter(|row| row.owner == owner && row.epoch == epoch) else {
            return false;
        };
        if row.place != Place::Claimed {
            return true;
        }
        row.attempts += u32::from(matches!(end, End::Retry(_) | End::Trash));
        match end {
            End::Done => row.place = Place::Ended(Fate::Done),
            End::Trash => row.place = Place::Ended(Fate::Trashed),
            End::GiveBack => row.come_back(now, now),
            End::Retry(due) => {
                row.order.0 = due.max(now);
                row.come_back(now, due);
            }
        }
        true
    }

    /// Those that expired.
    pub(crate) fn promote(&mut self, now: Ms) -> Vec<u64> {
        let mut expired = Vec::new();
        for (n, row) in &mut self.rows {
            let waits = matches!(row.place, Place::Parked | Place::Ready);
            if waits && row.expires <= now {
                row.place = Place::Ended(Fate::Expired);
                expired.push(*n);
            } else if waits && row.due <= now {
                row.place = Place::Ready;
            }
        }
        expired
    }

    /// The cancelled, those that others have, and those that had ended.
    pub(crate) fn cancel(&mut self, owner: OwnerId, tasks: &[u64]) -> [Vec<u64>; 3] {
        let [mut gone, mut elsewhere, mut ended] = [const { Vec::new() }; 3];
        for n in tasks {
            let Some(row) = self.rows.get_mut(n) else { continue };
            match row.place {
                Place::Ended(_) => ended.push(*n),
                Place::Claimed if row.owner == owner => {}
                Place::Claimed => {
                    row.unwanted = true;
                    elsewhere.push(*n);
                }
                Place::Parked | Place::Ready => {
                    row.place = Place::Ended(Fate::Cancelled);
                    gone.push(*n);
                }
            }
        }
        [gone, elsewhere, ended]
    }

    pub(crate) fn reschedule(&mut self, now: Ms, owner: OwnerId, n: u64, due: Ms) -> RescheduleAnswer {
        let Some(row) = self.rows.get_mut(&n) else { return RescheduleAnswer::Absent };
        match row.place {
            Place::Ended(_) => RescheduleAnswer::Ended,
            Place::Claimed if row.owner == owner => RescheduleAnswer::Claimed,
            Place::Claimed => RescheduleAnswer::Elsewhere,
            Place::Parked | Place::Ready => {
                row.order.0 = due.max(now);
                row.come_back(now, due);
                RescheduleAnswer::Done
            }
        }
    }

    /// What this owner has comes back.
    pub(crate) fn take_over(&mut self, now: Ms, dead: OwnerId) {
        for row in self.rows.values_mut().filter(|row| row.is_held_by(dead)) {
            row.come_back(now, row.due);
        }
    }

    /// What an owner has, with its epochs, oldest first.
    pub(crate) fn held(&self, owner: OwnerId) -> Vec<(u64, u32)> {
        let claimed = self.sorted(Place::Claimed, |row| row.order.1);
        let held = claimed.into_iter().filter(|n| self.rows[n].is_held_by(owner));
        held.map(|n| (n, self.rows[&n].epoch)).collect()
    }

    /// What an owner has that somebody wants cancelled, oldest first.
    pub(crate) fn marked(&self, owner: OwnerId) -> Vec<u64> {
        self.held(owner).into_iter().map(|(n, _)| n).filter(|n| self.rows[n].unwanted).collect()
    }

    /// Panics if a store shows a task otherwise.
    pub(crate) fn check(&self, n: u64, view: Option<&TaskView>) {
        let row = self.rows.get(&n);
        assert_eq!(row.is_some(), view.is_some(), "task {n}");
        let (Some(row), Some(view)) = (row, view) else { return };
        let state = match row.place {
            Place::Parked => RowState::Parked,
            Place::Ready => RowState::Ready,
            Place::Claimed => RowState::Claimed,
            Place::Ended(_) => RowState::Ended,
        };
        let fate = view.outcome.as_ref().map(|outcome| match outcome {
            Outcome::Succeeded(_) => Fate::Done,
            Outcome::Cancelled => Fate::Cancelled,
            Outcome::Expired => Fate::Expired,
            Outcome::Trashed(_) => Fate::Trashed,
            other => panic!("{other:?}"),
        });
        let expected = if let Place::Ended(fate) = row.place { Some(fate) } else { None };
        let owner = (row.place == Place::Claimed).then_some(row.owner);
        assert_eq!((view.state, fate, view.owner), (state, expected, owner), "task {n}");
        assert_eq!((view.epoch, view.attempts), (row.epoch, row.attempts), "task {n}");
    }

    /// How many are unfinished.
    pub(crate) fn unfinished(&self) -> usize {
        self.rows.values().filter(|row| !matches!(row.place, Place::Ended(_))).count()
    }
}
