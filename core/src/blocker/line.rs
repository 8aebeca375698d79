//! The line of one key: who waits for it in which order, and who goes when too many do. It talks to nobody.

use std::collections::BTreeMap;

use crate::dispatch::{Dispatch, DispatchName, Order};
use crate::id::{Sequence, TaskId};
use crate::task::Overflow;

/// Everything that the Blocker holds of one key. `occupied` stands while InProgress remembers an interest, or the `Freed`
/// that serves it is on its way.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Not judged on a fresh answer yet.
    pub(super) arrived: BTreeMap<Order, Box<Dispatch>>,
    /// Judged: they wait until the key is free.
    waiting: BTreeMap<Order, Waiting>,
    /// The waiting ones by whether they ran before (those that did are never dropped), then by age.
    ages: BTreeMap<(bool, Sequence), Order>,
    /// The dispatch of the outstanding question.
    pub(super) asked: Option<Asked>,
    /// Whether the waiting ones are known to have to wait.
    pub(super) occupied: bool,
}

/// For whom a question is outstanding; the dispatch may have been taken out since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) name: DispatchName,
    pub(super) order: Order,
}

#[derive(Debug)]
struct Waiting {
    dispatch: Box<Dispatch>,
    ran: bool,
}

/// What became of an arrival whose key is occupied.
#[derive(Debug)]
pub(super) enum Judged {
    /// It waits.
    Waits,
    /// It waits, and this one was dropped for it or for a newer one.
    Displaces { dropped: Box<Dispatch>, lost_to: TaskId },
    /// It was dropped.
    Dropped { dropped: Box<Dispatch>, lost_to: TaskId },
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.arrived.len() + self.waiting.len()
    }

    pub(super) fn held(&self) -> impl Iterator<Item = &Dispatch> {
        let waiting = self.waiting.values().map(|waiting| &*waiting.dispatch);
        self.arrived.values().map(|dispatch| &**dispatch).chain(waiting)
    }

    pub(super) fn get(&self, order: Order) -> Option<&Dispatch> {
        let waiting = || self.waiting.get(&order).map(|waiting| &waiting.dispatch);
        self.arrived.get(&order).or_else(waiting).map(|dispatch| &**dispatch)
    }

    /// The first that may be granted the key as far as is known.
    pub(super) fn candidate(&self) -> Option<&Dispatch> {
        let arrived = self.arrived.first_key_value().map(|(order, dispatch)| (order, &**dispatch));
        let waiting = self.waiting.first_key_value().map(|(order, waiting)| (order, &*waiting.dispatch));
        let waiting = waiting.filter(|_| !self.occupied);
        arrived.into_iter().chain(waiting).min_by_key(|(order, _)| **order).map(|(_, dispatch)| dispatch)
    }

    /// Whether a question must find the interest of the waiting ones standing.
    pub(super) fn others_wait(&self) -> bool {
        self.occupied && !self.waiting.is_empty()
    }

    /// Takes one out; also says whether it had been judged.
    pub(super) fn take(&mut self, order: Order) -> Option<(Box<Dispatch>, bool)> {
        if let Some(dispatch) = self.arrived.remove(&order) {
            return Some((dispatch, false));
        }
        let Waiting { dispatch, ran } = self.waiting.remove(&order)?;
        self.ages.remove(&(ran, order.sequence));
        Some((dispatch, true))
    }

    /// Applies an arrival's own policy, once per task: what was judged in an earlier pass waits whatever the number.
    pub(super) fn judge(&mut self, order: Order, holder: TaskId) -> Option<Judged> {
        let mut dispatch = self.arrived.remove(&order)?;
        let limits = dispatch.limits();
        let ran = std::mem::replace(&mut dispatch.judged, true);
        let full = !ran && limits.bounds_waiting() && self.waiting.len() >= limits.waiting as usize;
        if full && limits.overflow == Overflow::DropNew {
            return Some(Judged::Dropped { dropped: dispatch, lost_to: holder });
        }
        let newcomer = dispatch.id();
        self.waiting.insert(order, Waiting { dispatch, ran });
        self.ages.insert((ran, order.sequence), order);
        Some(if full { self.drop_oldest(newcomer, holder) } else { Judged::Waits })
    }

    /// Drops the lowest sequence among those that never ran, the newcomer included; it loses to the newest that stays.
    fn drop_oldest(&mut self, newcomer: TaskId, holder: TaskId) -> Judged {
        let oldest = self.ages.first_key_value().filter(|((ran, _), _)| !ran).map(|(_, order)| *order);
        let Some((dropped, _)) = oldest.and_then(|order| self.take(order)) else { return Judged::Waits };
        let lost_to = self.newest().unwrap_or(holder);
        if dropped.id() == newcomer {
            Judged::Dropped { dropped, lost_to }
        } else {
            Judged::Displaces { dropped, lost_to }
        }
    }

    fn newest(&self) -> Option<TaskId> {
        let never_ran = self.ages.range(..(true, 0)).next_back();
        let order =
            never_ran.into_iter().chain(self.ages.last_key_value()).max_by_key(|((_, age), _)| *age)?.1;
        Some(self.waiting.get(order)?.dispatch.id())
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.waiting.len(), self.ages.len(), "each waiting one has one age");
        assert!(
            self.waiting.values().all(|waiting| waiting.dispatch.judged),
            "it waits without having been judged"
        );
        let stuck = self.asked.is_none() && self.candidate().is_some();
        assert!(!stuck, "one may be granted the key, and nobody asks");
        assert!(self.asked.is_some() || !self.is_empty(), "an empty line was kept");
    }
}
