//! What somebody at the edge wants to know: how a task ends, wherever it does, and questions for the board alone.

use super::purpose::Purpose;
use super::replies::answered;
use super::{Answer, Conductor, Effect};
use crate::dispatch::Outcome;
use crate::id::{TaskId, Token};
use crate::store::{Request, StoreError, TaskView};
use crate::time::Now;

/// About so many tasks the board is asked at once.
const ROUND: usize = 1_000;

impl Conductor {
    pub(super) fn watch(&mut self, now: Now, id: TaskId, reply: Token, effects: &mut Vec<Effect>) {
        self.flush_posts(now, effects);
        self.watchers.add(id, reply);
        self.asks.ask(now, Request::Get(id), Purpose::Watch(reply), effects);
    }

    /// Somebody waited for what was to be recorded, and another's result stands.
    pub(super) fn follow(&mut self, now: Now, id: TaskId, reply: Token, effects: &mut Vec<Effect>) {
        self.watchers.add(id, reply);
        self.asks.ask(now, Request::Get(id), Purpose::Follow(reply), effects);
    }

    pub(super) fn watched(
        &mut self,
        request: &Request,
        reply: Token,
        view: Option<Box<TaskView>>,
        effects: &mut Vec<Effect>,
    ) {
        let Request::Get(id) = request else { return };
        let answer = match view.map(|view| view.outcome) {
            None => Answer::Unknown(*id),
            Some(Some(outcome)) => Answer::Outcome(*id, outcome),
            Some(None) => return,
        };
        // Who was told while the question was on its way is not told again.
        if self.watchers.remove(*id, reply) {
            effects.push(Effect::Answer(reply, answer));
        }
    }

    /// The store failed for as long as somebody waits for it.
    pub(super) fn not_watched(
        &mut self,
        request: &Request,
        reply: Token,
        error: StoreError,
        effects: &mut Vec<Effect>,
    ) {
        let Request::Get(id) = request else { return };
        if self.watchers.remove(*id, reply) {
            effects.push(answered(reply, Err(error)));
        }
    }

    /// Somebody does not wait any more.
    pub(super) fn unwatch(&mut self, id: TaskId, reply: Token) {
        let entry = self.ledger.get_mut(id).filter(|entry| entry.watch == Some(reply));
        if let Some(entry) = entry {
            entry.watch = None;
        } else {
            self.watchers.remove(id, reply);
        }
    }

    /// Asks how tasks ended that are waited for and are not here.
    pub(super) fn ask_for_outcomes(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if !self.keeps_basket() {
            return;
        }
        let ids = self.watchers.next_of_round(ROUND, |id| self.ledger.get(id).is_some());
        if !ids.is_empty() {
            self.asks.ask(now, Request::Outcomes(ids), Purpose::Outcomes, effects);
        }
    }

    pub(super) fn outcomes(&mut self, outcomes: Vec<(TaskId, Option<Outcome>)>, effects: &mut Vec<Effect>) {
        self.watchers.round_is_answered();
        for (id, outcome) in outcomes {
            match outcome {
                Some(outcome) => self.watchers.tell(id, outcome, effects),
                None => self.watchers.tell_unknown(id, effects),
            }
        }
    }

    /// Passes a question on to the board, after all that was submitted before it.
    pub(super) fn query(&mut self, now: Now, request: Request, reply: Token, effects: &mut Vec<Effect>) {
        self.flush_posts(now, effects);
        self.asks.ask(now, request, Purpose::Query(reply), effects);
    }
}
