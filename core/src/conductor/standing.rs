//! How the board stands for this yard: what its latest answer said, and what others did since, as far as anybody hinted.

use crate::id::{PoolId, PoolSet};
use crate::store::Status;

#[derive(Debug, Default)]
pub(super) struct Standing {
    status: Status,
    /// What was hinted after so many requests, until an answer can know of it.
    hint: Option<(u64, Status)>,
}

impl Standing {
    /// By the answer to request `no`. One to a question from before a hint may not know of it.
    pub(super) fn answered(&mut self, no: u64, status: Status) -> &Status {
        self.hint = self.hint.filter(|(last, _)| no <= *last);
        self.status = self.hint.map_or(status, |(_, hint)| status.or(hint));
        &self.status
    }

    /// Others changed the board, or may have; `last` requests were asked so far.
    pub(super) fn hinted(&mut self, last: u64, status: Status) -> &Status {
        let before = self.hint.map_or(Status::default(), |(_, hint)| hint);
        self.hint = Some((last, before.or(status)));
        self.status = self.status.or(status);
        &self.status
    }

    /// Whether rows are ready for this pool.
    pub(super) fn is_ready(&self, pool: PoolId) -> bool {
        self.status.ready.contains(pool)
    }

    /// Whether rows for this pool are to be judged.
    pub(super) fn is_unjudged(&self, pool: PoolId) -> bool {
        self.status.unjudged.contains(pool)
    }

    /// The pools for which there is something.
    pub(super) fn waiting(&self) -> PoolSet {
        self.status.ready.union(self.status.unjudged)
    }
}
