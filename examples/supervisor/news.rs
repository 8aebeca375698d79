//! The log: where it goes, and what is worth a line of it.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::Duration;

use taskyard::control::execute::LogLevelHook;
use taskyard::core::conductor::Happened;
use taskyard::core::dispatch::Outcome;
use taskyard::core::rfc3339::Rfc3339;
use taskyard::store::StoreStatus;
use taskyard::{WeakYard, Yard};
use tokio::sync::broadcast::error::RecvError;
use tracing_subscriber::EnvFilter;

use crate::live::Live;

/// How often the pools are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Log lines go to standard error, above the live line. `RUST_LOG` says how many, until the level that is given back is set.
pub(crate) fn log_to(live: &Live) -> LogLevelHook {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(live.clone())
        .with_filter_reloading();
    let handle = log.reload_handle();
    log.init();
    Box::new(move |level| {
        let filter = EnvFilter::default().add_directive(level.into());
        handle.reload(filter).map_err(|error| error.to_string())
    })
}

/// Logs what is wrong from now on.
pub(crate) fn follow(yard: &Yard) {
    follow_tasks(yard);
    tokio::spawn(follow_pools(yard.clone()));
    tokio::spawn(follow_store(yard.downgrade()));
}

/// Logs that the store fails and that it answers again, and that this dispatcher was taken for dead.
async fn follow_store(yard: WeakYard) {
    let mut looks = tokio::time::interval(LOOK);
    let mut before = StoreStatus::default();
    while let Some(yard) = yard.upgrade() {
        let now = yard.store_status();
        compare(&before, &now);
        // Between two registrations there is none, and after the last one neither.
        before = StoreStatus { owner: now.owner.or(before.owner), ..now };
        drop(yard);
        looks.tick().await;
    }
}

fn compare(before: &StoreStatus, now: &StoreStatus) {
    match (&before.down, &now.down) {
        (None, Some(down)) => tracing::warn!("{}; tasks wait until it answers", down.why),
        (Some(_), None) => tracing::info!("the store answers again"),
        _ => {}
    }
    let refused = now.stale_writes - before.stale_writes;
    if refused > 0 {
        tracing::warn!("{refused} writes were refused: another dispatcher took over what this one had");
    } else if now.owner.is_some() && before.owner.is_some() && before.owner != now.owner {
        tracing::warn!("the lease was lost, and with it what this dispatcher had: it goes on as a new owner");
    }
}

/// Logs that a pool can't start its workers, and that it can again.
async fn follow_pools(yard: Yard) {
    let mut looks = tokio::time::interval(LOOK);
    let mut degraded = BTreeSet::new();
    while let Ok(pools) = yard.pools().await {
        for (name, pool) in pools {
            if pool.degraded && degraded.insert(name.clone()) {
                tracing::warn!(pool = name, "its workers die at start, or too many are stuck");
            } else if !pool.degraded && degraded.remove(&name) {
                tracing::info!(pool = name, "its workers start again");
            }
        }
        looks.tick().await;
    }
}

/// Logs how tasks end: those that failed for good always, the others on demand.
fn follow_tasks(yard: &Yard) {
    let mut news = yard.observe();
    tokio::spawn(async move {
        loop {
            match news.recv().await {
                Ok(happened) => log(&happened),
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!("{missed} ends of tasks were too fast to log");
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn log(happened: &Happened) {
    match happened {
        Happened::AttemptEnded { task, again: Some(due), attempt, .. } => {
            let due = Rfc3339(*due);
            tracing::info!(id = %task.id, task = %task.name(), attempt, %due, "will be run again");
        }
        Happened::AttemptEnded { .. } => {}
        Happened::TaskEnded { task, outcome: Outcome::Trashed(why) } => {
            tracing::warn!(id = %task.id, task = %task.name(), "{why}");
        }
        Happened::TaskEnded { task, outcome } => {
            let how = match outcome {
                Outcome::Succeeded(_) | Outcome::ValueGone => "succeeded",
                Outcome::Cancelled => "cancelled",
                Outcome::Expired => "expired",
                Outcome::Discarded { .. } => "discarded",
                Outcome::Trashed(_) => "trashed",
            };
            tracing::debug!(id = %task.id, task = %task.name(), "{how}");
        }
    }
}
