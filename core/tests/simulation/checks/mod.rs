//! What must hold whatever the seed: each task ends once, and so it is told to each who waits; each dispatch is settled once;
//! nothing runs early.

mod record;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use taskyard_core::conductor::SubmitRefusal;
use taskyard_core::dispatch::{Dispatch, DispatchName, Order, Outcome};
use taskyard_core::live::Live;
use taskyard_core::store::{Answer, Ask, Request, StoreError};
use taskyard_core::task::{Due, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Now, TaskId};

use crate::tally::Tally;
pub(crate) use record::Record;
pub(crate) use runs::Runs;

#[derive(Default)]
pub(crate) struct Checks {
    pub(crate) record: Record,
    pub(crate) runs: Runs,
    pub(crate) tally: Tally,
    submitted: BTreeMap<TaskId, (Arc<Task>, Now)>,
    rescheduled: BTreeSet<TaskId>,
    refused: BTreeSet<TaskId>,
    /// Who waits for which task: the node's life.
    waiting: BTreeSet<(u64, TaskId)>,
    /// Which request settles which dispatch, and in which life of a node.
    settled: BTreeMap<DispatchName, (u64, u64)>,
    orders: BTreeMap<DispatchName, Order>,
    /// Questions at the edge that have no answer yet, with the life of the node that was asked.
    questions: BTreeMap<u64, (u64, &'static str)>,
    /// Those that need no answer any more.
    excused: BTreeSet<u64>,
    latest_wall: Timestamp,
    /// How often a wall clock stepped, and how often it had when each task was submitted.
    steps: u64,
    steps_before: BTreeMap<TaskId, u64>,
}

impl Checks {
    pub(crate) fn clock(&mut self, wall: Timestamp) {
        self.latest_wall = self.latest_wall.max(wall);
    }

    pub(crate) fn clock_stepped(&mut self) {
        self.steps += 1;
    }

    pub(crate) fn submitted(&mut self, life: u64, task: &Arc<Task>, now: Now) {
        self.waiting.insert((life, task.id));
        self.steps_before.entry(task.id).or_insert(self.steps);
        let (_, first) = self.submitted.entry(task.id).or_insert((Arc::clone(task), now));
        // Which of several submits was the one that counts nobody knows.
        first.wall = first.wall.min(now.wall);
    }

    pub(crate) fn rescheduled(&mut self, id: TaskId) {
        self.rescheduled.insert(id);
    }

    /// Whether it is to be submitted again: the store failed, and nobody knows whether it is kept.
    pub(crate) fn refused(&mut self, life: u64, id: TaskId, why: &SubmitRefusal) -> bool {
        assert!(self.waiting.remove(&(life, id)), "{id} was refused and told");
        match why {
            SubmitRefusal::ExpiresTooSoon | SubmitRefusal::Draining => _ = self.refused.insert(id),
            SubmitRefusal::Store(_) => return true,
            SubmitRefusal::Board(_) => panic!("{id} refused: {why}"),
        }
        false
    }

    /// A node tells one who waits how a task ended.
    pub(crate) fn ended(&mut self, life: u64, id: TaskId, outcome: &Outcome) {
        assert!(self.waiting.remove(&(life, id)), "{id} is told to end as {outcome:?} where nobody waits");
        self.record.ended(id, outcome);
    }

    pub(crate) fn asked_at_edge(&mut self, life: u64, token: u64, what: &'static str) {
        self.questions.insert(token, (life, what));
    }

    /// Each question has one answer.
    pub(crate) fn answered(&mut self, token: u64) {
        let open = self.questions.remove(&token).is_some() || self.excused.remove(&token);
        assert!(open, "an answer to a question that is not open: {token}");
    }

    /// A node is gone, and who waited there with it.
    pub(crate) fn died(&mut self, life: u64) {
        self.tally.killed += 1;
        self.waiting.retain(|(other, _)| *other != life);
        self.questions.retain(|_, (other, _)| *other != life);
    }

    /// A node has drained while it could not ask the board: who asks it for something there learns only that it is gone.
    pub(crate) fn left_unregistered(&mut self, life: u64) {
        self.excused
            .extend(self.questions.extract_if(.., |_, (other, _)| *other == life).map(|(token, _)| token));
    }

    /// Nobody waits for anything.
    pub(crate) fn all_told(&self) -> bool {
        self.waiting.is_empty() && self.questions.is_empty()
    }

    /// Without those who wait for tasks that a drain leaves behind.
    pub(crate) fn answered_but_watches(&self) {
        let open: Vec<_> = self.questions.values().filter(|(_, what)| *what != "watch").collect();
        assert!(open.is_empty(), "no answer to {open:?}");
    }

    /// What enters the yard keeps its place in the order until a worker has it, whoever gives it back meanwhile.
    pub(crate) fn dispatched(&mut self, dispatch: &Dispatch) {
        self.orders.insert(dispatch.name(), dispatch.order);
    }

    pub(crate) fn handed(&self, dispatch: &Dispatch) {
        let name = dispatch.name();
        assert_eq!(self.orders.get(&name), Some(&dispatch.order), "{name:?} lost its place");
    }

    /// One settlement a dispatch: a repetition has the number of the first, and the owner that claimed it.
    pub(crate) fn asked(&mut self, life: u64, ask: &Ask) {
        let Request::Settle(items) = &*ask.request else { return };
        for item in items {
            let name = DispatchName { id: item.id, epoch: item.epoch };
            let first = *self.settled.entry(name).or_insert((life, ask.no));
            assert_eq!(first, (life, ask.no), "{name:?} is settled twice");
            let owner = self.record.owner(name.id, name.epoch);
            assert_eq!(owner, Some(ask.owner), "{name:?} is settled by who did not claim it");
        }
    }

    pub(crate) fn board_said(&mut self, now: Now, ask: &Ask, answer: &Result<Answer, StoreError>) {
        self.record.answered(now, ask, answer, &mut self.tally);
    }

    pub(crate) fn started(&mut self, life: u64, run: &Live, now: Now, here: &[Arc<Live>]) {
        self.tally.runs += 1;
        self.tally.overlaps += u64::from(self.runs.started(&self.record, life, run, here));
        self.not_early(run, now);
    }

    fn not_early(&self, run: &Live, now: Now) {
        let Some((task, at)) = self.submitted.get(&run.task.id) else { return };
        if run.attempt > 1 || self.rescheduled.contains(&task.id) {
            return;
        }
        match task.due {
            Due::Now => {}
            // Where it waited on the board the delay is kept on the wall clock, which may have stepped.
            Due::In(_) if self.steps_before.get(&task.id) != Some(&self.steps) => {}
            Due::In(delay) => {
                let due: Instant64 = at.mono + delay;
                let over = now.mono >= due || self.latest_wall >= at.wall + delay;
                assert!(over, "{} started before its delay was over", task.id);
            }
            Due::At(due) => assert!(self.latest_wall >= due, "{} started early", task.id),
        }
    }

    pub(crate) fn stopped(&mut self, life: u64, run: &Live) {
        self.runs.stopped(life, run);
    }

    /// Those that must have ended.
    pub(crate) fn accepted(&self) -> Vec<TaskId> {
        self.submitted.keys().filter(|id| !self.refused.contains(id)).copied().collect()
    }

    pub(crate) fn waiting(&self) -> Vec<(u64, TaskId)> {
        self.waiting.iter().copied().collect()
    }

    pub(crate) fn submitted_ids(&self) -> Vec<TaskId> {
        self.submitted.keys().copied().collect()
    }
}
