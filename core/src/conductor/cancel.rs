//! Cancel: on the board first, then in the ledger, then for what is on its way in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ledger::{After, Place};
use super::purpose::Purpose;
use super::{Answer, CancelAnswer, Conductor, Effect, EmptyFilter, RescheduleResult};
use crate::dispatch::{Cancel, Outcome, Reason};
use crate::id::{Sequence, TaskId, Token};
use crate::store::{Filter, Request};
use crate::task::Task;
use crate::time::Now;

/// The operation of a cancel whose answer nobody waits for.
const NOBODY: u64 = 0;

/// Cancels whose answers are open.
#[derive(Debug, Default)]
pub(super) struct Cancels {
    last: u64,
    operations: BTreeMap<u64, Operation>,
    /// The request whose answer is taken in just now.
    heard: Option<u64>,
}

/// One cancel under way.
#[derive(Debug)]
struct Operation {
    filter: Filter,
    reply: Token,
    /// How many questions about it the board has not answered.
    asked: usize,
    /// Whether what is in the yard was looked at.
    looked: bool,
    /// Requests that may still bring picked tasks into the yard.
    bringing: BTreeSet<u64>,
    /// Live tasks whose answer is open.
    open: BTreeSet<TaskId>,
    /// Tasks that were live when the registration was lost: the board is asked about them.
    lost: BTreeSet<TaskId>,
    answers: BTreeMap<TaskId, CancelAnswer>,
}

/// What a cancel met on the board.
pub(super) struct OnBoard {
    pub(super) tasks: Vec<Arc<Task>>,
    pub(super) elsewhere: Vec<TaskId>,
    pub(super) ended: Vec<TaskId>,
    pub(super) more: Option<Sequence>,
}

impl Operation {
    fn is_complete(&self) -> bool {
        self.asked == 0 && self.bringing.is_empty() && self.open.is_empty() && self.lost.is_empty()
    }

    /// Whether a task that comes in was there before: brought by a request that was open already, or meant before. What is
    /// submitted later is spared once the cancel has looked around.
    fn reaches(&self, id: TaskId, heard: Option<u64>) -> bool {
        !self.looked
            || heard.is_some_and(|no| self.bringing.contains(&no))
            || self.open.contains(&id)
            || self.lost.contains(&id)
    }

    fn into_answer(mut self) -> Effect {
        for id in self.filter.ids {
            self.answers.entry(id).or_insert(CancelAnswer::Absent);
        }
        Effect::Answer(self.reply, Answer::Cancelled(Ok(self.answers.into_iter().collect())))
    }
}

impl Cancels {
    /// A request was answered. What that brings comes until [`Conductor::cancels_go_on`].
    pub(super) fn hears(&mut self, no: u64) {
        self.heard = Some(no);
    }

    /// Whether a cancel under way picks a task that comes into the yard; then its answer is open there.
    pub(super) fn picks(&mut self, task: &Task) -> bool {
        let (mut picked, heard) = (false, self.heard);
        for operation in self.operations.values_mut().filter(|operation| operation.filter.picks(task)) {
            if operation.reaches(task.id, heard) {
                operation.open.insert(task.id);
                picked = true;
            }
        }
        picked
    }

    /// The answer for a task, to all that wait for it.
    fn resolve(&mut self, id: TaskId, answer: CancelAnswer) {
        for operation in self.operations.values_mut() {
            if operation.open.remove(&id) | operation.lost.remove(&id) {
                operation.answers.insert(id, answer);
            }
        }
    }

    /// What the board says of some tasks. That it cancelled them stands: asked about twice, it says that they had ended.
    fn met(&mut self, number: u64, ids: impl IntoIterator<Item = TaskId>, answer: CancelAnswer) {
        for id in ids {
            self.resolve(id, answer);
            let Some(operation) = self.operations.get_mut(&number) else { continue };
            let known = operation.answers.entry(id).or_insert(answer);
            if answer == CancelAnswer::Cancelled {
                *known = answer;
            }
        }
    }

    /// The registration is lost, and with it what was in the yard: about which tasks the board is to be asked instead.
    fn lose_live(&mut self) -> BTreeSet<TaskId> {
        let mut lost = BTreeSet::new();
        for operation in self.operations.values_mut() {
            lost.extend(operation.open.iter().copied());
            operation.lost.append(&mut operation.open);
        }
        lost
    }

