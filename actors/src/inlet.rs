//! The way into an actor from other threads: a queue and one wake-up, however many threads put events in.
//!
//! A message across threads costs a wake-up; here only the event that finds the queue empty pays for one. The queue is
//! first in first out for all who use it. It has no bound of its own: whoever puts in waits for an answer (producers) or
//! holds a bounded number of tasks (workers).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::Recipient;

use crate::in_flight::InFlight;
use crate::tell::Tell;

/// A queue in front of one actor.
pub struct Inlet<E: Send + 'static> {
    waiting: Mutex<Vec<E>>,
    to: Recipient<Tell<E>>,
    in_flight: InFlight,
}

impl<E: Send + 'static> Inlet<E> {
    /// A queue in front of `to`.
    pub fn new(to: Recipient<Tell<E>>, in_flight: InFlight) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), to, in_flight })
    }

    /// Adds events at the end. If the actor is gone, they are lost; the guardian tells everybody who waits.
    pub fn put(self: &Arc<Self>, events: impl IntoIterator<Item = E>) {
        if self.add(events) {
            self.to.do_send(Tell::waiting(Arc::clone(self), &self.in_flight));
        }
    }

    /// Whether the queue was empty before and is not now, so that the actor must be woken.
    fn add(&self, events: impl IntoIterator<Item = E>) -> bool {
        let mut waiting = self.lock();
        let was_empty = waiting.is_empty();
        waiting.extend(events);
        was_empty && !waiting.is_empty()
    }

    pub(crate) fn take(&self) -> Vec<E> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<E>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Send + 'static> fmt::Debug for Inlet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inlet({} waiting)", self.lock().len())
    }
}
