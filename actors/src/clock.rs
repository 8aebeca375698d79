//! Where the actors' time comes from. Machines are told the time; nothing but a clock reads it.

use std::time::{Duration, Instant, SystemTime};

use futures::future::LocalBoxFuture;
use taskyard_core::time::{Instant64, micros};
use taskyard_core::{Now, Wakeup};

use crate::in_flight::{Flight, InFlight};
use crate::store::Bell;

/// How long a step of the wall clock may go unnoticed.
const RECHECK: Duration = Duration::from_secs(1);

/// Tells the time and waits for it.
pub trait Clock: Send + Sync + 'static {
    /// Both clocks.
    fn now(&self) -> Now;

    /// Resolves when the wake-up is due or the clocks should be looked at again, whichever is first. What it resolves to
    /// counts as mail in flight until it is dropped.
    fn sleep(&self, wakeup: Wakeup, in_flight: &InFlight) -> LocalBoxFuture<'static, Flight>;

    /// The same for a thread that blocks: for how long at most. `None`: until somebody rings; a clock that is turned by
    /// hand does so once the wake-up is due ([`Bell::turned`]).
    fn doze(&self, wakeup: Wakeup, _bell: &Bell) -> Option<Duration> {
        let span = wakeup.sleep(self.now());
        if wakeup.wall.is_some() { span.map(|span| span.min(RECHECK)) } else { span }
    }
}

/// The machine's own clocks; the monotonic one counts from when this was made.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    started: Instant,
}

impl RealClock {
    /// A clock whose monotonic time starts now.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Now {
        Now { mono: Instant64(micros(self.started.elapsed())), wall: SystemTime::now().into() }
    }

    fn sleep(&self, wakeup: Wakeup, in_flight: &InFlight) -> LocalBoxFuture<'static, Flight> {
        let span = wakeup.sleep(self.now());
        let span = if wakeup.wall.is_some() { span.map(|span| span.min(RECHECK)) } else { span };
        let in_flight = in_flight.clone();
        Box::pin(async move {
            match span {
                Some(span) => tokio::time::sleep(span).await,
                None => std::future::pending().await,
            }
            in_flight.launch()
        })
    }
}
