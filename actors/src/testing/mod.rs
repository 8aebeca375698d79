//! For tests of actors, here and in applications: probes in a neighbour's place, a clock that a test turns, workers whose
//! tasks a test finishes by hand, and tasks for workers.

mod faulty;
mod live;
mod probe;
mod shared;
mod toy;
mod virtual_clock;

pub use faulty::{Faults, Faulty};
pub use live::live;
pub use probe::Probe;
pub use shared::Shared;
pub use toy::Toys;
pub use virtual_clock::VirtualClock;

use std::time::Duration;

/// How long a test waits for what should come before it says that it did not.
const PATIENCE: Duration = Duration::from_secs(10);
