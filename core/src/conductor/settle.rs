//! Settlement: an end is judged, recorded on the board, and only then told.

use std::sync::Arc;

use super::admission::absolute;
use super::judge::{self, Case};
use super::ledger::{After, Entry, Place};
use super::purpose::Purpose;
use super::{Conductor, Effect, Happened, RescheduleResult};
use crate::dispatch::{Dispatch, Ended, Outcome};
use crate::id::{Epoch, FollowUp, TaskId};
use crate::store::{NewRow, Request, Settle, Settled, Settlement};
use crate::task::{Extras, Task};
use crate::time::Now;

/// Settlements that are to be recorded with the next request, and how many are on their way.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    batch: Vec<Settlement>,
    on_the_way: usize,
    pub(super) stale: u64,
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.batch.len() + self.on_the_way
    }

    pub(super) fn put(&mut self, settlement: Settlement) {
        self.batch.push(settlement);
    }

    /// The registration is lost: what is not recorded is refused, or would be.
    pub(super) fn lose_all(&mut self) {
        self.stale += self.batch.len() as u64;
        self.batch.clear();
        self.on_the_way = 0;
    }
}

impl Conductor {
    pub(super) fn ended(&mut self, now: Now, Ended { dispatch, end }: Ended, effects: &mut Vec<Effect>) {
        if self.ledger.is_disowned(dispatch.name()) {
            return self.let_go(now, &dispatch, effects);
        }
        let started = judge::tells_of_a_start(&end) || dispatch.live.running().is_some();
        let retries = &self.settings.retry;
        let verdict = self.ledger.settling(dispatch.name(), |entry| {
            let own = dispatch.task().retry.as_deref().copied();
            let retry = own.or_else(|| retries.get(&entry.pool).copied()).unwrap_or_default();
            let case = Case { dispatch: &dispatch, retry, setbacks: entry.setbacks, wish: entry.wish };
            judge::judge(now, &case, end)
        });
        let Some(settle) = verdict else { return };
        self.allowance.ended(started);
        self.suspects.ended(dispatch.name());
        self.settle(now, &dispatch, settle);
    }

    /// A claimed dispatch that does not begin.
    pub(super) fn turn_away(&mut self, now: Now, dispatch: &Dispatch, verdict: (After, Settle)) {
        if let Some(settle) = self.ledger.settling(dispatch.name(), |_| verdict) {
            self.settle(now, dispatch, settle);
        }
    }

    fn settle(&mut self, now: Now, dispatch: &Dispatch, settle: Settle) {
        let posts = self.follow_ups(now, dispatch.task(), dispatch.epoch(), &settle);
        let (id, epoch, sequence) = (dispatch.id(), dispatch.epoch(), dispatch.order.sequence);
        self.outbox.put(Settlement { id, sequence, epoch, settle, posts });
    }

    /// Callbacks after a success, errbacks after the trash; their ids are derived, so that a repeated settlement posts
    /// nothing twice.
    fn follow_ups(&self, now: Now, task: &Task, epoch: Epoch, settle: &Settle) -> Vec<NewRow> {
        let Some(extras) = task.extras.as_deref() else { return Vec::new() };
        let Extras { callbacks, errbacks, .. } = extras;
        let (kind, tasks) = match settle {
            Settle::Done(Outcome::Succeeded(_)) => (FollowUp::Callback, callbacks),
            Settle::Trash(_) => (FollowUp::Errback, errbacks),
            _ => return Vec::new(),
        };
        let follow_up = |(index, template): (usize, &Task)| {
            let id = task.id.follow_up(kind, epoch, index);
            let child = Task { id, ..template.clone() };
            let expires = child.expires.map(|expires| absolute(now, expires));
            NewRow {
                due: self.due_at(now, child.due),
                expires,
                exempt: true,
                batch: None,
                task: Arc::new(child),
            }
        };
        tasks.iter().enumerate().map(follow_up).collect()
    }

    /// Records in one request what ended in this turn.
    pub(super) fn flush_settlements(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.outbox.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.outbox.batch);
        self.outbox.on_the_way += batch.len();
        self.asks.ask(now, Request::Settle(batch), Purpose::Settle, effects);
    }

    pub(super) fn settled(&mut self, now: Now, results: &[Settled], effects: &mut Vec<Effect>) {
        self.outbox.on_the_way -= results.len();
        for Settled { id, epoch, accepted } in results {
            self.strays.left(*id, *epoch);
            if *accepted {
                self.recorded(now, *id, *epoch, effects);
            } else if let Some(entry) = self.ledger.settled(*id, *epoch) {
                self.refused(now, &entry, effects);
            }
        }
    }

    /// Another owner's result stands; or ours was recorded, the answer lost, and the task is in another pass already.
    fn refused(&mut self, now: Now, entry: &Entry, effects: &mut Vec<Effect>) {
        self.outbox.stale += 1;
        self.came_back(now, &entry.live.task, effects);
        if let Some(watch) = entry.watch {
            self.follow(now, entry.live.task.id, watch, effects);
        }
    }

    /// A task went back to the board. Whoever wanted it at another time than it got was too late: it ran.
    fn came_back(&mut self, now: Now, task: &Task, effects: &mut Vec<Effect>) {
        self.answer_reschedules(task.id, RescheduleResult::Running, effects);
        self.cancel_what_came_back(now, task, effects);
    }

    /// The end of this dispatch is on the board: now it is told.
    pub(super) fn recorded(&mut self, now: Now, id: TaskId, epoch: Epoch, effects: &mut Vec<Effect>) {
        let Some(Entry { live, watch, place: Place::Settling(after), .. }) = self.ledger.settled(id, epoch)
        else {
            return;
        };
        let again = if let After::Again(due) = after { Some(due) } else { None };
        self.happened(effects, || Happened::AttemptEnded {
            task: Arc::clone(&live.task),
            epoch,
            attempt: live.attempt,
            again,
        });
        if let (Some(watch), After::Again(_) | After::Rescheduled) = (watch, &after) {
            self.watchers.add(id, watch);
        }
        match after {
            After::Finished(outcome) => {
                self.cancels_ended(id, &outcome, effects);
                self.finish(&live.task, outcome, watch, effects);
            }
            After::Again(_) => self.came_back(now, &live.task, effects),
            After::Rescheduled => {
                self.answer_reschedules(id, RescheduleResult::Done, effects);
                self.came_back(now, &live.task, effects);
            }
        }
    }
}
