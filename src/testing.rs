//! For tests of applications: a whole yard on a clock that the test turns, which says when it is quiet.

use std::sync::Arc;
use std::time::Duration;

use taskyard_actors::in_flight::InFlight;
pub use taskyard_actors::testing::{Probe, Toys, VirtualClock};
use taskyard_core::time::Timestamp;

use crate::builder::Builder;
use crate::errors::StartError;
use crate::yard::Yard;

/// A yard whose time stands still between [`advance`](Self::advance) calls.
pub struct TestYard {
    yard: Yard,
    clock: VirtualClock,
    in_flight: InFlight,
}

impl TestYard {
    /// Starts the yard at this time of the wall clock.
    pub fn start(builder: Builder, wall: Timestamp) -> Result<Self, StartError> {
        let (clock, in_flight) = (VirtualClock::at(wall), InFlight::default());
        let yard = builder.clock(Arc::new(clock.clone()), in_flight.clone()).start()?;
        Ok(Self { yard, clock, in_flight })
    }

    /// The handle.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Lets time pass on both clocks, and all happen that follows from it.
    pub async fn advance(&self, span: Duration) {
        self.clock.advance(span);
        self.quiet().await;
    }

    /// Sets the wall clock alone, and lets all happen that follows from it.
    pub async fn step_wall(&self, to: Timestamp) {
        self.clock.step_wall(to);
        self.quiet().await;
    }

    /// Resolves once no mail is on its way: nothing more happens until time passes, a worker reports or somebody asks.
    pub async fn quiet(&self) {
        self.in_flight.quiet().await;
    }
}
