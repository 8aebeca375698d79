//! What must hold of what runs: no pass twice, two passes of one task at once only if the first one's owner was fenced, no
//! key more often than it may, nothing early, and no more runs than a task may have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::id::Epoch;
use taskyard_core::live::Live;
use taskyard_core::task::KeyLimits;

use super::record::Record;

#[derive(Default)]
pub(crate) struct Runs {
    /// What runs, and in which life of a node.
    running: BTreeMap<TaskId, Vec<(u64, Epoch)>>,
    started: BTreeSet<(TaskId, Epoch)>,
    /// The runs of a task in a row whose end the board does not know.
    unreported: BTreeMap<TaskId, Vec<Epoch>>,
    /// Nodes that can't be expected to have ended what they ran before their lease did.
    excused: BTreeSet<u64>,
    /// Whether all others can be.
    pub(crate) strict: bool,
}

impl Runs {
    /// Whether an earlier pass of the task still runs.
    pub(crate) fn started(&mut self, record: &Record, life: u64, run: &Live, here: &[Arc<Live>]) -> bool {
        let (id, epoch) = (run.task.id, run.epoch);
        assert!(self.started.insert((id, epoch)), "{id} epoch {epoch} started twice");
        let this = (life, epoch);
        let runs = self.running.entry(id).or_default();
        let late = |&(life, _): &(u64, Epoch)| self.strict && !self.excused.contains(&life);
        let fenced = |epoch| record.owner(id, epoch).is_some_and(|owner| record.is_fenced(owner));
        let may_overlap = |pass: &(u64, Epoch)| !late(pass) && fenced(pass.1);
        let earlier = |other: &(u64, Epoch)| if other.1 < epoch { *other } else { this };
        let overlap = runs.iter().find(|other| !may_overlap(&earlier(other)));
        assert!(overlap.is_none(), "{id}: {this:?} runs beside {overlap:?}");
        assert!(!record.has_ended(id) || fenced(epoch), "{id} runs after its end");
        let overlaps = !runs.is_empty();
        runs.push(this);
        keys(run, here);
        self.count(record, id, epoch);
        overlaps
    }

    /// This node does nothing for a while.
    pub(crate) fn excuse(&mut self, life: u64) {
        self.excused.insert(life);
    }

    /// A run more since the board last heard of an end.
    fn count(&mut self, record: &Record, id: TaskId, epoch: Epoch) {
        let runs = self.unreported.entry(id).or_default();
        runs.push(epoch);
        let last = record.last_settled(id);
        runs.retain(|epoch| Some(*epoch) > last);
        let most = record.max_deliveries as usize;
        assert!(runs.len() <= most, "{id} ran in the passes {runs:?}, and nobody reported how they ended");
    }

    pub(crate) fn stopped(&mut self, life: u64, run: &Live) {
        let id = run.task.id;
        let Some(runs) = self.running.get_mut(&id) else { return };
        runs.retain(|other| *other != (life, run.epoch));
        if runs.is_empty() {
            self.running.remove(&id);
        }
    }
}

/// Keys hold per node.
fn keys(run: &Live, here: &[Arc<Live>]) {
    if let Some(key) = run.task.key.filter(|_| run.task.limits.running != KeyLimits::UNLIMITED) {
        let twins = here.iter().filter(|other| other.task.key == Some(key)).count();
        assert!(twins <= run.task.limits.running as usize, "{twins} of {key:?} run");
    }
}