    /// The board was asked about these (in order): of what it does not know nobody does.
    fn board_knows_no_more(&mut self, ids: &[TaskId]) {
        for operation in self.operations.values_mut().filter(|operation| !operation.lost.is_empty()) {
            operation.lost.retain(|id| ids.binary_search(id).is_err());
        }
    }

    pub(super) fn renumbered(&mut self, numbers: &BTreeMap<u64, u64>) {
        for operation in self.operations.values_mut() {
            let bringing = std::mem::take(&mut operation.bringing);
            operation.bringing = bringing.iter().filter_map(|no| numbers.get(no)).copied().collect();
        }
    }

    fn complete(&mut self, effects: &mut Vec<Effect>) {
        let complete = self.operations.extract_if(.., |_, operation| operation.is_complete());
        effects.extend(complete.map(|(_, operation)| operation.into_answer()));
    }
}

impl Conductor {
    pub(super) fn cancel(&mut self, now: Now, filter: Filter, reply: Token, effects: &mut Vec<Effect>) {
        if filter.is_empty() {
            effects.push(Effect::Answer(reply, Answer::Cancelled(Err(EmptyFilter))));
            return;
        }
        self.flush_posts(now, effects);
        self.cancels.last += 1;
        let operation = Operation {
            filter: filter.clone(),
            reply,
            asked: 1,
            looked: false,
            bringing: self.asks.bringing_work(),
            open: BTreeSet::new(),
            lost: BTreeSet::new(),
            answers: BTreeMap::new(),
        };
        self.cancels.operations.insert(self.cancels.last, operation);
        self.asks.ask(now, Request::Cancel { filter, after: 0 }, Purpose::Cancel(self.cancels.last), effects);
    }

    pub(super) fn cancelled_on_board(
        &mut self,
        now: Now,
        number: u64,
        request: &Request,
        met: OnBoard,
        effects: &mut Vec<Effect>,
    ) {
        let OnBoard { tasks, elsewhere, ended, more } = met;
        for task in &tasks {
            self.finish_on_board(task, Outcome::Cancelled, effects);
        }
        self.cancels.met(number, tasks.iter().map(|task| task.id), CancelAnswer::Cancelled);
        self.cancels.met(number, ended, CancelAnswer::Finished);
        self.cancels.met(number, elsewhere, CancelAnswer::Running);
        match (more, request) {
            (None, Request::Cancel { filter, .. }) if number == NOBODY => {
                self.cancels.board_knows_no_more(&filter.ids);
            }
            (Some(after), Request::Cancel { filter, .. }) => {
                let request = Request::Cancel { filter: filter.clone(), after };
                self.asks.ask(now, request, Purpose::Cancel(number), effects);
            }
            (None, Request::Cancel { after: 1.., .. }) => {
                // In several steps: what was claimed in between may be on its way.
                let bringing = self.asks.bringing_work();
                self.board_was_looked_at(number, bringing, effects);
            }
            _ => self.board_was_looked_at(number, BTreeSet::new(), effects),
        }
        self.cancels.complete(effects);
    }

    /// The registration is lost: what was wanted of tasks in the yard is wanted of whoever has them next. `told`: those that
    /// were told to end.
    pub(super) fn cancel_what_was_lost(&mut self, now: Now, told: Vec<TaskId>, effects: &mut Vec<Effect>) {
        let mut ids = self.cancels.lose_live();
        ids.extend(told);
        if !ids.is_empty() {
            let request = Request::Cancel { filter: Filter::ids(ids), after: 0 };
            self.asks.ask(now, request, Purpose::Cancel(NOBODY), effects);
        }
    }

    fn board_was_looked_at(&mut self, number: u64, bringing: BTreeSet<u64>, effects: &mut Vec<Effect>) {
        let Some(operation) = self.cancels.operations.get_mut(&number) else { return };
        operation.asked -= 1;
        operation.bringing.extend(bringing);
        if !std::mem::replace(&mut operation.looked, true) {
            self.cancel_live(number, effects);
        }
    }

