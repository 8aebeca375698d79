//! The task that does nothing but say when it started.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskHandler};

/// Nothing to do, with or without a payload to carry.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Nothing {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    payload: String,
}

impl Nothing {
    /// With a payload of so many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self { payload: "x".repeat(bytes) }
    }
}

impl TaskHandler for Nothing {
    const NAME: &'static str = "load.nothing";
    type Output = u64;

    async fn run(self, _: Context) -> Result<u64, HandlerError> {
        Ok(micros_now())
    }
}

/// The wall clock, in microseconds.
pub(crate) fn micros_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
