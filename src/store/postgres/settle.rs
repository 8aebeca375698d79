//! Settlements: how claimed rows change when their pass ends. Compare-and-set on owner and epoch; what was recorded before is
//! accepted again and changes nothing.

use taskyard_core::TaskId;
use taskyard_core::dispatch::DispatchName;
use taskyard_core::map::{Map, Set};
use taskyard_core::store::{AttemptEnd, NewRow, OwnerId, Room, RowState, Settle, Settled, Settlement};

use super::back::Back;
use super::ends::End;
use super::fault::Fault;
use super::known::uuids;
use super::row::uuid;
use super::turn::Turn;

const MARK_START: &str = "UPDATE tasks SET start_marked = epoch,
      crash_marks = crash_marks + CASE WHEN start_marked = epoch THEN 0 ELSE 1 END
    WHERE id = $1 AND epoch = $2 AND owner = $3 AND state::integer = 4 RETURNING sequence";

impl Turn<'_> {
    /// Records how passes ended. Their keys are locked.
    pub(super) async fn settle(&mut self, items: &[Settlement]) -> Result<Vec<Settled>, Fault> {
        let mut settled = Set::default();
        let kinds = items.iter().map(|item| self.sort(item));
        let (mut ends, mut trashed, mut back) = (Vec::new(), Vec::new(), Vec::new());
        for kind in kinds.collect::<Vec<_>>() {
            match kind {
                Kind::End(end) => ends.push(end),
                Kind::Trash(end) => trashed.push(end),
                Kind::Back(row) => back.push(row),
            }
        }
        settled.extend(self.end_claimed(ends).await?);
        settled.extend(self.trash_claimed(trashed).await?);
        let returned = self.put_back(back).await?;
        settled.extend(returned.back.into_iter().chain(returned.unwanted));
        let new = |item: &&Settlement| settled.contains(&(item.sequence as i64));
        let posts: Vec<NewRow> = items.iter().filter(new).flat_map(|item| &item.posts).cloned().collect();
        self.post(&posts, Room::default()).await?;
        let others: Vec<_> = items.iter().filter(|item| !new(item)).collect();
        let recorded = self.recorded(&others).await?;
        let accepted =
            |item: &Settlement| settled.contains(&(item.sequence as i64)) || recorded.contains(&name(item));
        let answer = |item: &Settlement| Settled { id: item.id, epoch: item.epoch, accepted: accepted(item) };
        Ok(items.iter().map(answer).collect())
    }

    fn sort(&self, item: &Settlement) -> Kind {
        let (sequence, epoch, owner) = (item.sequence as i64, item.epoch, self.owner);
        let back = |due, renew, reported, how| {
            Kind::Back(Back { sequence, epoch, owner, due, renew, reported, how })
        };
        match &item.settle {
            Settle::Done(outcome) => Kind::End(End { sequence, epoch, outcome: outcome.clone() }),
            Settle::Trash(outcome) => Kind::Trash(End { sequence, epoch, outcome: outcome.clone() }),
            Settle::Retry { due, error } => {
                let due = self.skew.to_server(*due).0;
                back(Some(due), true, true, Some(AttemptEnd::Failed(error.clone())))
            }
            Settle::GiveBack { due, setback, renew, started } => {
                let due = due.map(|due| self.wall(self.skew.reckoned(due)));
                back(due, *renew, *started, setback.then_some(AttemptEnd::Setback))
            }
        }
    }

    /// Those of these settlements that were recorded before.
    async fn recorded(&mut self, items: &[&Settlement]) -> Result<Set<DispatchName>, Fault> {
        if items.is_empty() {
            return Ok(Set::default());
        }
        let ids = uuids(items.iter().map(|item| &item.id));
        let ended = self.ended(&ids).await?;
        let rows = self.tasks_by_id(&ids).await?;
        let there: Map<TaskId, (i64, u32, OwnerId, RowState)> =
            rows.iter().map(|row| (row.id, (row.sequence, row.epoch, row.owner, row.state))).collect();
        let is_recorded = |item: &&&Settlement| match (there.get(&item.id), ended.get(&item.id)) {
            (Some((sequence, epoch, owner, state)), _) => {
                let ours = (*sequence as u64, *epoch, *owner) == (item.sequence, item.epoch, self.owner);
                ours && *state != RowState::Claimed
            }
            (None, Some(ended)) => (ended.epoch, ended.owner) == (item.epoch, self.owner),
            (None, None) => false,
        };
        Ok(items.iter().filter(is_recorded).map(|item| name(item)).collect())
    }

    /// A task whose last delivery ended unreported is about to start. Whether it may: the asking owner has it.
    pub(super) async fn mark_start(&mut self, name: DispatchName) -> Result<bool, Fault> {
        let params: super::link::Params<'_> = &[&uuid(name.id), &(name.epoch as i32), &self.owner_number()];
        Ok(self.session.row(MARK_START, params).await?.is_some())
    }
}

/// What a settlement does to its row.
enum Kind {
    End(End),
    Trash(End),
    Back(Back),
}

fn name(item: &Settlement) -> DispatchName {
    DispatchName { id: item.id, epoch: item.epoch }
}
