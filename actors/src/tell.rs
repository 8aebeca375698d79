//! The typed message of all machines' actors. It carries a batch, so that a hop is paid once a batch and not once a task.

use std::sync::Arc;

use actix::Message;

use crate::in_flight::{Flight, InFlight};
use crate::inlet::Inlet;

/// Events for one machine, in order.
#[derive(Debug)]
pub struct Tell<E: Send + 'static> {
    batch: Batch<E>,
    flight: Flight,
}

#[derive(Debug)]
enum Batch<E: Send + 'static> {
    Here(Vec<E>),
    /// Whatever the inlet holds by the time this is handled.
    Waiting(Arc<Inlet<E>>),
}

impl<E: Send + 'static> Message for Tell<E> {
    type Result = ();
}

impl<E: Send + 'static> Tell<E> {
    /// A message with these events.
    pub fn new(events: Vec<E>, in_flight: &InFlight) -> Self {
        Self { batch: Batch::Here(events), flight: in_flight.launch() }
    }

    /// A message that takes what waits in the inlet.
    pub(crate) fn waiting(inlet: Arc<Inlet<E>>, in_flight: &InFlight) -> Self {
        Self { batch: Batch::Waiting(inlet), flight: in_flight.launch() }
    }

    /// The events, and the flight to drop once all that follows from them was sent.
    pub fn open(self) -> (Vec<E>, Flight) {
        let events = match self.batch {
            Batch::Here(events) => events,
            Batch::Waiting(inlet) => inlet.take(),
        };
        (events, self.flight)
    }
}
