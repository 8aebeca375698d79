//! Runs producers, and runs one again that failed: with exponential back-off and jitter, for ever. A producer's failure
//! never harms the others or the yard.

use std::hash::{BuildHasher as _, RandomState};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use tokio::task::JoinSet;

use super::Producer;
use super::intake::Intake;
use super::status::State;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that ran so long before it failed is run again after the first pause.
const FORGIVEN_AFTER: Duration = Duration::from_mins(1);

/// Producers that run. Dropping this stops them.
#[derive(Debug, Default)]
pub struct Producers(JoinSet<()>);

impl Producers {
    /// Starts a producer, on the runtime of the caller.
    pub fn start(&mut self, producer: impl Producer, intake: Intake) {
        self.0.spawn(keep_running(producer, intake));
    }

    /// Stops all of them and waits for that.
    pub async fn stop(&mut self) {
        self.0.shutdown().await;
    }
}

async fn keep_running(mut producer: impl Producer, intake: Intake) {
    let mut pause = FIRST_PAUSE;
    loop {
        intake.status().enter(State::Running);
        let started = Instant::now();
        let run = AssertUnwindSafe(producer.run(&intake)).catch_unwind().await;
        let error = match run {
            Ok(Ok(())) => return intake.status().enter(State::Done),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it panicked".into(),
        };
        if started.elapsed() >= FORGIVEN_AFTER {
            pause = FIRST_PAUSE;
        }
        intake.status().failed(&error);
        let spread = spread(pause);
        tracing::warn!(producer = intake.status().name(), %error, again_in = ?spread, "a producer failed");
        tokio::time::sleep(spread).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The pause, up to a fifth longer or shorter, so that many that failed together do not come back together.
fn spread(pause: Duration) -> Duration {
    let dice = RandomState::new().hash_one(()) % 401;
    pause.mul_f64(0.8 + dice as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_spread_by_a_fifth_at_most() {
        for _ in 0..1_000 {
            let spread = spread(Duration::from_secs(10));
            assert!((Duration::from_secs(8)..=Duration::from_secs(12)).contains(&spread), "{spread:?}");
        }
    }
}
