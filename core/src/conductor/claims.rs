//! Claims: what the yard takes in from the board, and when it looks into the basket for what is due soon.

use std::sync::Arc;
use std::time::Duration;

use super::asks::Purpose;
use super::ledger::Place;
use super::{Conductor, Effect};
use crate::dispatch::{Cancel, End, Ended, Reason, Return};
use crate::id::{PoolId, PoolSet, Token};
use crate::names::TaskName;
use crate::store::{Answer, Claimed, Reply, Request};
use crate::task::Task;
use crate::time::{Now, Timestamp, Wakeup};

/// How many rows are promoted in one request.
const PROMOTION: usize = 1_000;
/// While so many settlements are not recorded, nothing new starts.
const OUTBOX_MAX: usize = 10_000;

/// What the board last said of rows that wait for time or for a pool.
#[derive(Debug, Default)]
pub(super) struct Basket {
    next_due: Option<Timestamp>,
    next_expiry: Option<Timestamp>,
    /// What is due before this was asked for already; what is left of it found no room.
    looked_before: Option<Timestamp>,
    promoting: bool,
    near: PoolSet,
    unjudged: PoolSet,
}

impl Basket {
    pub(super) fn next_wakeup(&self, horizon: Duration) -> Wakeup {
        if self.promoting {
            return Wakeup::NEVER;
        }
        let due = self.next_due.map(|due| match self.looked_before {
            Some(before) if due < before => due,
            // A row that is due in exactly one horizon stays parked.
            _ => Timestamp((due - horizon).0.saturating_add(1)),
        });
        Wakeup::wall(due).or(Wakeup::wall(self.next_expiry))
    }
}

impl Conductor {
    pub(super) fn reply(&mut self, now: Now, reply: Reply, effects: &mut Vec<Effect>) {
        let Reply { no, answer, status, .. } = reply;
        let Ok(answer) = answer else { return self.asks.failed(now, no) };
        let Some((purpose, request)) = self.asks.answered(no) else { return };
        for pool in self.ledger.pool_ids() {
            self.ledger.pool(pool).hungry = status.ready.contains(pool);
        }
        self.basket.unjudged = status.unjudged;
        self.basket.next_due = status.next_due;
        self.basket.next_expiry = status.next_expiry;
        self.take_answer(now, no, purpose, &request, answer, effects);
        self.cancels_go_on(no, effects);
    }

    fn take_answer(
        &mut self,
        now: Now,
        no: u64,
        purpose: Purpose,
        request: &Request,
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) {
        match (purpose, answer) {
            (Purpose::Post, Answer::Posted(answers)) => self.posted(now, no, request, answers, effects),
            (Purpose::Claim { pool, ready, near }, Answer::Claimed { rows, expired }) => {
                self.claimed(now, pool, ready, near, rows, effects);
                self.expired(expired, effects);
            }
            (Purpose::Settle, Answer::Settled(results)) => self.settled(now, &results, effects),
            (Purpose::Promote, Answer::Promoted { expired }) => {
                self.basket.promoting = false;
                self.expired(expired, effects);
            }
            (Purpose::Cancel(operation), Answer::Cancelled { tasks, ended, .. }) => {
                self.cancelled_on_board(operation, &tasks, &ended, effects);
            }
            (Purpose::Reschedule(reply), Answer::Rescheduled(answer)) => {
                self.rescheduled_on_board(request, reply, answer, effects);
            }
            (Purpose::Watch(reply), Answer::Task(view)) => self.watched(request, reply, view, effects),
            (Purpose::Query(reply), answer) => Self::queried(reply, answer, effects),
            (Purpose::Left, Answer::Tasks { tasks, .. }) => self.drained(&tasks, effects),
            _ => {}
        }
    }

    fn claimed(
        &mut self,
        now: Now,
        pool: PoolId,
        ready: usize,
        near: usize,
        rows: Vec<Claimed>,
        effects: &mut Vec<Effect>,
    ) {
        let budget = self.ledger.pool(pool);
        budget.asked -= ready;
        budget.asked_near -= near;
        if near > 0 {
            budget.preloading = false;
            if rows.len() < near {
                self.basket.near.remove(pool);
            }
        } else {
            budget.claiming = false;
        }
        for claimed in rows {
            self.begin(now, claimed, None, effects);
        }
    }

