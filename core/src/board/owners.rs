//! The registered owners: until when their leases hold, what they have, and which of it somebody wants cancelled. Nothing is
//! decided here about the rows themselves. [`OwnerId::SOLE`] is not among them: it has no lease and is never fenced.

use std::collections::BTreeMap;

use crate::id::{Sequence, TaskId};
use crate::names::Namespace;
use crate::store::{OwnerId, OwnerView, Registration, Renewal, others_take};
use crate::time::Instant64;

/// All owners.
#[derive(Debug, Default)]
pub(super) struct Owners {
    last: u64,
    registered: BTreeMap<OwnerId, Owner>,
    /// Claimed rows that somebody else wants cancelled.
    unwanted: BTreeMap<(OwnerId, Sequence), TaskId>,
}

#[derive(Debug)]
struct Owner {
    registration: Registration,
    lease_end: Instant64,
    fenced: bool,
    held: BTreeMap<Sequence, TaskId>,
}

impl Owners {
    pub(super) fn register(&mut self, now: Instant64, registration: Registration) -> OwnerId {
        self.last += 1;
        let id = OwnerId(self.last);
        let lease_end = now + registration.lease;
        self.registered.insert(id, Owner { registration, lease_end, fenced: false, held: BTreeMap::new() });
        id
    }

    /// Whether what it writes counts.
    pub(super) fn may_write(&self, id: OwnerId) -> bool {
        id == OwnerId::SOLE || self.registered.get(&id).is_some_and(|owner| !owner.fenced)
    }

    pub(super) fn renew(&mut self, now: Instant64, id: OwnerId) -> Renewal {
        if let Some(owner) = self.registered.get_mut(&id) {
            owner.lease_end = now + owner.registration.lease;
        }
        // Not the one that asks: its own lease holds now.
        let lapsed = |owner: &Owner| (owner.fenced || owner.lease_end <= now) && !owner.held.is_empty();
        let unwanted = self.unwanted.range((id, 0)..=(id, Sequence::MAX));
        Renewal {
            marked: unwanted.map(|(_, task)| *task).collect(),
            lapsed: self.registered.values().any(lapsed),
        }
    }

    /// See [`others_take`].
    pub(super) fn others_take(&self, now: Instant64, asking: OwnerId, namespace: &Namespace) -> bool {
        let live = self.registered.iter().filter(|(_, owner)| !owner.fenced && owner.lease_end > now);
        let patterns = live.map(|(id, owner)| (*id, owner.registration.patterns.as_slice()));
        others_take(patterns, asking, namespace)
    }

    pub(super) fn hold(&mut self, id: OwnerId, sequence: Sequence, task: TaskId) {
        if let Some(owner) = self.registered.get_mut(&id) {
            owner.held.insert(sequence, task);
        }
    }

    pub(super) fn let_go(&mut self, id: OwnerId, sequence: Sequence) {
        if let Some(owner) = self.registered.get_mut(&id) {
            owner.held.remove(&sequence);
        }
        if !self.unwanted.is_empty() {
            self.unwanted.remove(&(id, sequence));
        }
    }

    /// Somebody wants a row of this owner cancelled.
    pub(super) fn mark(&mut self, id: OwnerId, sequence: Sequence, task: TaskId) {
        self.unwanted.insert((id, sequence), task);
    }

    /// What an owner has, oldest first.
    pub(super) fn held(&self, id: OwnerId) -> impl Iterator<Item = TaskId> {
        self.registered.get(&id).into_iter().flat_map(|owner| owner.held.values().copied())
    }

    /// Fences whose lease has ended, but for the one that asks: it is alive.
    pub(super) fn fence(&mut self, now: Instant64, asking: OwnerId) {
        for (id, owner) in &mut self.registered {
            owner.fenced |= owner.lease_end <= now && *id != asking;
        }
    }

    /// What the fenced ones have, oldest first, at most so many.
    pub(super) fn orphans(&self, up_to: usize) -> Vec<TaskId> {
        let fenced = self.registered.values().filter(|owner| owner.fenced);
        let mut orphans: Vec<_> = fenced.flat_map(|owner| owner.held.iter().take(up_to)).collect();
        orphans.sort_unstable();
        orphans.into_iter().take(up_to).map(|(_, task)| *task).collect()
    }

    /// Removes the fenced ones that have nothing left. Which they were.
    pub(super) fn bury(&mut self) -> Vec<OwnerId> {
        let gone = self.registered.extract_if(.., |_, owner| owner.fenced && owner.held.is_empty());
        gone.map(|(id, _)| id).collect()
    }

    pub(super) fn remove(&mut self, id: OwnerId) {
        self.registered.remove(&id);
    }

    pub(super) fn any_fenced(&self) -> bool {
        self.registered.values().any(|owner| owner.fenced)
    }

    pub(super) fn views(&self, now: Instant64) -> Vec<OwnerView> {
        let view = |(id, owner): (&OwnerId, &Owner)| OwnerView {
            id: *id,
            registration: owner.registration.clone(),
            lease_left: std::time::Duration::from_micros(owner.lease_end.since(now).max(0) as u64),
            fenced: owner.fenced,
            held: owner.held.len(),
        };
        self.registered.iter().map(view).collect()
    }

    /// Panics unless exactly the rows that `is_claimed` knows are held, and what is unwanted is claimed.
    pub(super) fn check_invariants(
        &self,
        claimed: usize,
        is_claimed: impl Fn(OwnerId, Sequence, TaskId) -> bool,
    ) {
        let held =
            self.registered.iter().flat_map(|(id, owner)| owner.held.iter().map(move |held| (*id, held)));
        assert!(held.clone().all(|(id, (sequence, task))| is_claimed(id, *sequence, *task)));
        assert_eq!(held.count(), claimed, "an owner has what nobody knows of");
        let unwanted = self.unwanted.iter();
        assert!(unwanted.clone().all(|((id, sequence), task)| is_claimed(*id, *sequence, *task)));
    }
}
