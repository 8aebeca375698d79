//! Who waits for which task's outcome, and questions that are passed on to the board.

use super::purpose::Purpose;
use super::replies::answered;
use super::{Answer, Conductor, Effect};
use crate::dispatch::Outcome;
use crate::id::{TaskId, Token};
use crate::map::Map;
use crate::store::{Request, StoreError, TaskView};
use crate::time::Now;

/// Who waits for which task.
#[derive(Debug, Default)]
pub(super) struct Watchers(Map<TaskId, Tokens>);

/// Nearly always one.
#[derive(Debug)]
struct Tokens {
    first: Token,
    more: Vec<Token>,
}

impl Watchers {
    pub(super) fn add(&mut self, id: TaskId, token: Token) {
        self.0
            .entry(id)
            .and_modify(|tokens| tokens.more.push(token))
            .or_insert(Tokens { first: token, more: Vec::new() });
    }

    /// Whether it still waited.
    pub(super) fn remove(&mut self, id: TaskId, token: Token) -> bool {
        let Some(Tokens { first, mut more }) = self.0.remove(&id) else { return false };
        more.insert(0, first);
        let Some(place) = more.iter().position(|other| *other == token) else {
            self.put(id, more);
            return false;
        };
        more.remove(place);
        self.put(id, more);
        true
    }

    fn put(&mut self, id: TaskId, tokens: Vec<Token>) {
        let mut tokens = tokens.into_iter();
        if let Some(first) = tokens.next() {
            self.0.insert(id, Tokens { first, more: tokens.collect() });
        }
    }

    pub(super) fn tell(&mut self, id: TaskId, outcome: Outcome, effects: &mut Vec<Effect>) {
        if self.0.is_empty() {
            return;
        }
        let Some(Tokens { first, more }) = self.0.remove(&id) else { return };
        let more = more.into_iter().map(|token| (token, outcome.clone())).collect::<Vec<_>>();
        let told = std::iter::once((first, outcome)).chain(more);
        effects.extend(told.map(|(token, outcome)| Effect::Answer(token, Answer::Outcome(id, outcome))));
    }
}

impl Conductor {
    pub(super) fn watch(&mut self, now: Now, id: TaskId, reply: Token, effects: &mut Vec<Effect>) {
        self.flush_posts(now, effects);
        self.watchers.add(id, reply);
        self.asks.ask(now, Request::Get(id), Purpose::Watch(reply), effects);
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

    /// Passes a question on to the board, after all that was submitted before it.
    pub(super) fn query(&mut self, now: Now, request: Request, reply: Token, effects: &mut Vec<Effect>) {
        self.flush_posts(now, effects);
        self.asks.ask(now, request, Purpose::Query(reply), effects);
    }
}
