//! Who waits for which task's outcome.
//!
//! On a shared board a task may end elsewhere: those that are waited for are asked about in rounds.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::{Answer, Effect};
use crate::dispatch::Outcome;
use crate::id::{TaskId, Token};
use crate::map::Map;

/// Who waits for which task.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    tokens: Map<TaskId, Tokens>,
    round: Option<Round>,
}

/// Nearly always one.
#[derive(Debug)]
struct Tokens {
    first: Token,
    more: Vec<Token>,
}

/// All tasks that are waited for, and how far the round is.
#[derive(Debug, Default)]
struct Round {
    ids: BTreeSet<TaskId>,
    last: Option<TaskId>,
    /// The board has not answered about the last ones.
    is_asked: bool,
}

impl Watchers {
    pub(super) fn new(shared: bool) -> Self {
        Self { tokens: Map::default(), round: shared.then(Round::default) }
    }

    pub(super) fn add(&mut self, id: TaskId, token: Token) {
        self.tokens
            .entry(id)
            .and_modify(|tokens| tokens.more.push(token))
            .or_insert(Tokens { first: token, more: Vec::new() });
        if let Some(round) = &mut self.round {
            round.ids.insert(id);
        }
    }

    fn take(&mut self, id: TaskId) -> Option<Tokens> {
        if let Some(round) = &mut self.round {
            round.ids.remove(&id);
        }
        self.tokens.remove(&id)
    }

    /// Whether it still waited.
    pub(super) fn remove(&mut self, id: TaskId, token: Token) -> bool {
        let Some(Tokens { first, more }) = self.take(id) else { return false };
        let mut tokens: Vec<_> = std::iter::once(first).chain(more).collect();
        let place = tokens.iter().position(|other| *other == token);
        place.map(|place| tokens.remove(place));
        for token in tokens {
            self.add(id, token);
        }
        place.is_some()
    }

    pub(super) fn tell(&mut self, id: TaskId, outcome: Outcome, effects: &mut Vec<Effect>) {
        if self.tokens.is_empty() {
            return;
        }
        let Some(Tokens { first, more }) = self.take(id) else { return };
        let more = more.into_iter().map(|token| (token, outcome.clone())).collect::<Vec<_>>();
        let told = std::iter::once((first, outcome)).chain(more);
        effects.extend(told.map(|(token, outcome)| Effect::Answer(token, Answer::Outcome(id, outcome))));
    }

    /// Nobody knows the task.
    pub(super) fn tell_unknown(&mut self, id: TaskId, effects: &mut Vec<Effect>) {
        let Some(Tokens { first, more }) = self.take(id) else { return };
        let told = std::iter::once(first).chain(more);
        effects.extend(told.map(|token| Effect::Answer(token, Answer::Unknown(id))));
    }

    /// The next ids of the round to ask about, among so many; none of those that are here, and none while the board has
    /// not answered about the last ones.
    pub(super) fn next_of_round(&mut self, among: usize, is_here: impl Fn(TaskId) -> bool) -> Vec<TaskId> {
        let Some(round) = self.round.as_mut().filter(|round| !round.is_asked) else { return Vec::new() };
        let mut next = round.step(among);
        next.retain(|id| !is_here(*id));
        round.is_asked = !next.is_empty();
        next
    }

    pub(super) fn round_is_answered(&mut self) {
        if let Some(round) = &mut self.round {
            round.is_asked = false;
        }
    }
}

impl Round {
    fn step(&mut self, up_to: usize) -> Vec<TaskId> {
        let last = self.last.unwrap_or(TaskId(u128::MAX));
        let after = self.ids.range((Bound::Excluded(last), Bound::Unbounded));
        let next: Vec<_> = after.chain(self.ids.range(..=last)).take(up_to).copied().collect();
        self.last = next.last().copied().or(self.last);
        next
    }
}
