//! Which answer each request gets, and from whom it is refused.

use super::Board;
use super::prune::Old;
use super::told::Asked;
use crate::store::{Answer, Request};
use crate::time::Now;

impl Board {
    /// Whether the request of an owner that is gone or fenced is refused.
    pub(super) fn refuses(&self, asked: Asked, request: &Request) -> bool {
        !self.owners.may_write(asked.owner) && !request.is_for_anybody()
    }

    pub(super) fn answer(&mut self, now: Now, asked: Asked, request: &Request) -> Answer {
        use Request as R;
        let owner = asked.owner;
        match request {
            R::Post { rows, room } => Answer::Posted(self.post(now, owner, rows, room.clone())),
            R::Claim { pool, ready, unjudged } => self.claim(now, asked, *pool, *ready, *unjudged),
            R::Preload { pool, before, up_to } => self.preload(now, asked, *pool, *before, *up_to),
            R::Settle(items) => {
                Answer::Settled(items.iter().map(|item| self.settle(now, owner, item)).collect())
            }
            R::MarkStart(name) => self.once(asked, |board| Answer::Marked(board.mark_start(owner, *name))),
            R::Promote { up_to } => self.once(asked, |board| board.promote(now, *up_to)),
            R::Cancel { filter, after } => self.cancel(now, asked, filter, *after),
            R::Reschedule { id, due } => {
                self.once(asked, |board| Answer::Rescheduled(board.reschedule(now, owner, *id, *due)))
            }

            R::Get(id) => Answer::Task(self.view(*id).map(Box::new)),
            R::List { filter, after, limit } => self.list(filter, *after, *limit),
            R::Count => Answer::Counts(self.counts()),
            R::CountOf { filter, after } => self.counts_of(filter, *after),
            R::Outcomes(ids) => Answer::Outcomes(self.outcomes(ids)),
            R::Learn { pool, names } => self.learn(*pool, names),

            R::Register(who) => Answer::Registered(self.owners.register(now.mono, who.clone())),
            R::Renew => Answer::Renewed(self.owners.renew(now.mono, owner)),
            R::TakeOver { up_to } => self.once(asked, |board| board.take_over(now, owner, *up_to)),
            R::Release => self.release(now, owner),
            R::Held => Answer::Held(self.held(owner)),
            R::Owners => Answer::Owners(self.owners.views(now.mono)),

            R::ListTrash { filter, after, limit } => self.list_trash(filter, *after, *limit),
            R::Requeue { filter, up_to } => self.once(asked, |board| board.requeue(now, filter, *up_to)),
            R::Purge { filter, up_to } => self.once(asked, |board| board.purge(filter, *up_to)),

            R::Schedule { name, begin } => Answer::Schedule(Some(self.schedule(name, *begin))),
            R::Tick { name, from, to, rows } => {
                self.once(asked, |board| board.tick(now, owner, name, (*from, *to), rows))
            }
            R::PauseSchedule { name, paused } => Answer::Schedule(self.pause_schedule(name, *paused)),
            R::Schedules => Answer::Schedules(self.schedules.values().cloned().collect()),

            R::OpenBatch { hash } => self.once(asked, |board| Answer::Batch(board.batches.open(*hash))),
            R::SealBatch(id) => {
                self.batches.seal(*id);
                Answer::Sealed
            }
            R::Prune { ended_before, results_before, keep, up_to } => {
                let old = Old { ended_before: *ended_before, results_before: *results_before, keep: *keep };
                self.once(asked, |board| board.prune(old, *up_to))
            }
        }
    }

    /// What a repetition is not to do again: it is told what was said before.
    fn once(&mut self, asked: Asked, answer: impl FnOnce(&mut Self) -> Answer) -> Answer {
        if let Some(answer) = self.told.before(asked) {
            return answer.clone();
        }
        let answer = answer(self);
        self.told.remember(asked, answer.clone());
        answer
    }
}
