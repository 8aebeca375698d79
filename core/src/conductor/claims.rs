//! Claims: what the yard takes in from the board, and how much of it.

use std::sync::Arc;

use super::ledger::Place;
use super::purpose::Purpose;
use super::{Conductor, Effect};
use crate::dispatch::{Cancel, DispatchName, Reason};
use crate::id::{PoolId, Token};
use crate::names::TaskName;
use crate::store::{Claimed, Request};
use crate::time::Now;

/// How many rows are promoted in one request.
const PROMOTION: usize = 1_000;
/// How many rows that no slot bounds are claimed in one request: one that a slow store can't carry out in time is asked again
/// as it is.
const UNJUDGED_AT_ONCE: usize = 1_000;
/// How many rows are forgotten in one request.
const PRUNING: usize = 1_000;
/// While so many settlements are not recorded, nothing new starts.
const OUTBOX_MAX: usize = 10_000;

impl Conductor {
    pub(super) fn claimed(
        &mut self,
        now: Now,
        pool: PoolId,
        (ready, near): (usize, usize),
        rows: Vec<Claimed>,
        expired: usize,
        effects: &mut Vec<Effect>,
    ) {
        self.claim_is_over(pool, ready, near);
        // Of very many expired rows an answer ends a part: behind them there may be more.
        if near > rows.len() && expired == 0 {
            self.basket.near.remove(pool);
        }
        if near == 0 {
            let in_vain = rows.is_empty() && expired == 0 && self.standing.waiting().contains(pool);
            let budget = self.ledger.pool(pool);
            if self.settings.shared {
                budget.pace.claim_answered(now);
            }
            if in_vain { budget.rest.was_in_vain(now) } else { budget.rest.end() }
        }
        if !rows.is_empty() {
            self.basket.goes_on();
        }
        for claimed in rows {
            self.begin(now, claimed, None, effects);
        }
    }

    /// The claim or preload brings nothing more.
    pub(super) fn claim_is_over(&mut self, pool: PoolId, ready: usize, near: usize) {
        let budget = self.ledger.pool(pool);
        budget.asked -= ready;
        budget.asked_near -= near;
        *(if near > 0 { &mut budget.preloading } else { &mut budget.claiming }) = false;
    }

    /// A claimed row becomes a dispatch, unless it is known already. `watch`: who waits for its outcome.
    pub(super) fn begin(
        &mut self,
        now: Now,
        claimed: Claimed,
        watch: Option<Token>,
        effects: &mut Vec<Effect>,
    ) {
        let (id, pool, marks) = (claimed.task.id, claimed.pool, claimed.crash_marks);
        let Some(claimed) = self.not_known(now, claimed, effects) else {
            return watch.into_iter().for_each(|watch| self.watchers.add(id, watch));
        };
        let dispatch = Box::new(self.ledger.begin(claimed, watch));
        let wanted = self.cancels.picks(dispatch.task());
        if let Some(verdict) = self.turned_away(now, &dispatch, pool, marks) {
            return self.turn_away(now, &dispatch, verdict);
        }
        self.allowance.begun();
        self.suspects.begun(dispatch.name(), marks);
        effects.push(Effect::Dispatch(dispatch));
        if wanted {
            self.wish(id, Reason::User, effects);
        }
    }

    /// The claim, unless that dispatch is in the yard, is on its way out, or has to wait for an older one.
    fn not_known(&mut self, now: Now, claimed: Claimed, effects: &mut Vec<Effect>) -> Option<Claimed> {
        let (id, epoch) = (claimed.task.id, claimed.epoch);
        let Some(entry) = self.ledger.get(id) else {
            return (!self.strays.is_leaving(DispatchName { id, epoch })).then_some(claimed);
        };
        let before = entry.live.epoch;
        if before >= epoch {
            return None;
        }
        if !matches!(entry.place, Place::Settling(_)) {
            self.claimed_anew(claimed, effects);
            return None;
        }
        // Claimed anew: so the settlement of the pass before was recorded, and its answer lost.
        self.recorded(now, id, before, effects);
        Some(claimed)
    }

