//! Batches: how many tasks of a run are unfinished, and whether more are to come. It never looks at a task.

use std::collections::{BTreeMap, VecDeque};

use crate::map::Map;
use crate::store::{BatchId, BatchState};

type Hash = [u8; 32];

/// The latest run of each content.
#[derive(Debug)]
pub(super) struct Batches {
    /// How many finished ones are remembered, for the number of their run.
    remembered: usize,
    last: u64,
    ids: Map<Hash, BatchId>,
    runs: BTreeMap<BatchId, Batch>,
    finished: VecDeque<BatchId>,
}

#[derive(Debug)]
struct Batch {
    hash: Hash,
    run: u32,
    sealed: bool,
    unfinished: usize,
}

impl Batch {
    fn is_finished(&self) -> bool {
        self.sealed && self.unfinished == 0
    }
}

impl Batches {
    pub(super) fn new(remembered: usize) -> Self {
        Self { remembered, last: 0, ids: Map::default(), runs: BTreeMap::new(), finished: VecDeque::new() }
    }

    /// The unfinished run of this content, or a new one.
    pub(super) fn open(&mut self, hash: Hash) -> BatchState {
        let latest = self.ids.get(&hash).and_then(|id| Some((*id, self.runs.get(id)?)));
        let run = match latest {
            Some((id, batch)) if !batch.is_finished() => {
                return BatchState { id, run: batch.run, resumed: true };
            }
            Some((_, batch)) => batch.run + 1,
            None => 1,
        };
        self.last += 1;
        let id = BatchId(self.last);
        if let Some(before) = self.ids.insert(hash, id) {
            self.runs.remove(&before);
        }
        self.runs.insert(id, Batch { hash, run, sealed: false, unfinished: 0 });
        BatchState { id, run, resumed: false }
    }

    /// One more task holds the batch up, if it is not finished. Whether it does.
    pub(super) fn enter(&mut self, id: BatchId) -> bool {
        let batch = self.runs.get_mut(&id).filter(|batch| !batch.is_finished());
        batch.is_some_and(|batch| {
            batch.unfinished += 1;
            true
        })
    }

    /// One task less holds the batch up.
    pub(super) fn leave(&mut self, id: BatchId) {
        if let Some(batch) = self.runs.get_mut(&id) {
            batch.unfinished -= 1;
            self.finish(id);
        }
    }

    /// No more tasks are to come.
    pub(super) fn seal(&mut self, id: BatchId) {
        if let Some(batch) = self.runs.get_mut(&id)
            && !std::mem::replace(&mut batch.sealed, true)
        {
            self.finish(id);
        }
    }

    fn finish(&mut self, id: BatchId) {
        if !self.runs.get(&id).is_some_and(Batch::is_finished) {
            return;
        }
        self.finished.push_back(id);
        if self.finished.len() > self.remembered
            && let Some(batch) = self.finished.pop_front().and_then(|oldest| self.runs.remove(&oldest))
        {
            self.ids.remove(&batch.hash);
        }
    }

    /// Panics unless each batch is held up by as many tasks as `unfinished` counts.
    pub(super) fn check_invariants(&self, unfinished: impl Fn(BatchId) -> usize) {
        for (id, batch) in &self.runs {
            assert_eq!(batch.unfinished, unfinished(*id), "of batch {id:?}");
            assert_eq!(self.ids.get(&batch.hash), Some(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(batches: &mut Batches, hash: u8) -> BatchId {
        let BatchState { id, resumed, .. } = batches.open([hash; 32]);
        assert!(!resumed);
        batches.seal(id);
        id
    }

    #[test]
    fn a_finished_run_stays_finished() {
        let mut batches = Batches::new(9);
        let id = finished(&mut batches, 1);
        assert!(!batches.enter(id) && !batches.enter(BatchId(7)));
        batches.seal(id);
        assert_eq!(batches.open([1; 32]).run, 2);
    }

    #[test]
    fn so_many_finished_runs_are_remembered() {
        let mut batches = Batches::new(2);
        for hash in [1, 2, 3] {
            finished(&mut batches, hash);
        }
        assert_eq!(batches.runs.len(), 2);
        assert_eq!([1, 2, 3].map(|hash| batches.open([hash; 32]).run), [1, 2, 2]);
        batches.check_invariants(|_| 0);
    }
}
