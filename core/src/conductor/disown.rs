//! What becomes of the yard when its registration is lost: all that is in it is another's. What runs is told to end and what
//! waits is taken out; nothing of it is settled. Who waits for such a task goes on waiting for what the board says.
//!
//! A task that the next owner claims while its old dispatch is still here waits until that one has ended: it never runs
//! twice at a time in one yard.

use std::sync::Arc;

use super::asks::Disowned as Lost;
use super::ledger::Place;
use super::purpose::Purpose;
use super::strays::Strays;
use super::{Conductor, Effect};
use crate::dispatch::{Cancel, Dispatch, DispatchName, Reason};
use crate::id::TaskId;
use crate::map::Map;
use crate::store::{Claimed, OwnerId, Request};
use crate::task::DueAt;
use crate::time::Now;

/// What was claimed anew while its old dispatch is still here.
#[derive(Debug, Default)]
pub(super) struct ClaimedAnew(Map<TaskId, Claimed>);

impl ClaimedAnew {
    /// Whether this dispatch waits, or a later one of its task.
    pub(super) fn waits(&self, name: DispatchName) -> bool {
        self.0.get(&name.id).is_some_and(|claimed| claimed.epoch >= name.epoch)
    }

    pub(super) fn contains(&self, id: TaskId) -> bool {
        self.0.contains_key(&id)
    }
}

/// What somebody wanted done with tasks that are another's now: the board is asked for it under the next owner.
#[derive(Default)]
struct Wishes {
    cancels: Vec<TaskId>,
    reschedules: Vec<(TaskId, DueAt)>,
}

impl Conductor {
    pub(super) fn owned(&mut self, now: Now, owner: OwnerId, effects: &mut Vec<Effect>) {
        self.asks.owned(now, owner, effects);
        self.basket.poll_at_once();
    }

    pub(super) fn disowned(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let Lost { dropped, renumbered } = self.asks.disowned(now);
        for (purpose, request) in dropped {
            self.drop_request(&purpose, &request);
        }
        self.outbox.lose_all();
        self.strays = Strays::default();
        self.claimed_anew = ClaimedAnew::default();
        let wishes = self.disown_live(effects);
        self.cancels.renumbered(&renumbered);
        self.cancel_what_was_lost(now, wishes.cancels, effects);
        self.reschedule_what_was_lost(now, wishes.reschedules, effects);
    }

    fn drop_request(&mut self, purpose: &Purpose, request: &Request) {
        match (purpose, request) {
            (Purpose::Claim { pool, ready, near }, _) => self.claim_is_over(*pool, *ready, *near),
            (Purpose::Settle, Request::Settle(items)) => self.outbox.stale += items.len() as u64,
            _ => {}
        }
    }

    fn disown_live(&mut self, effects: &mut Vec<Effect>) -> Wishes {
        let ids: Vec<_> = self.ledger.in_order().iter().map(|entry| entry.live.task.id).collect();
        let mut wishes = Wishes::default();
        for id in ids {
            self.disown_one(id, &mut wishes, effects);
        }
        wishes
    }

    fn disown_one(&mut self, id: TaskId, wishes: &mut Wishes, effects: &mut Vec<Effect>) {
        let Some(entry) = self.ledger.get_mut(id) else { return };
        if let Some(watch) = entry.watch.take() {
            self.watchers.add(id, watch);
        }
        match entry.wish {
            Some(Reason::User) => wishes.cancels.push(id),
            Some(Reason::Reschedule(due)) => wishes.reschedules.push((id, due)),
            _ => {}
        }
        let live = Arc::clone(&entry.live);
        if matches!(entry.place, Place::Settling(_)) {
            self.ledger.settled(id, live.epoch);
        } else if self.ledger.disown(id) {
            effects.push(Effect::Cancel(Cancel { live, reason: Reason::Disowned }));
        }
    }

    /// The board gave it anew though its dispatch is here: that one is past its time.
    pub(super) fn claimed_anew(&mut self, claimed: Claimed, effects: &mut Vec<Effect>) {
        self.disown_one(claimed.task.id, &mut Wishes::default(), effects);
        self.claimed_anew.0.insert(claimed.task.id, claimed);
    }

    /// A dispatch ended whose task is another's: nobody is told and nothing is recorded.
    pub(super) fn let_go(&mut self, now: Now, dispatch: &Dispatch, effects: &mut Vec<Effect>) {
        self.ledger.let_go(dispatch.name());
        self.allowance.ended(dispatch.live.running().is_some());
        self.suspects.ended(dispatch.name());
        if let Some(claimed) = self.claimed_anew.0.remove(&dispatch.id()) {
            self.begin(now, claimed, None, effects);
        }
    }
}
