//! Breaks a yard on purpose, to see how the supervisor ends by a bug: a clock that panics on the yard's own thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::LocalBoxFuture;
use taskyard::Builder;
use taskyard::core::{Now, Wakeup};
use taskyard_actors::clock::{Clock, RealClock};
use taskyard_actors::in_flight::{Flight, InFlight};

struct BrokenClock {
    clock: RealClock,
    from: Instant,
}

impl Clock for BrokenClock {
    fn now(&self) -> Now {
        let on_yard = std::thread::current().name() == Some("taskyard");
        assert!(!on_yard || Instant::now() < self.from, "a fault on purpose");
        self.clock.now()
    }

    fn sleep(&self, wakeup: Wakeup, in_flight: &InFlight) -> LocalBoxFuture<'static, Flight> {
        self.clock.sleep(wakeup, in_flight)
    }
}

/// A yard that breaks after so many seconds, as soon as anything happens in it.
pub(crate) fn prepare(builder: Builder, after: Option<f64>) -> Builder {
    let Some(after) = after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
        return builder;
    };
    let clock = BrokenClock { clock: RealClock::start(), from: Instant::now() + after };
    builder.clock(Arc::new(clock), InFlight::default())
}