    /// A claimed row becomes a dispatch, unless it is known already. `watch`: who waits for its outcome.
    pub(super) fn begin(
        &mut self,
        now: Now,
        claimed: Claimed,
        watch: Option<Token>,
        effects: &mut Vec<Effect>,
    ) {
        let id = claimed.task.id;
        if let Some(entry) = self.ledger.get(id) {
            if entry.live.epoch >= claimed.epoch {
                return;
            }
            // Claimed anew: so the settlement of the pass before was recorded, and its answer lost.
            let epoch = entry.live.epoch;
            self.recorded(now, id, epoch, effects);
        }
        let dispatch = Box::new(self.ledger.begin(claimed, watch));
        if self.drain.is_draining() {
            let end = End::Returned(Return::Drain);
            return self.ended(now, Ended { dispatch, end });
        }
        let wanted = self.cancels.picks(dispatch.task());
        effects.push(Effect::Dispatch(dispatch));
        if wanted {
            self.wish(id, Reason::User, effects);
        }
    }

    /// Wants a live dispatch taken out. A user's wish outweighs the others.
    pub(super) fn wish(&mut self, id: crate::TaskId, reason: Reason, effects: &mut Vec<Effect>) {
        let Some(entry) = self.ledger.get_mut(id) else { return };
        if entry.wish == Some(Reason::User) {
            return;
        }
        entry.wish = Some(reason);
        if !matches!(entry.place, Place::Settling(_)) {
            effects.push(Effect::Cancel(Cancel { live: Arc::clone(&entry.live), reason }));
        }
    }

    fn expired(&mut self, tasks: Vec<Arc<Task>>, effects: &mut Vec<Effect>) {
        for task in tasks {
            self.finish_on_board(&task, crate::dispatch::Outcome::Expired, effects);
        }
    }

    pub(super) fn learned(
        &mut self,
        now: Now,
        pool: PoolId,
        names: Vec<TaskName>,
        effects: &mut Vec<Effect>,
    ) {
        self.asks.ask(now, Request::Learn { pool, names }, Purpose::Learn, effects);
    }

    /// How many more tasks may come into the yard, beside those that answers on their way may bring.
    pub(super) fn room_in_all(&self) -> usize {
        self.settings.live_max.saturating_sub(self.ledger.len() + self.asks.may_bring())
    }

    /// Asks the board for what there is room for.
    pub(super) fn ask_for_work(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.look_into_basket(now, effects);
        if self.drain.is_draining() || self.outbox.len() > OUTBOX_MAX {
            return;
        }
        for pool in self.ledger.pool_ids() {
            self.claim(now, pool, effects);
            self.preload(now, pool, effects);
        }
    }

    fn claim(&mut self, now: Now, pool: PoolId, effects: &mut Vec<Effect>) {
        let total = self.room_in_all();
        let unjudged = if self.basket.unjudged.contains(pool) { total } else { 0 };
        let budget = self.ledger.pool(pool);
        let ready = if budget.hungry { budget.room().min(total) } else { 0 };
        if budget.claiming || ready + unjudged == 0 {
            return;
        }
        budget.claiming = true;
        budget.asked += ready;
        let purpose = Purpose::Claim { pool, ready, near: 0 };
        self.asks.ask(
            now,
            Request::Claim { pool, ready, unjudged: unjudged - ready.min(unjudged) },
            purpose,
            effects,
        );
    }

    fn preload(&mut self, now: Now, pool: PoolId, effects: &mut Vec<Effect>) {
        if !self.basket.near.contains(pool) {
            return;
        }
        let total = self.room_in_all();
        let near_max = self.settings.near_max;
        let budget = self.ledger.pool(pool);
        let up_to = budget.room_near(near_max).min(total);
        if budget.preloading || budget.slots == 0 || up_to == 0 {
            return;
        }
        budget.preloading = true;
        budget.asked_near += up_to;
        let before = now.wall + self.settings.horizon;
        let purpose = Purpose::Claim { pool, ready: 0, near: up_to };
        self.asks.ask(now, Request::Preload { pool, before, up_to }, purpose, effects);
    }

    fn look_into_basket(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let before = now.wall + self.settings.horizon;
        let basket = &mut self.basket;
        if basket.next_due.is_some_and(|due| due < before)
            && basket.looked_before.is_none_or(|looked| basket.next_due >= Some(looked))
        {
            basket.looked_before = Some(before);
            basket.near = self.ledger.pool_ids().collect();
        }
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now.wall);
        if !basket.promoting && (is_due(basket.next_due) || is_due(basket.next_expiry)) {
            basket.promoting = true;
            self.asks.ask(now, Request::Promote { up_to: PROMOTION }, Purpose::Promote, effects);
        }
    }

    pub(super) fn expire(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some(id) = self.ledger.pop_expired(now.wall) {
            self.wish(id, Reason::Expired, effects);
        }
    }
}
