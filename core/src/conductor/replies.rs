//! What the board answers, and what becomes of a request that it does not answer: each is taken to who asked for it.

use std::sync::Arc;

use super::asks::{Answered, GivenUp};
use super::cancel::OnBoard;
use super::purpose::Purpose;
use super::{Answer as EdgeAnswer, Conductor, Effect};
use crate::dispatch::Outcome;
use crate::store::{Answer, Reply, Request, Status, StoreError};
use crate::task::Task;
use crate::time::Now;

impl Conductor {
    pub(super) fn reply(&mut self, now: Now, reply: Reply, effects: &mut Vec<Effect>) {
        let Reply { no, answer, status, .. } = reply;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.failed(now, no, error, effects),
        };
        let Some(Answered { purpose, request, .. }) = self.asks.answered(no) else {
            return self.strays.look_after_late(&answer);
        };
        self.basket.stands(self.standing.answered(no, status));
        self.cancels.hears(no);
        self.take_answer(now, purpose, &request, answer, effects);
        self.cancels_go_on(no, effects);
        self.strays_go_on(now, no, effects);
    }

    /// Others changed the board, or may have.
    pub(super) fn hinted(&mut self, status: Status) {
        self.basket.stands(self.standing.hinted(self.asks.last(), status));
    }

    fn take_answer(
        &mut self,
        now: Now,
        purpose: Purpose,
        request: &Request,
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) {
        match (purpose, answer) {
            (Purpose::Post(open), Answer::Posted(answers)) => {
                self.posted(now, open, request, answers, effects);
            }
            (Purpose::Claim { pool, ready, near }, Answer::Claimed { rows, expired }) => {
                self.claimed(now, pool, (ready, near), rows, expired.len(), effects);
                self.expired(expired, effects);
            }
            (Purpose::Settle, Answer::Settled(results)) => self.settled(now, &results, effects),
            (Purpose::Mark(name), Answer::Marked(still_held)) => {
                self.marked_start(name, still_held, effects);
            }
            (Purpose::Promote, Answer::Promoted { expired }) => {
                self.basket.promoted(now, expired.len());
                self.expired(expired, effects);
            }
            (Purpose::Prune, Answer::Pruned { more, .. }) => self.basket.pruned(now, more),
            (Purpose::Cancel(operation), Answer::Cancelled { tasks, elsewhere, ended, more }) => {
                let met = OnBoard { tasks, elsewhere, ended, more };
                self.cancelled_on_board(now, operation, request, met, effects);
            }
            (Purpose::Reschedule(reply), Answer::Rescheduled(answer)) => {
                self.rescheduled_on_board(request, reply, answer, effects);
            }
            (Purpose::Watch(reply) | Purpose::Follow(reply), Answer::Task(view)) => {
                self.watched(request, reply, view, effects);
            }
            (Purpose::Query(reply), answer) => effects.push(answered(reply, Ok(answer))),
            (Purpose::Outcomes, Answer::Outcomes(outcomes)) => self.outcomes(outcomes, effects),
            (Purpose::Left, Answer::Tasks { tasks, .. }) => self.drained(&tasks, effects),
            (Purpose::Left, Answer::Counts(counts)) => self.leave(Some(counts), effects),
            (Purpose::Held, Answer::Held(names)) => self.held(names),
            (Purpose::Strays, Answer::Tasks { tasks, more }) => {
                self.give_back_strays(now, &tasks, more, effects);
            }
            _ => {}
        }
    }

    fn expired(&mut self, tasks: Vec<Arc<Task>>, effects: &mut Vec<Effect>) {
        for task in tasks {
            self.finish_on_board(&task, Outcome::Expired, effects);
        }
    }

    fn failed(&mut self, now: Now, no: u64, error: StoreError, effects: &mut Vec<Effect>) {
        if let Some(given_up) = self.asks.failed(now, no, error) {
            self.gave_up(now, given_up, effects);
        }
    }

    /// Whoever waited for it learns that the store fails.
    pub(super) fn gave_up(&mut self, now: Now, given_up: GivenUp, effects: &mut Vec<Effect>) {
        let GivenUp { no, purpose, request, error } = given_up;
        match purpose {
            Purpose::Post(open) => {
                if matches!(error, StoreError::Unknown(_)) {
                    // What it claimed, if it did, nobody waits for.
                    self.strays.look();
                }
                self.not_posted(open, &request, &error, effects);
            }
            Purpose::Watch(reply) => self.not_watched(&request, reply, error, effects),
            Purpose::Query(reply) => effects.push(answered(reply, Err(error))),
            _ => {}
        }
        self.cancels_go_on(no, effects);
        self.strays_go_on(now, no, effects);
    }

    pub(super) fn store_is_up(&mut self, now: Now) {
        self.asks.store_is_up(now);
        self.strays.look();
    }
}

pub(super) fn answered(reply: crate::id::Token, answer: Result<Answer, StoreError>) -> Effect {
    Effect::Answer(reply, EdgeAnswer::Board(Box::new(answer)))
}
