//! Settlements: how claimed rows change when their pass ends.

use taskyard_core::dispatch::Outcome;
use taskyard_core::filing;
use taskyard_core::store::{AttemptEnd, Room, RowState, Settle, Settled, Settlement};
use taskyard_core::task::DueAt;

use super::Sql;
use super::row::Row;
use super::turn::Turn;

/// How the record stands to a settlement.
enum Standing {
    /// It is awaited.
    Open(Box<Row>),
    /// It was recorded before.
    Recorded,
    /// It is another's, or of another pass.
    Stale,
}

impl Turn<'_> {
    pub(super) fn settle(&mut self, items: &[Settlement]) -> Sql<Vec<Settled>> {
        items.iter().map(|item| self.settle_one(item)).collect()
    }

    fn settle_one(&mut self, item: &Settlement) -> Sql<Settled> {
        let settled = |accepted| Settled { id: item.id, epoch: item.epoch, accepted };
        match self.standing(item)? {
            Standing::Open(row) => self.record(&row, &item.settle)?,
            Standing::Recorded => return Ok(settled(true)),
            Standing::Stale => return Ok(settled(false)),
        }
        for new in &item.posts {
            self.post_one(new, &mut Room::default())?;
        }
        Ok(settled(true))
    }

    fn standing(&self, item: &Settlement) -> Sql<Standing> {
        let row = self.row_at(item.sequence)?.filter(|row| row.id == item.id);
        let Some(row) = row else {
            let ended = self.ended(item.id)?;
            let ours = ended.is_some_and(|ended| ended.epoch == item.epoch && ended.owner == self.owner);
            return Ok(if ours { Standing::Recorded } else { Standing::Stale });
        };
        let ours = row.epoch == item.epoch && row.owner == self.owner;
        Ok(match row.state {
            _ if !ours => Standing::Stale,
            RowState::Claimed => Standing::Open(Box::new(row)),
            _ => Standing::Recorded,
        })
    }

    fn record(&mut self, before: &Row, settle: &Settle) -> Sql<()> {
        let mut row = before.clone();
        self.count_end(&mut row, settle)?;
        match settle {
            Settle::Done(outcome) | Settle::Trash(outcome) => self.end(&row, outcome),
            Settle::Retry { due, .. } => self.put_back(before, row, Some(DueAt::Wall(*due)), true).map(drop),
            Settle::GiveBack { due, renew, .. } => self.put_back(before, row, *due, *renew).map(drop),
        }
    }

    /// What a pass counts. Of a task that never went wrong nothing is logged.
    fn count_end(&mut self, row: &mut Row, settle: &Settle) -> Sql<()> {
        row.attempts += settle.attempts();
        match settle {
            Settle::Done(_) => self.note_end(row)?,
            Settle::Trash(_) => self.note(row, &AttemptEnd::Ended)?,
            Settle::Retry { error, .. } => {
                row.setbacks = 0;
                self.note(row, &AttemptEnd::Failed(error.clone()))?;
            }
            Settle::GiveBack { setback: true, .. } => {
                row.setbacks += 1;
                self.note(row, &AttemptEnd::Setback)?;
            }
            Settle::GiveBack { .. } => {}
        }
        if !matches!(settle, Settle::GiveBack { started: false, .. }) {
            row.crash_marks = 0;
        }
        Ok(())
    }

    /// Gives a claimed row that did not end its next due time, or leaves it the one that it had; one that somebody wants
    /// cancelled ends now. Whether it is on the board again. Whatever takes it in again does not judge it anew, unless it was
    /// not yet due and so has not been judged at all.
    pub(super) fn put_back(
        &mut self,
        before: &Row,
        mut row: Row,
        due: Option<DueAt>,
        renew: bool,
    ) -> Sql<bool> {
        if row.unwanted {
            self.end(&row, &Outcome::Cancelled)?;
            return Ok(false);
        }
        row.judged |= row.due <= self.now.wall;
        // Its place in the order is that of its old due time.
        row.rank = Some(row.order(self.aging()).rank);
        row.due = due.map_or(row.due, |due| filing::wall(due, self.now));
        if renew {
            self.renew_order(&mut row);
            self.release_key(&mut row)?;
        }
        // Otherwise it keeps its place among its twins too: one that waits behind it must not be let past.
        self.file(before, row)?;
        Ok(true)
    }

    /// Gives a row the place in the order of what is posted now.
    pub(super) fn renew_order(&self, row: &mut Row) {
        let order = filing::order(row.priority, row.due, self.now.wall, row.sequence, self.aging());
        row.rank = Some(order.rank);
    }
}
