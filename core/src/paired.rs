//! The Conductor and a board that answers within the Conductor's turn, as one machine: for the memory Board, whose answers
//! need no waiting. It carries requests and replies between the two and decides nothing.

use crate::conductor;
use crate::machine::Machine;
use crate::store::{Ask, Reply};
use crate::time::{Now, Wakeup};

/// A Conductor with its board. To the outside it is a Conductor that never asks.
#[derive(Debug)]
pub struct Paired<C, B> {
    conductor: C,
    board: B,
    /// What the Conductor said and was not looked at yet.
    told: Vec<conductor::Effect>,
    /// What the board answered and the Conductor was not told yet.
    replies: Vec<Reply>,
}

impl<C, B> Paired<C, B>
where
    C: Machine<Event = conductor::Event, Effect = conductor::Effect>,
    B: Machine<Event = Ask, Effect = Reply>,
{
    /// The two as one.
    pub fn new(conductor: C, board: B) -> Self {
        Self { conductor, board, told: Vec::new(), replies: Vec::new() }
    }

    /// Carries requests and replies until none is left. Returns whether there were any.
    fn converse(&mut self, now: Now, effects: &mut Vec<conductor::Effect>) -> bool {
        let mut conversed = false;
        loop {
            for effect in self.told.drain(..) {
                match effect {
                    conductor::Effect::Ask(ask) => self.board.handle(now, ask, &mut self.replies),
                    // What keeps a registration alive is nothing to a board that is not shared.
                    conductor::Effect::Pulse | conductor::Effect::Release => {}
                    effect => effects.push(effect),
                }
            }
            if self.replies.is_empty() {
                return conversed;
            }
            conversed = true;
            for reply in self.replies.drain(..) {
                self.conductor.handle(now, conductor::Event::Reply(Box::new(reply)), &mut self.told);
            }
        }
    }
}

impl<C, B> Machine for Paired<C, B>
where
    C: Machine<Event = conductor::Event, Effect = conductor::Effect>,
    B: Machine<Event = Ask, Effect = Reply>,
{
    type Event = conductor::Event;
    type Effect = conductor::Effect;

    fn handle(&mut self, now: Now, event: conductor::Event, effects: &mut Vec<conductor::Effect>) {
        self.conductor.handle(now, event, &mut self.told);
        self.converse(now, effects);
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<conductor::Effect>) {
        self.board.wake(now, &mut self.replies);
        self.conductor.wake(now, &mut self.told);
        self.converse(now, effects);
    }

    /// A reply to what the Conductor asks at the end of its turn belongs to the turn, so the turn ends again after it.
    fn end_turn(&mut self, now: Now, effects: &mut Vec<conductor::Effect>) {
        loop {
            self.conductor.end_turn(now, &mut self.told);
            self.board.end_turn(now, &mut self.replies);
            if !self.converse(now, effects) {
                return;
            }
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.conductor.next_wakeup().or(self.board.next_wakeup())
    }

    fn check_invariants(&self) {
        self.conductor.check_invariants();
        self.board.check_invariants();
        assert!(self.told.is_empty() && self.replies.is_empty(), "a conversation was left unfinished");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{self, Answer, Counts, OwnerId, Request, Status};

    /// Asks three questions for one event, one of them only at the end of the turn, and answers after the third reply.
    #[derive(Default)]
    struct Asker {
        asked: u64,
        answered: u64,
        later: bool,
    }

    impl Asker {
        fn ask(&mut self) -> conductor::Effect {
            self.asked += 1;
            conductor::Effect::Ask(Ask {
                owner: OwnerId::SOLE,
                from: store::Asker::Conductor,
                no: self.asked,
                request: Arc::new(Request::Count),
                oldest_open: 0,
            })
        }
    }

    impl Machine for Asker {
        type Event = conductor::Event;
        type Effect = conductor::Effect;
        fn handle(&mut self, _: Now, event: conductor::Event, effects: &mut Vec<conductor::Effect>) {
            match event {
                conductor::Event::Reply(reply) => {
                    assert_eq!(reply.no, self.answered + 1, "replies come in the order of the questions");
                    self.answered += 1;
                    match self.answered {
                        1 => effects.push(self.ask()),
                        2 => self.later = true,
                        _ => effects.push(conductor::Effect::Drain),
                    }
                }
                _ => effects.push(self.ask()),
            }
        }
        fn end_turn(&mut self, _: Now, effects: &mut Vec<conductor::Effect>) {
            if std::mem::take(&mut self.later) {
                effects.push(self.ask());
            }
        }
    }

    struct Counter;

    impl Machine for Counter {
        type Event = Ask;
        type Effect = Reply;
        fn handle(&mut self, _: Now, ask: Ask, replies: &mut Vec<Reply>) {
            let answer = Ok(Answer::Counts(Counts::default()));
            replies.push(Reply { to: ask.from, no: ask.no, answer, status: Status::default() });
        }
    }

    #[test]
    fn questions_and_answers_stay_within_the_turn() {
        let mut paired = Paired::new(Asker::default(), Counter);
        let mut effects = Vec::new();
        paired.handle(Now::default(), conductor::Event::Force, &mut effects);
        assert!(effects.is_empty(), "the third question is asked at the end of the turn: {effects:?}");
        paired.end_turn(Now::default(), &mut effects);
        assert!(matches!(effects[..], [conductor::Effect::Drain]), "{effects:?}");
        paired.check_invariants();
    }
}
