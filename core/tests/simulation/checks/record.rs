//! What the board said, kept beside it: who has which pass of a task, whose lease has ended, how each pass and each task
//! ended. A second opinion on owners, epochs and crash marks; it knows nothing of queues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::id::Epoch;
use taskyard_core::store::{
    Answer, Ask, Claimed, OwnerId, Posted, Request, Settle, Settlement, StoreError, Ticked,
};
use taskyard_core::task::Task;
use taskyard_core::time::Instant64;
use taskyard_core::{Now, TaskId};

use crate::tally::Tally;

#[derive(Default)]
pub(crate) struct Record {
    owners: BTreeMap<OwnerId, Owner>,
    tasks: BTreeMap<TaskId, Told>,
    take_overs: BTreeSet<(OwnerId, u64)>,
    /// Whose each pass is.
    passes: BTreeMap<(TaskId, Epoch), OwnerId>,
    /// The passes that were settled, and by what.
    settled: BTreeMap<(TaskId, Epoch), Settle>,
    /// The passes whose start was marked.
    marked: BTreeSet<(TaskId, Epoch)>,
    /// How many deliveries in a row may end with nobody left to report it.
    pub(crate) max_deliveries: u32,
}

struct Owner {
    lease: std::time::Duration,
    lease_end: Instant64,
    standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Registered,
    Fenced,
    Released,
}

/// What is known of a task.
#[derive(Default)]
struct Told {
    epoch: Epoch,
    /// Deliveries in a row whose end nobody reported.
    crash_marks: u32,
    /// Counted failures.
    attempts: u32,
    ended: Option<Outcome>,
}

