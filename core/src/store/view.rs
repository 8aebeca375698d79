//! Tasks as lists show them.

use std::ops::Add;
use std::sync::Arc;

use super::owner::OwnerId;
use crate::dispatch::{Failure, Order, Outcome};
use crate::id::{Epoch, TaskId};
use crate::names::Lane;
use crate::task::Task;
use crate::time::Timestamp;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// Not due.
    Parked,
    /// Due, behind others of its key.
    Behind,
    /// Due, to be judged against its key.
    Unjudged,
    /// Due, may be claimed.
    Ready,
    /// In a yard.
    Claimed,
    /// Ended.
    Ended,
}

/// A task as lists show it.
#[derive(Debug, Clone)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// Namespace and name.
    pub lane: Arc<Lane>,
    /// The task; of one that has ended only if it is in the trash.
    pub task: Option<Arc<Task>>,
    /// Where it is.
    pub state: RowState,
    /// Its place in the order, while it is unfinished.
    pub order: Option<Order>,
    /// When it is due, while it is unfinished.
    pub due: Option<Timestamp>,
    /// Who has it, while it is claimed.
    pub owner: Option<OwnerId>,
    /// The latest pass.
    pub epoch: Epoch,
    /// Counted attempts.
    pub attempts: u32,
    /// How many deliveries in a row ended with nobody left to report it.
    pub crash_marks: u32,
    /// The last failure.
    pub last_error: Option<Failure>,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// When it ended, once it has.
    pub ended: Option<Timestamp>,
    /// How its passes ended, oldest first, from the first one that went wrong. Empty in lists.
    pub log: Vec<AttemptRecord>,
    /// Whether no pool here takes it.
    pub unroutable: bool,
}

/// How one pass of a task ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptRecord {
    /// The pass.
    pub epoch: Epoch,
    /// When it ended.
    pub ended: Timestamp,
    /// Whose it was.
    pub owner: OwnerId,
    /// How.
    pub end: AttemptEnd,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// A counted failure.
    Failed(Failure),
    /// An uncounted setback.
    Setback,
    /// The task's outcome says how.
    Ended,
    /// Its dispatcher was gone; whether it had started nobody knows.
    OwnerLost,
}

/// How many rows are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Not due.
    pub parked: usize,
    /// Due, behind others of their key.
    pub behind: usize,
    /// Due, to be judged.
    pub unjudged: usize,
    /// Due, may be claimed.
    pub ready: usize,
    /// In a yard.
    pub claimed: usize,
    /// Ready or unjudged, but no pool here takes them.
    pub unroutable: usize,
    /// In the trash.
    pub trashed: usize,
}

impl Counts {
    /// So many rows in these states.
    pub fn of(states: impl IntoIterator<Item = RowState>) -> Self {
        let mut counts = Self::default();
        states.into_iter().for_each(|state| counts.count(state, 1, true));
        counts
    }

    /// So many rows more in a state. `routable`: a pool here takes them.
    pub fn count(&mut self, state: RowState, rows: usize, routable: bool) {
        if !routable && matches!(state, RowState::Ready | RowState::Unjudged) {
            self.unroutable += rows;
        }
        match state {
            RowState::Parked => self.parked += rows,
            RowState::Behind => self.behind += rows,
            RowState::Unjudged => self.unjudged += rows,
            RowState::Ready => self.ready += rows,
            RowState::Claimed => self.claimed += rows,
            RowState::Ended => {}
        }
    }

    /// How many are unfinished.
    pub fn unfinished(&self) -> usize {
        self.parked + self.behind + self.unjudged + self.ready + self.claimed
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            parked: self.parked + other.parked,
            behind: self.behind + other.behind,
            unjudged: self.unjudged + other.unjudged,
            ready: self.ready + other.ready,
            claimed: self.claimed + other.claimed,
            unroutable: self.unroutable + other.unroutable,
            trashed: self.trashed + other.trashed,
        }
    }
}
