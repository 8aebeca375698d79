//! Admission: what is submitted is checked, dated, posted, and answered once the board has it.

use std::sync::Arc;

use super::purpose::Purpose;
use super::{Accepted, Answer, Conductor, Effect, Submission, SubmitRefusal};
use crate::id::Token;
use crate::store::{Claimed, NewRow, PoolRoom, Posted, Request, Room, StoreError};
use crate::task::{Due, DueAt, Task};
use crate::time::{Now, Timestamp};

/// What is to be posted with the next request.
#[derive(Debug, Default)]
pub(super) struct Posts {
    rows: Vec<NewRow>,
    submissions: Vec<Open>,
}

/// A submission whose answer is open.
#[derive(Debug)]
pub(super) struct Open {
    reply: Token,
    watch: Option<Token>,
    /// One a task, in order; `None` where the board's answer decides.
    results: Vec<Option<Result<Accepted, SubmitRefusal>>>,
}

impl Conductor {
    pub(super) fn submit(&mut self, now: Now, submission: Submission, effects: &mut Vec<Effect>) {
        let Submission { tasks, reply, watch, inside, batch } = submission;
        let closed = self.drain.is_draining() && !inside;
        let results: Vec<_> = tasks
            .into_iter()
            .map(|task| match self.check(now, task, closed) {
                Ok(row) => {
                    self.posts.rows.push(NewRow { batch, ..row });
                    None
                }
                Err(refusal) => Some(Err(refusal)),
            })
            .collect();
        let open = Open { reply, watch, results };
        if open.results.iter().all(Option::is_some) {
            effects.push(open.answer());
        } else {
            self.posts.submissions.push(open);
        }
    }

    fn check(&self, now: Now, task: Arc<Task>, closed: bool) -> Result<NewRow, SubmitRefusal> {
        if closed {
            return Err(SubmitRefusal::Draining);
        }
        let expires = task.expires.map(|expires| absolute(now, expires));
        if expires.is_some_and(|at| at <= absolute(now, task.due)) {
            return Err(SubmitRefusal::ExpiresTooSoon);
        }
        Ok(NewRow { due: self.due_at(now, task.due), expires, exempt: false, batch: None, task })
    }

    /// A due time on the clock that it is kept on: relative delays within the horizon on the monotonic one, all others
    /// on the wall clock.
    pub(super) fn due_at(&self, now: Now, due: Due) -> DueAt {
        match due {
            Due::Now => DueAt::Now,
            Due::In(delay) if delay.is_zero() => DueAt::Now,
            Due::In(delay) if delay < self.settings.horizon => DueAt::Mono(now.mono + delay),
            Due::In(delay) => DueAt::Wall(now.wall + delay),
            Due::At(at) if at <= now.wall => DueAt::Now,
            Due::At(at) => DueAt::Wall(at),
        }
    }

    /// Posts in one request what was submitted in this turn.
    pub(super) fn flush_posts(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.posts.rows.is_empty() {
            return;
        }
        let rows = std::mem::take(&mut self.posts.rows);
        let room = self.room(now);
        self.reserve(&room, rows.len());
        let purpose = Purpose::Post(std::mem::take(&mut self.posts.submissions));
        self.asks.ask(now, Request::Post { rows, room }, purpose, effects);
    }

    fn room(&mut self, now: Now) -> Room {
        if self.drain.is_draining() {
            return Room::default();
        }
        let near_max = self.settings.near_max;
        let total = self.room_in_all();
        let pools = self.ledger.pool_ids().map(|pool| {
            let budget = self.ledger.pool(pool);
            PoolRoom { pool, ready: budget.room(), near: budget.room_near(near_max) }
        });
        Room { pools: pools.collect(), total, before: now.wall + self.settings.horizon }
    }

    /// What the answer may bring counts as used until it is there, so that two requests never share one slot.
    fn reserve(&mut self, room: &Room, rows: usize) {
        for room in &room.pools {
            let budget = self.ledger.pool(room.pool);
            budget.asked += room.ready.min(rows);
            budget.asked_near += room.near.min(rows);
        }
    }

    fn unreserve(&mut self, room: &Room, rows: usize) {
        for room in &room.pools {
            let budget = self.ledger.pool(room.pool);
            budget.asked -= room.ready.min(rows);
            budget.asked_near -= room.near.min(rows);
        }
    }

    pub(super) fn posted(
        &mut self,
        now: Now,
        submissions: Vec<Open>,
        request: &Request,
        answers: Vec<Posted>,
        effects: &mut Vec<Effect>,
    ) {
        let Request::Post { rows, room } = request else { return };
        self.unreserve(room, rows.len());
        let ours: Vec<_> = answers.iter().filter_map(known_as_ours).cloned().collect();
        let mut answers = rows.iter().zip(answers);
        for mut open in submissions {
            let watch = open.watch;
            for result in open.results.iter_mut().filter(|result| result.is_none()) {
                let Some((row, posted)) = answers.next() else { break };
                *result = Some(self.posted_one(now, row, posted, watch, effects));
            }
            effects.push(open.answer());
        }
        for claimed in ours {
            self.adopt(now, claimed, effects);
        }
    }

    /// Claimed by an earlier request whose answer did not come. If there is no room for it now it goes back.
    fn adopt(&mut self, now: Now, claimed: Claimed, effects: &mut Vec<Effect>) {
        if self.ledger.get(claimed.task.id).is_some() || self.room_in_all() > 0 {
            self.begin(now, claimed, None, effects);
        } else {
            self.strays.look();
        }
    }

    /// The store failed for longer than a submit waits.
    pub(super) fn not_posted(
        &mut self,
        submissions: Vec<Open>,
        request: &Request,
        error: &StoreError,
        effects: &mut Vec<Effect>,
    ) {
        let Request::Post { rows, room } = request else { return };
        self.unreserve(room, rows.len());
        effects.extend(submissions.into_iter().map(|open| open.refuse(error)));
    }

    fn posted_one(
        &mut self,
        now: Now,
        row: &NewRow,
        posted: Posted,
        watch: Option<Token>,
        effects: &mut Vec<Effect>,
    ) -> Result<Accepted, SubmitRefusal> {
        let id = row.task.id;
        if let Posted::Refused(refusal) = posted {
            return Err(refusal.into());
        }
        if let Posted::Claimed(claimed) = posted {
            self.begin(now, claimed, watch, effects);
            return Ok(Accepted { id, known: None });
        }
        if let Some(watch) = watch {
            self.watchers.add(id, watch);
        }
        let Posted::Known(known) = posted else { return Ok(Accepted { id, known: None }) };
        if let Some(outcome) = known.outcome {
            self.watchers.tell(id, outcome, effects);
        }
        Ok(Accepted { id, known: Some(known.state) })
    }
}

fn known_as_ours(posted: &Posted) -> Option<&Claimed> {
    if let Posted::Known(known) = posted { known.claimed.as_ref() } else { None }
}

impl Open {
    /// What the board would have decided is refused.
    fn refuse(mut self, error: &StoreError) -> Effect {
        for result in self.results.iter_mut().filter(|result| result.is_none()) {
            *result = Some(Err(error.clone().into()));
        }
        self.answer()
    }

    fn answer(self) -> Effect {
        let results = self.results.into_iter().flatten().collect();
        Effect::Answer(self.reply, Answer::Submitted(results))
    }
}

/// A time on the wall clock.
pub(super) fn absolute(now: Now, due: Due) -> Timestamp {
    match due {
        Due::Now => now.wall,
        Due::In(delay) => now.wall + delay,
        Due::At(at) => at.max(now.wall),
    }
}