impl Record {
    /// The board answered.
    pub(crate) fn answered(
        &mut self,
        now: Now,
        ask: &Ask,
        answer: &Result<Answer, StoreError>,
        tally: &mut Tally,
    ) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(StoreError::Fenced) => {
                assert_ne!(self.standing(ask.owner), Some(Standing::Registered), "{} is refused", ask.owner);
                tally.refused += 1;
                return;
            }
            Err(_) => return,
        };
        if writes(&ask.request) {
            assert_ne!(self.standing(ask.owner), Some(Standing::Fenced), "a write of {} counted", ask.owner);
        }
        self.owner_said(now, ask, answer, tally);
        self.task_said(ask, answer, tally);
    }

    fn owner_said(&mut self, now: Now, ask: &Ask, answer: &Answer, tally: &mut Tally) {
        match (&*ask.request, answer) {
            (Request::Register(registration), Answer::Registered(id)) => {
                let lease = registration.lease;
                let (lease_end, standing) = (now.mono + lease, Standing::Registered);
                self.owners.entry(*id).or_insert(Owner { lease, lease_end, standing });
            }
            (Request::Renew, Answer::Renewed(_)) => {
                if let Some(owner) = self.owners.get_mut(&ask.owner) {
                    owner.lease_end = now.mono + owner.lease;
                }
            }
            // Asked again it is only told the same.
            (Request::TakeOver { .. }, _) if self.take_overs.insert((ask.owner, ask.no)) => {
                let over = |(id, owner): &(&OwnerId, &mut Owner)| {
                    **id != ask.owner && owner.standing == Standing::Registered && owner.lease_end <= now.mono
                };
                for (_, owner) in self.owners.iter_mut().filter(over) {
                    owner.standing = Standing::Fenced;
                    tally.fenced += 1;
                }
            }
            (Request::Release, _) => {
                if let Some(owner) = self.owners.get_mut(&ask.owner) {
                    owner.standing = Standing::Released;
                }
            }
            _ => {}
        }
    }

    fn task_said(&mut self, ask: &Ask, answer: &Answer, tally: &mut Tally) {
        match (&*ask.request, answer) {
            (Request::Settle(items), Answer::Settled(results)) => {
                for (item, _) in items.iter().zip(results).filter(|(_, result)| result.accepted) {
                    self.settled(ask.owner, item, tally);
                }
            }
            (Request::MarkStart(name), Answer::Marked(true)) if self.marked.insert((name.id, name.epoch)) => {
                assert_eq!(self.passes.get(&(name.id, name.epoch)), Some(&ask.owner), "{name:?} is marked");
                self.task(name.id).crash_marks += 1;
                tally.marked += 1;
            }
            (_, Answer::Claimed { rows, expired }) => {
                self.all_ended(expired, &Outcome::Expired);
                for row in rows {
                    self.claimed(ask.owner, row);
                }
            }
            (_, Answer::Promoted { expired }) => {
                self.all_ended(expired, &Outcome::Expired);
            }
            (_, Answer::Cancelled { tasks, .. }) => {
                self.all_ended(tasks, &Outcome::Cancelled);
            }
            (_, Answer::Posted(posted) | Answer::Ticked(Ticked { posted: Some(posted), .. })) => {
                for posted in posted {
                    self.posted(ask.owner, posted);
                }
            }
            _ => {}
        }
    }

    fn posted(&mut self, owner: OwnerId, posted: &Posted) {
        match posted {
            Posted::Claimed(claimed) => self.claimed(owner, claimed),
            Posted::Known(known) => {
                if let Some(claimed) = &known.claimed {
                    self.claimed(owner, claimed);
                }
            }
            Posted::Kept(_) | Posted::Refused(_) => {}
        }
    }

    fn claimed(&mut self, owner: OwnerId, row: &Claimed) {
        let (id, epoch) = (row.task.id, row.epoch);
        if let Some(holder) = self.passes.insert((id, epoch), owner) {
            assert_eq!(holder, owner, "{id} epoch {epoch} is claimed by two owners");
            return;
        }
        let told = self.task(id);
        assert!(told.ended.is_none(), "{id} is claimed after its end");
        assert!(epoch > told.epoch, "{id} is claimed with epoch {epoch} after {}", told.epoch);
        let before = std::mem::replace(&mut told.epoch, epoch);
        self.owner_was_lost(id, before);
        let told = self.task(id);
        assert_eq!(row.crash_marks, told.crash_marks, "crash marks of {id} epoch {epoch}");
        assert_eq!(row.attempts, told.attempts, "attempts of {id} epoch {epoch}");
    }

    /// A new pass begins: if nobody settled the one before, its owner was lost, or gave everything back when it went.
    fn owner_was_lost(&mut self, id: TaskId, before: Epoch) {
        let Some(owner) = self.passes.get(&(id, before)).copied() else { return };
        if self.settled.contains_key(&(id, before)) {
            return;
        }
        match self.standing(owner) {
            Some(Standing::Fenced) => {
                let told = self.task(id);
                told.crash_marks = told.crash_marks.max(1);
            }
            Some(Standing::Released) => {}
            standing => panic!("{id} was taken from {owner}, which is {standing:?}"),
        }
    }

    fn settled(&mut self, owner: OwnerId, item: &Settlement, tally: &mut Tally) {
        let (id, epoch) = (item.id, item.epoch);
        assert_eq!(self.passes.get(&(id, epoch)), Some(&owner), "{id} epoch {epoch} is settled by another");
        if let Some(first) = self.settled.insert((id, epoch), item.settle.clone()) {
            assert_eq!(first, item.settle, "{id} epoch {epoch} is settled in two ways");
            return;
        }
        let most = self.max_deliveries;
        let told = self.task(id);
        assert_eq!(told.epoch, epoch, "{id} is settled by a pass that is over");
        let marks = told.crash_marks;
        match &item.settle {
            Settle::GiveBack { started: false, .. } => return,
            Settle::Retry { .. } => told.attempts += 1,
            Settle::Trash(Outcome::Trashed(Trash::Crashed { deliveries })) => {
                tally.crashed += 1;
                assert!(
                    marks == *deliveries && marks >= most,
                    "{id} has {marks} crash marks, not {deliveries}"
                );
            }
            _ => {}
        }
        told.crash_marks = 0;
        if let Settle::Done(outcome) | Settle::Trash(outcome) = &item.settle {
            self.ended(id, outcome);
        }
    }

    fn all_ended(&mut self, tasks: &[Arc<Task>], outcome: &Outcome) {
        for task in tasks {
            self.ended(task.id, outcome);
        }
    }

    /// A task ends once, in one way.
    pub(crate) fn ended(&mut self, id: TaskId, outcome: &Outcome) {
        let told = self.task(id);
        let first = told.ended.get_or_insert_with(|| outcome.clone());
        assert_eq!(first, outcome, "{id} ended twice");
    }

    fn task(&mut self, id: TaskId) -> &mut Told {
        self.tasks.entry(id).or_default()
    }

    fn standing(&self, owner: OwnerId) -> Option<Standing> {
        self.owners.get(&owner).map(|owner| owner.standing)
    }

    /// Whose this pass is.
    pub(crate) fn owner(&self, id: TaskId, epoch: Epoch) -> Option<OwnerId> {
        self.passes.get(&(id, epoch)).copied()
    }

    /// Whether this owner's tasks may be another's.
    pub(crate) fn is_fenced(&self, owner: OwnerId) -> bool {
        self.standing(owner) == Some(Standing::Fenced)
    }

    /// Whether somebody was told how the task ended.
    pub(crate) fn has_ended(&self, id: TaskId) -> bool {
        self.tasks.get(&id).is_some_and(|told| told.ended.is_some())
    }

    /// The last pass whose end was reported: by it one knows that the task did not take its dispatcher with it.
    pub(crate) fn last_settled(&self, id: TaskId) -> Option<Epoch> {
        self.settled.range((id, 0)..=(id, Epoch::MAX)).next_back().map(|((_, epoch), _)| *epoch)
    }
}

fn writes(request: &Request) -> bool {
    !matches!(
        request,
        Request::Get(_)
            | Request::List { .. }
            | Request::ListTrash { .. }
            | Request::Count
            | Request::CountOf { .. }
            | Request::Outcomes(_)
            | Request::Held
            | Request::Owners
            | Request::Schedules
            | Request::Register(_)
            | Request::Learn { .. }
    )
}
