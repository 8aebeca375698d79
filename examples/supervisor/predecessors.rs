//! Dispatchers that are gone and still hold tasks of this board: what they hold runs again once their lease has ended. Says
//! so, since to a person it looks as if nothing happened.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use taskyard::core::store::{OwnerView, Registration};
use taskyard::{AskError, Yard};

use crate::live::Live;
use crate::patience::patiently;

/// How often it is looked while there is one, and how often else.
const OFTEN: Duration = Duration::from_millis(500);
const SELDOM: Duration = Duration::from_secs(10);
/// After a start one is most likely.
const LOOKS_AT_START: u32 = 20;

/// Tells of each in the log, and in the live line for as long as it is there.
pub(crate) async fn follow(yard: Yard, live: Live) {
    let mut seen = BTreeMap::new();
    let mut looks = 0;
    while let Ok(there) = patiently(|| look(&yard)).await {
        live.note(there.first().map(Predecessor::to_string));
        for predecessor in &there {
            if seen.insert(predecessor.0.id, predecessor.name()).is_none() {
                tracing::info!("{predecessor}");
            }
        }
        seen.retain(|id, name| {
            let is_there = there.iter().any(|predecessor| predecessor.0.id == *id);
            if !is_there {
                tracing::info!("the tasks of {name} are on the board again");
            }
            is_there
        });
        looks += 1;
        let often = looks < LOOKS_AT_START || !there.is_empty();
        tokio::time::sleep(if often { OFTEN } else { SELDOM }).await;
    }
}

/// One that is gone.
struct Predecessor(OwnerView);

impl Predecessor {
    fn name(&self) -> String {
        let Registration { host, pid, .. } = &self.0.registration;
        format!("supervisor@{host} pid {pid}")
    }
}

impl fmt::Display for Predecessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = if self.0.held == 1 { "1 task".into() } else { format!("{} tasks", self.0.held) };
        if self.0.fenced {
            return write!(f, "taking over {tasks} of {}", self.name());
        }
        let left = self.0.lease_left.as_secs_f64().ceil();
        write!(f, "waiting for the lease of {} ({tasks}), {left} s left", self.name())
    }
}

/// Those that are there now.
async fn look(yard: &Yard) -> Result<Vec<Predecessor>, AskError> {
    let own = yard.store_status().owner;
    let others = yard.owners().await?.into_iter().filter(|owner| Some(owner.id) != own);
    let gone = others.filter(|owner| owner.held > 0 && is_gone(owner));
    Ok(gone.map(Predecessor).collect())
}

/// Who lives renews three times within a lease.
fn is_gone(owner: &OwnerView) -> bool {
    let Registration { host, pid, lease, .. } = &owner.registration;
    let is_silent = owner.fenced || owner.lease_left < *lease / 2;
    is_silent || is_here(host) && !Path::new(&format!("/proc/{pid}")).exists()
}

fn is_here(host: &str) -> bool {
    rustix::system::uname().nodename().to_string_lossy() == host
}
