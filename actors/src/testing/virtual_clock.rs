//! A clock that stands still until a test turns it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::LocalBoxFuture;
use taskyard_core::time::Timestamp;
use taskyard_core::{Now, Wakeup};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::in_flight::{Flight, InFlight};
use crate::store::Bell;

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
    wake: Wake,
}

enum Wake {
    Future(InFlight, oneshot::Sender<Flight>),
    Thread(Bell),
}

impl Wake {
    fn wake(self) {
        match self {
            // Who cancelled its timer does not listen any more, and its flight lands here.
            Self::Future(in_flight, wake) => drop(wake.send(in_flight.launch())),
            Self::Thread(bell) => bell.turned(),
        }
    }

    /// Whether nobody listens, or this thread does.
    fn is_over(&self, bell: Option<&Bell>) -> bool {
        match self {
            Self::Future(_, wake) => wake.is_closed(),
            Self::Thread(other) => bell.is_some_and(|bell| bell.is(other)),
        }
    }
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
            sleeper.wake.wake();
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
        state.sleepers.retain(|sleeper| !sleeper.wake.is_over(None));
        state.sleepers.push(Sleeper { wakeup, wake: Wake::Future(in_flight.clone(), wake) });
        Box::pin(async move {
            match woken.await {
                Ok(flight) => flight,
                // The clock is gone, and so is its time.
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn doze(&self, wakeup: Wakeup, bell: &Bell) -> Option<Duration> {
        let mut state = self.lock();
        state.sleepers.retain(|sleeper| !sleeper.wake.is_over(Some(bell)));
        if wakeup.is_due(state.now) {
            return Some(Duration::ZERO);
        }
        state.sleepers.push(Sleeper { wakeup, wake: Wake::Thread(bell.clone()) });
        None
    }
}
