//! The log: where it goes, and what is worth a line of it.

use std::io::IsTerminal as _;

use taskyard::Yard;
use taskyard::core::conductor::Happened;
use taskyard::core::dispatch::Outcome;
use tokio::sync::broadcast::error::RecvError;
use tracing_subscriber::EnvFilter;

use crate::live::Live;

/// Log lines go to standard error, above the live line. `RUST_LOG` says how many.
pub(crate) fn log_to(live: &Live) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(live.clone())
        .init();
}

/// Logs how tasks end: those that failed for good always, the others on demand.
pub(crate) fn follow(yard: &Yard) {
    let mut news = yard.observe();
    tokio::spawn(async move {
        loop {
            match news.recv().await {
                Ok(happened) => log(&happened),
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!("{missed} ends of tasks were too fast to log")
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn log(happened: &Happened) {
    match happened {
        Happened::AttemptEnded { task, again: Some(_), .. } => {
            tracing::info!(id = %task.id, task = %task.name(), "will be run again");
        }
        Happened::AttemptEnded { .. } => {}
        Happened::TaskEnded { task, outcome: Outcome::Trashed(why) } => {
            tracing::warn!(id = %task.id, task = %task.name(), "{why}");
        }
        Happened::TaskEnded { task, outcome } => {
            let how = match outcome {
                Outcome::Succeeded(_) => "succeeded",
                Outcome::Cancelled => "cancelled",
                Outcome::Expired => "expired",
                Outcome::Discarded { .. } => "discarded",
                Outcome::Trashed(_) => "trashed",
            };
            tracing::debug!(id = %task.id, task = %task.name(), "{how}");
        }
    }
}
