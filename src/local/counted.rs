//! Work that counts as mail in flight while it can go on, so that a test knows when a yard with workers in this process is
//! quiet. It waits for whoever wakes it, and does nothing else.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::LocalBoxFuture;
use taskyard_actors::in_flight::{Flight, InFlight};

/// A future that is in flight from the moment it is woken until it waits again; the first time from its making.
pub(super) struct Counted<'a> {
    work: LocalBoxFuture<'a, ()>,
    bell: Arc<Bell>,
}

/// Its waker: takes off, then wakes.
struct Bell {
    in_flight: InFlight,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    flight: Option<Flight>,
    sleeper: Option<Waker>,
}

impl<'a> Counted<'a> {
    /// `flight`: that in which it was made.
    pub(super) fn new(in_flight: InFlight, flight: Flight, work: LocalBoxFuture<'a, ()>) -> Self {
        let state = Mutex::new(State { flight: Some(flight), sleeper: None });
        Self { work, bell: Arc::new(Bell { in_flight, state }) }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.flight.get_or_insert_with(|| self.in_flight.launch());
        let sleeper = state.sleeper.clone();
        drop(state);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}

impl Future for Counted<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.bell.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sleeper = Some(cx.waker().clone());
        // It lands after all that came of this poll was sent. A wake meanwhile is a flight of its own.
        let _landing = state.flight.take();
        drop(state);
        let bell = Waker::from(Arc::clone(&self.bell));
        self.work.as_mut().poll(&mut Context::from_waker(&bell))
    }
}
