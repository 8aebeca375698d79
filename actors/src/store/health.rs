//! How the store is, by what it answered last, for whoever looks from outside; and each change of it, once, for the
//! Conductor. It decides nothing by it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::conductor::Event;
use taskyard_core::store::{Answer, OwnerId, Request, StoreError};
use taskyard_core::time::Timestamp;

/// How the store is. Clones show the same one; looking does not enter the store's thread.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<StoreStatus>>);

/// How a store is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// `Some`: it does not work.
    pub down: Option<StoreDown>,
    /// As which owner this yard is registered; `None`: not yet, or not any more.
    pub owner: Option<OwnerId>,
    /// How many writes were refused because another owner had taken over.
    pub stale_writes: u64,
}

/// Since when and why a store does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreDown {
    /// By the wall clock.
    pub since: Timestamp,
    /// What it said first.
    pub why: StoreError,
}

impl StoreStatus {
    /// Whether tasks are taken in and run: the store works, and this yard is registered there.
    pub fn is_ready(&self) -> bool {
        self.down.is_none() && self.owner.is_some()
    }
}

impl Health {
    /// How it is now.
    pub fn look(&self) -> StoreStatus {
        self.lock().clone()
    }

    /// What the Conductor must be told after this answer, if anything.
    pub(super) fn after(
        &self,
        wall: Timestamp,
        request: &Request,
        answer: &Result<Answer, StoreError>,
    ) -> Option<Event> {
        let mut status = self.lock();
        status.stale_writes += stale(request, answer);
        match answer {
            // A store that refuses an owner answers.
            Ok(_) | Err(StoreError::Fenced) => status.worked(request),
            Err(why) => status.failed(wall, why),
        }
    }

    /// What the Lease says of the registration.
    pub(super) fn note(&self, event: &Event) {
        match event {
            Event::Owned(owner) => self.lock().owner = Some(*owner),
            Event::Disowned | Event::Released => self.lock().owner = None,
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, StoreStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreStatus {
    /// On a full disk one can still read.
    fn worked(&mut self, request: &Request) -> Option<Event> {
        let unwritable = self.down.as_ref().is_some_and(|down| matches!(down.why, StoreError::Unwritable(_)));
        if unwritable && request.only_looks() {
            return None;
        }
        self.down.take().map(|_| Event::StoreUp)
    }

    fn failed(&mut self, since: Timestamp, why: &StoreError) -> Option<Event> {
        if self.down.is_some() {
            return None;
        }
        self.down = Some(StoreDown { since, why: why.clone() });
        Some(Event::StoreDown(why.clone()))
    }
}

/// How many writes of this request were refused for good.
fn stale(request: &Request, answer: &Result<Answer, StoreError>) -> u64 {
    match (request, answer) {
        (_, Ok(Answer::Settled(items))) => items.iter().filter(|item| !item.accepted).count() as u64,
        (_, Ok(Answer::Marked(false))) => 1,
        (Request::Settle(items), Err(StoreError::Fenced)) => items.len() as u64,
        (request, Err(StoreError::Fenced)) => u64::from(!request.only_looks()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::TaskId;
    use taskyard_core::store::Settled;

    use super::*;

    const DONE: Result<Answer, StoreError> = Ok(Answer::Sealed);

    fn after(health: &Health, request: &Request, answer: &Result<Answer, StoreError>) -> Option<Event> {
        health.after(Timestamp(5), request, answer)
    }

    #[test]
    fn each_change_is_said_once() {
        let (health, why) = (Health::default(), StoreError::Unavailable("locked".into()));
        let gone = || Err(why.clone());
        assert!(after(&health, &Request::Count, &DONE).is_none());
        assert!(matches!(after(&health, &Request::Count, &gone()), Some(Event::StoreDown(_))));
        assert!(after(&health, &Request::Count, &gone()).is_none());
        assert_eq!(health.look().down, Some(StoreDown { since: Timestamp(5), why: why.clone() }));
        assert!(matches!(after(&health, &Request::Count, &DONE), Some(Event::StoreUp)));
        assert!(after(&health, &Request::Count, &DONE).is_none());
        assert_eq!(health.look(), StoreStatus::default());
    }

    #[test]
    fn a_full_disk_is_not_mended_by_reading_from_it() {
        let (health, full) = (Health::default(), Err(StoreError::Unwritable("disk full".into())));
        assert!(matches!(after(&health, &Request::Renew, &full), Some(Event::StoreDown(_))));
        assert!(after(&health, &Request::Count, &DONE).is_none());
        assert!(matches!(after(&health, &Request::Renew, &DONE), Some(Event::StoreUp)));
    }

    #[test]
    fn what_an_owner_writes_too_late_is_counted_and_is_no_fault_of_the_store() {
        let health = Health::default();
        let settled = |accepted| Settled { id: TaskId(1), epoch: 1, accepted };
        let answer = Ok(Answer::Settled(vec![settled(true), settled(false)]));
        assert!(after(&health, &Request::Settle(Vec::new()), &answer).is_none());
        assert!(after(&health, &Request::Renew, &Err(StoreError::Fenced)).is_none());
        assert!(after(&health, &Request::Count, &Err(StoreError::Fenced)).is_none());
        assert_eq!(health.look().stale_writes, 2);
    }

    #[test]
    fn a_yard_is_ready_while_it_is_registered() {
        let health = Health::default();
        assert!(!health.look().is_ready());
        health.note(&Event::Owned(OwnerId(7)));
        assert!(health.look().is_ready());
        health.note(&Event::Disowned);
        assert!(!health.look().is_ready());
    }
}