    /// Wants a live dispatch taken out. A user's wish outweighs the others, and what is another's is past wishing for.
    pub(super) fn wish(&mut self, id: crate::TaskId, reason: Reason, effects: &mut Vec<Effect>) {
        let Some(entry) = self.ledger.get_mut(id) else { return };
        if matches!(entry.wish, Some(Reason::User | Reason::Disowned)) {
            return;
        }
        entry.wish = Some(reason);
        if !matches!(entry.place, Place::Settling(_)) {
            effects.push(Effect::Cancel(Cancel { live: Arc::clone(&entry.live), reason }));
        }
    }

    /// A pool says how much may be claimed for it. What is not due yet does not wait here for one that takes nothing.
    pub(super) fn capacity(&mut self, pool: PoolId, slots: usize, effects: &mut Vec<Effect>) {
        let before = std::mem::replace(&mut self.ledger.pool(pool).slots, slots);
        match (before, slots) {
            (1.., 0) => {
                for id in self.ledger.near_of(pool) {
                    self.wish(id, Reason::Park, effects);
                }
            }
            (0, 1..) => self.basket.goes_on_for(pool),
            _ => {}
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
        let live = self.settings.live_max.saturating_sub(self.ledger.len());
        live.min(self.allowance.room()).saturating_sub(self.asks.may_bring())
    }

    /// Whether there is a board to look after.
    pub(super) fn keeps_basket(&self) -> bool {
        self.asks.is_owned() && !self.drain.is_draining()
    }

    /// Whether anything new may start.
    pub(super) fn may_claim(&self) -> bool {
        self.keeps_basket() && self.outbox.len() <= OUTBOX_MAX
    }

    /// Asks the board for what there is room for.
    pub(super) fn ask_for_work(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.keeps_basket() {
            self.look_into_basket(now, effects);
        }
        if self.may_claim() {
            for pool in self.ledger.pool_ids() {
                self.claim(now, pool, effects);
                self.preload(now, pool, effects);
            }
        }
    }

    fn look_into_basket(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let chores = self.basket.look(now);
        if chores.promote {
            self.asks.ask(now, Request::Promote { up_to: PROMOTION }, Purpose::Promote, effects);
        }
        if chores.prune {
            let request = Request::Prune {
                ended_before: now.wall - self.settings.history_for,
                results_before: now.wall - self.settings.result_ttl,
                keep: self.settings.history_max,
                up_to: PRUNING,
            };
            self.asks.ask(now, request, Purpose::Prune, effects);
        }
    }

    fn claim(&mut self, now: Now, pool: PoolId, effects: &mut Vec<Effect>) {
        let total = self.room_in_all();
        let budget = self.ledger.pool(pool);
        let unjudged = if self.standing.is_unjudged(pool) { total.min(UNJUDGED_AT_ONCE) } else { 0 };
        let ready = if self.standing.is_ready(pool) { budget.room_to_claim().min(total) } else { 0 };
        let rested = budget.rest.is_over(now);
        if budget.claiming || ready + unjudged == 0 || !rested {
            return;
        }
        budget.claiming = true;
        budget.asked += ready;
        budget.pace.claim_asked(now);
        let purpose = Purpose::Claim { pool, ready, near: 0 };
        let unjudged = unjudged - ready.min(unjudged);
        self.asks.ask(now, Request::Claim { pool, ready, unjudged }, purpose, effects);
    }

    fn preload(&mut self, now: Now, pool: PoolId, effects: &mut Vec<Effect>) {
        if !self.basket.wants_near(now, pool) {
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

    pub(super) fn expire(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some(id) = self.ledger.pop_expired(now.wall) {
            self.wish(id, Reason::Expired, effects);
        }
    }
}
