//! A clock that stands still until a test turns it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::LocalBoxFuture;
use taskyard_core::time::Timestamp;
use taskyard_core::{Now, Wakeup};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::in_flight::{Flight, InFlight};

/// Both clocks under a test's hand. Whoever is woken by a turn counts as mail in flight, so after a turn
/// [`InFlight::quiet`] waits for all that follows from it.
#[derive(Clone, Default)]
pub struct VirtualClock(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Now,
    sleepers: Vec<Sleeper>,
}

struct Sleeper {
    wakeup: Wakeup,
    in_flight: InFlight,
    wake: oneshot::Sender<Flight>,
}

impl VirtualClock {
    /// A clock that shows `wall`, with the monotonic clock at zero.
    pub fn at(wall: Timestamp) -> Self {
        let clock = Self::default();
        clock.lock().now.wall = wall;
        clock
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, span: Duration) {
        self.turn(|now| *now = Now { mono: now.mono + span, wall: now.wall + span });
    }

    /// Sets the wall clock, as an administrator or NTP might.
    pub fn step_wall(&self, to: Timestamp) {
        self.turn(|now| now.wall = to);
    }

    fn turn(&self, turn: impl FnOnce(&mut Now)) {
        let mut state = self.lock();
        turn(&mut state.now);
        let now = state.now;
        for sleeper in state.sleepers.extract_if(.., |sleeper| sleeper.wakeup.is_due(now)) {
            // Who cancelled its timer does not listen any more, and its flight lands here.
            drop(sleeper.wake.send(sleeper.in_flight.launch()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        self.lock().now
    }

    fn sleep(&self, wakeup: Wakeup, in_flight: &InFlight) -> LocalBoxFuture<'static, Flight> {
        let mut state = self.lock();
        if wakeup.is_due(state.now) {
            let flight = in_flight.launch();
            return Box::pin(async { flight });
        }
        let (wake, woken) = oneshot::channel();
        state.sleepers.retain(|sleeper| !sleeper.wake.is_closed());
        state.sleepers.push(Sleeper { wakeup, in_flight: in_flight.clone(), wake });
        Box::pin(async move {
            match woken.await {
                Ok(flight) => flight,
                // The clock is gone, and so is its time.
                Err(_) => std::future::pending().await,
            }
        })
    }
}
