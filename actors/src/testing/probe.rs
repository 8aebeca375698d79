//! A typed probe: an actor that stands in a machine's place, and keeps what it is told for the test.

use std::fmt::Debug;

use actix::{Actor, Context, Handler, Recipient};
use taskyard_core::Machine;
use tokio::sync::mpsc;

use super::PATIENCE;
use crate::tell::Tell;

/// What the actor in the place of an `M` was told, in order.
pub struct Probe<M: Machine<Event: Send + 'static>> {
    told: mpsc::UnboundedReceiver<M::Event>,
    recipient: Recipient<Tell<M::Event>>,
}

impl<M: Machine<Event: Send + Debug + 'static>> Probe<M> {
    /// Starts the actor.
    ///
    /// # Panics
    /// Outside an actix `System`.
    pub fn start() -> Self {
        let (keep, told) = mpsc::unbounded_channel();
        Self { told, recipient: Ear { keep }.start().recipient() }
    }

    /// The address to give to its neighbours.
    pub fn recipient(&self) -> Recipient<Tell<M::Event>> {
        self.recipient.clone()
    }

    /// The next event; waits for it.
    ///
    /// # Panics
    /// If none comes within ten seconds.
    pub async fn next(&mut self) -> M::Event {
        let next = tokio::time::timeout(PATIENCE, self.told.recv()).await;
        next.ok().flatten().expect("nothing came within ten seconds")
    }

    /// The next event, which must be as `is` says.
    ///
    /// # Panics
    /// If it is another, or none comes within ten seconds.
    pub async fn expect(&mut self, is: impl Fn(&M::Event) -> bool) -> M::Event {
        let event = self.next().await;
        assert!(is(&event), "did not expect {event:?}");
        event
    }

    /// What has come and was not looked at, without waiting. Certain only once nothing is in flight.
    pub fn rest(&mut self) -> Vec<M::Event> {
        std::iter::from_fn(|| self.told.try_recv().ok()).collect()
    }
}

struct Ear<E> {
    keep: mpsc::UnboundedSender<E>,
}

/// Nothing in it is ever pinned.
impl<E> Unpin for Ear<E> {}

impl<E: 'static> Actor for Ear<E> {
    type Context = Context<Self>;
}

impl<E: Send + 'static> Handler<Tell<E>> for Ear<E> {
    type Result = ();

    fn handle(&mut self, tell: Tell<E>, _: &mut Context<Self>) {
        let (events, _flight) = tell.open();
        for event in events {
            // The test may have dropped its probe.
            drop(self.keep.send(event));
        }
    }
}
