//! What must hold whatever the seed: each task ends once, is settled once a dispatch, never runs early, and no key runs
//! more often than it may.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use taskyard_core::conductor::SubmitRefusal;
use taskyard_core::dispatch::{Dispatch, DispatchName, Order, Outcome};
use taskyard_core::live::Live;
use taskyard_core::store::Request;
use taskyard_core::task::{Due, KeyLimits, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Now, TaskId};

#[derive(Default)]
pub(crate) struct Checks {
    submitted: BTreeMap<TaskId, (Arc<Task>, Now)>,
    rescheduled: BTreeSet<TaskId>,
    refused: BTreeSet<TaskId>,
    ended: BTreeMap<TaskId, Outcome>,
    settled: BTreeMap<(TaskId, u32), u64>,
    running: BTreeMap<TaskId, u32>,
    started: BTreeSet<(TaskId, u32)>,
    orders: BTreeMap<DispatchName, Order>,
    /// Questions at the edge that have no answer yet.
    questions: BTreeMap<u64, &'static str>,
    latest_wall: Timestamp,
    /// How often the wall clock stepped, and how often it had when each task was submitted.
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

    pub(crate) fn submitted(&mut self, task: &Arc<Task>, now: Now) {
        self.steps_before.insert(task.id, self.steps);
        self.submitted.insert(task.id, (Arc::clone(task), now));
    }

    pub(crate) fn rescheduled(&mut self, id: TaskId) {
        self.rescheduled.insert(id);
    }

    pub(crate) fn refused(&mut self, id: TaskId, why: &SubmitRefusal) {
        assert!(
            matches!(why, SubmitRefusal::ExpiresTooSoon | SubmitRefusal::Draining),
            "{id} refused: {why}"
        );
        self.refused.insert(id);
    }

    pub(crate) fn ended(&mut self, id: TaskId, outcome: Outcome) {
        assert!(!self.refused.contains(&id), "{id} was refused and ended as {outcome:?}");
        let before = self.ended.insert(id, outcome);
        assert!(before.is_none(), "{id} ended twice, at first as {before:?}");
    }

    pub(crate) fn asked_at_edge(&mut self, token: u64, what: &'static str) {
        self.questions.insert(token, what);
    }

    /// Each question has one answer.
    pub(crate) fn answered(&mut self, token: u64) {
        assert!(self.questions.remove(&token).is_some(), "an answer to a question that is not open: {token}");
    }

    pub(crate) fn all_answered(&self) -> bool {
        self.questions.is_empty()
    }

    /// Without those who wait for tasks that a drain leaves behind.
    pub(crate) fn answered_but_watches(&self) {
        let open: Vec<_> = self.questions.values().filter(|what| **what != "watch").collect();
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

    /// One settlement a dispatch: a repetition has the number of the first.
    pub(crate) fn asked(&mut self, no: u64, request: &Request) {
        let Request::Settle(items) = request else { return };
        for item in items {
            let first = *self.settled.entry((item.id, item.epoch)).or_insert(no);
            assert_eq!(first, no, "{} epoch {} is settled twice", item.id, item.epoch);
        }
    }

    pub(crate) fn started(&mut self, live: &Live, now: Now, running: &[Arc<Live>]) {
        let id = live.task.id;
        assert!(self.started.insert((id, live.epoch)), "{id} epoch {} started twice", live.epoch);
        let before = self.running.insert(id, live.epoch);
        assert!(before.is_none(), "{id} runs twice");
        assert!(!self.ended.contains_key(&id), "{id} runs after its end");
        self.not_early(live, now);
        if let Some(key) = live.task.key.filter(|_| live.task.limits.running != KeyLimits::UNLIMITED) {
            let twins = running.iter().filter(|other| other.task.key == Some(key)).count();
            assert!(twins <= live.task.limits.running as usize, "{twins} of {key:?} run");
        }
    }

    fn not_early(&self, live: &Live, now: Now) {
        let Some((task, at)) = self.submitted.get(&live.task.id) else { return };
        if live.attempt > 1 || self.rescheduled.contains(&task.id) {
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

    pub(crate) fn stopped(&mut self, live: &Live) {
        self.running.remove(&live.task.id);
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.submitted.keys().all(|id| self.ended.contains_key(id) || self.refused.contains(id))
    }

    pub(crate) fn unfinished(&self) -> Vec<TaskId> {
        let open = |id: &&TaskId| !self.ended.contains_key(id) && !self.refused.contains(id);
        self.submitted.keys().filter(open).copied().collect()
    }

    pub(crate) fn submitted_ids(&self) -> Vec<TaskId> {
        self.submitted.keys().copied().collect()
    }
}
