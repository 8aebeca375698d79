//! Reschedule: on the board, or, before it starts, wherever in the yard the task is.

use super::purpose::Purpose;
use super::{Answer, Conductor, Effect, RescheduleResult};
use crate::dispatch::Reason;
use crate::id::{TaskId, Token};
use crate::map::Map;
use crate::store::{Request, RescheduleAnswer};
use crate::task::{Due, DueAt};
use crate::time::Now;

/// Who waits for tasks in the yard to be given another time.
#[derive(Debug, Default)]
pub(super) struct Reschedules(Map<TaskId, Vec<Token>>);

impl Reschedules {
    fn take(&mut self, id: TaskId) -> Vec<Token> {
        self.0.remove(&id).unwrap_or_default()
    }
}

impl Conductor {
    pub(super) fn reschedule(
        &mut self,
        now: Now,
        id: TaskId,
        due: Due,
        reply: Token,
        effects: &mut Vec<Effect>,
    ) {
        self.flush_posts(now, effects);
        let due = match due {
            // Whether it has come is for the board to say.
            Due::At(at) => DueAt::Said(at),
            Due::Now | Due::In(_) => self.due_at(now, due),
        };
        self.asks.ask(now, Request::Reschedule { id, due }, Purpose::Reschedule(reply), effects);
    }

    pub(super) fn rescheduled_on_board(
        &mut self,
        request: &Request,
        reply: Token,
        answer: RescheduleAnswer,
        effects: &mut Vec<Effect>,
    ) {
        let Request::Reschedule { id, due } = request else { return };
        let result = match answer {
            RescheduleAnswer::Done => RescheduleResult::Done,
            RescheduleAnswer::Ended => RescheduleResult::Finished,
            RescheduleAnswer::Absent => RescheduleResult::Absent,
            RescheduleAnswer::Elsewhere => RescheduleResult::Running,
            RescheduleAnswer::Claimed => {
                self.reschedules.0.entry(*id).or_default().push(reply);
                return self.reschedule_live(*id, *due, effects);
            }
        };
        effects.push(Effect::Answer(reply, Answer::Rescheduled(result)));
    }

    fn reschedule_live(&mut self, id: TaskId, due: DueAt, effects: &mut Vec<Effect>) {
        match self.ledger.get(id) {
            Some(entry) if matches!(entry.wish, None | Some(Reason::Park)) => {
                self.wish(id, Reason::Reschedule(due), effects);
            }
            // Somebody else's wish is on its way, or the task is between board and yard: it is too late for another.
            _ => self.answer_reschedules(id, RescheduleResult::Running, effects),
        }
    }

    pub(super) fn answer_reschedules(
        &mut self,
        id: TaskId,
        result: RescheduleResult,
        effects: &mut Vec<Effect>,
    ) {
        if self.reschedules.0.is_empty() {
            return;
        }
        let waiting = self.reschedules.take(id);
        effects.extend(waiting.into_iter().map(|reply| Effect::Answer(reply, Answer::Rescheduled(result))));
    }

    /// The registration is lost: what was to be given these times is looked for on the board.
    pub(super) fn reschedule_what_was_lost(
        &mut self,
        now: Now,
        wishes: Vec<(TaskId, DueAt)>,
        effects: &mut Vec<Effect>,
    ) {
        for (id, due) in wishes {
            for reply in self.reschedules.take(id) {
                self.asks.ask(now, Request::Reschedule { id, due }, Purpose::Reschedule(reply), effects);
            }
        }
        // The wish of another outweighed theirs.
        let mut outweighed: Vec<_> = self.reschedules.0.keys().copied().collect();
        outweighed.sort_unstable();
        for id in outweighed {
            self.answer_reschedules(id, RescheduleResult::Running, effects);
        }
    }
}