    /// The second look: at what is in the yard.
    fn cancel_live(&mut self, number: u64, effects: &mut Vec<Effect>) {
        let Some(operation) = self.cancels.operations.get_mut(&number) else { return };
        let filter = operation.filter.clone();
        let entries = if filter.ids.is_empty() {
            self.ledger.in_order()
        } else {
            filter.ids.iter().filter_map(|id| self.ledger.get(*id)).collect()
        };
        let mut wanted = Vec::new();
        for entry in entries.into_iter().filter(|entry| filter.fits(&entry.live.task)) {
            let id = entry.live.task.id;
            if entry.is_disowned() {
                // The board answered for whoever has it now; unless it waits here for its old dispatch.
                operation.open.extend(self.claimed_anew.contains(id).then_some(id));
            } else if matches!(entry.place, Place::Settling(After::Finished(_))) {
                operation.answers.insert(id, CancelAnswer::Finished);
            } else if entry.told {
                operation.answers.insert(id, CancelAnswer::Running);
            } else {
                operation.open.insert(id);
                wanted.push(id);
            }
        }
        for id in wanted {
            self.wish(id, Reason::User, effects);
        }
    }

    /// A request was answered: what it could bring is in the yard now.
    pub(super) fn cancels_go_on(&mut self, no: u64, effects: &mut Vec<Effect>) {
        self.cancels.heard = None;
        if self.cancels.operations.is_empty() {
            return;
        }
        for operation in self.cancels.operations.values_mut() {
            operation.bringing.remove(&no);
        }
        self.cancels.complete(effects);
    }

    /// Somebody else wants tasks cancelled that this dispatcher has.
    pub(super) fn marked(&mut self, ids: Vec<TaskId>, effects: &mut Vec<Effect>) {
        for id in ids {
            self.wish(id, Reason::User, effects);
        }
    }

    pub(super) fn cancels_ended(&mut self, id: TaskId, outcome: &Outcome, effects: &mut Vec<Effect>) {
        if !self.cancels.operations.is_empty() {
            let cancelled = *outcome == Outcome::Cancelled;
            let answer = if cancelled { CancelAnswer::Cancelled } else { CancelAnswer::Finished };
            self.cancels.resolve(id, answer);
            self.cancels.complete(effects);
        }
        self.answer_reschedules(id, RescheduleResult::Finished, effects);
    }

    /// A task went back to the board while a cancel wanted it: the board is asked again. A cancel whose answer is not
    /// here yet may have been at the board before the task was.
    pub(super) fn cancel_what_came_back(&mut self, now: Now, task: &Task, effects: &mut Vec<Effect>) {
        let wants = |operation: &Operation| {
            operation.open.contains(&task.id) || !operation.looked && operation.filter.picks(task)
        };
        let Some((number, operation)) =
            self.cancels.operations.iter_mut().find(|(_, operation)| wants(operation))
        else {
            return;
        };
        operation.asked += 1;
        let number = *number;
        let filter = Filter { ids: vec![task.id], ..Filter::default() };
        self.asks.ask(now, Request::Cancel { filter, after: 0 }, Purpose::Cancel(number), effects);
    }

    pub(super) fn told(&mut self, cancel: &Cancel, effects: &mut Vec<Effect>) {
        let id = cancel.id();
        let Some(entry) = self.ledger.running(cancel.name()) else { return };
        if cancel.reason == Reason::User {
            entry.told = true;
            self.cancels.resolve(id, CancelAnswer::Running);
            self.cancels.complete(effects);
        } else {
            // To a task that runs only a user's wish means anything, and that it is another's.
            entry.wish = entry.wish.filter(|wish| matches!(wish, Reason::User | Reason::Disowned));
        }
        self.answer_reschedules(id, RescheduleResult::Running, effects);
    }

    /// The wish met nobody: the dispatch was between two mailboxes, or has ended. While it lives the wish is repeated.
    pub(super) fn missed(&mut self, cancel: Cancel, effects: &mut Vec<Effect>) {
        let Some(entry) = self.ledger.running(cancel.name()) else { return };
        if let Some(reason) = entry.wish.filter(|_| !entry.told) {
            effects.push(Effect::Cancel(Cancel { live: cancel.live, reason }));
        }
    }
}
