//! Taking tasks in, and where a row goes once it is due.

use taskyard_core::filing;
use taskyard_core::store::{Known, NewRow, Posted, Refusal, Room, RowState};
use taskyard_core::task::DueAt;

use super::Sql;
use super::row::Row;
use super::turn::Turn;
use crate::store::lanes::LaneNo;

impl Turn<'_> {
    pub(super) fn post(&mut self, rows: &[NewRow], mut room: Room) -> Sql<Vec<Posted>> {
        rows.iter().map(|row| self.post_one(row, &mut room)).collect()
    }

    pub(super) fn post_one(&mut self, new: &NewRow, room: &mut Room) -> Sql<Posted> {
        if let Some(known) = self.known(new)? {
            return Ok(Posted::Known(Box::new(known)));
        }
        let lane = match self.enter(new)? {
            Ok(lane) => lane,
            Err(refusal) => return Ok(Posted::Refused(refusal)),
        };
        let mut row = self.new_row(new, lane);
        row.state = self.place(&mut row)?;
        let state = row.state;
        let pool = {
            let (pools, tallies) = (self.mirror.pools(lane), &self.mirror.tallies);
            filing::claim_new(state, row.due, pools, room, |pool| tallies.waits(pool, state))
        };
        row.batch = self.enter_batch(new.batch)?;
        if pool.is_some() {
            Self::admit_anyway(&mut row);
            self.begin(&mut row);
        }
        self.insert(&row, &new.task)?;
        let due = if state == RowState::Parked { new.due } else { DueAt::Now };
        Ok(match pool {
            Some(pool) => Posted::Claimed(row.claimed(new.task.clone(), pool, due, self.aging())),
            None => Posted::Kept(state),
        })
    }

    /// What is known of a task that was posted before. Ids of version 7 rise: those of new tasks cost no look.
    fn known(&mut self, new: &NewRow) -> Sql<Option<Known>> {
        let id = new.task.id;
        if self.mirror.newest.is_none_or(|newest| newest < id) {
            return Ok(None);
        }
        let Some(row) = self.row_of(id)? else {
            let ended = self.ended(id)?;
            let known = |outcome| Known { state: RowState::Ended, claimed: None, outcome: Some(outcome) };
            return Ok(ended.map(|ended| known(ended.outcome)));
        };
        let claimed = if row.is_held_by(self.owner) {
            // What the asker holds is what it posted, even if the record of it can't be read.
            let task = self.task_of(&row)?.unwrap_or_else(|_| new.task.clone());
            let pool = self.mirror.lanes.pool_of(row.lane);
            Some(row.claimed(task, pool, DueAt::Wall(row.due), self.aging()))
        } else {
            None
        };
        Ok(Some(Known { state: row.state, claimed, outcome: None }))
    }

    /// The lane of a new task, unless the board does not take it.
    fn enter(&mut self, new: &NewRow) -> Sql<Result<LaneNo, Refusal>> {
        let (settings, lane) = (&self.rules.settings, &new.task.lane);
        let known = self.mirror.find_lane(self.others, lane)?;
        let tallies = &self.mirror.tallies;
        let one_more = known.is_none_or(|lane| tallies.is_unused(lane));
        if new.exempt {
        } else if tallies.unfinished() >= settings.board_max {
            return Ok(Err(Refusal::Full));
        } else if one_more && tallies.used() >= settings.lanes_max {
            return Ok(Err(Refusal::TooManyLanes));
        } else if settings.reject_unroutable
            && self.mirror.lanes.is_unroutable(lane)
            && !self.others_take(&lane.namespace)?
        {
            return Ok(Err(Refusal::Unroutable));
        }
        match known {
            Some(lane) => Ok(Ok(lane)),
            None => self.mirror.enter_lane(self.others, lane).map(Ok),
        }
    }

    fn new_row(&mut self, new: &NewRow, lane: LaneNo) -> Row {
        let row = Row::new(self.next_sequence(), &new.task, lane, self.now.wall);
        Row { due: filing::wall(new.due, self.now), expires: new.expires, ..row }
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.mirror.numbers.sequence += 1;
        self.mirror.numbers.sequence as u64
    }

    /// Where an unclaimed row goes. It is counted for its key if that is ready, and has its place in the order written down
    /// where that is looked for.
    pub(super) fn place(&self, row: &mut Row) -> Sql<RowState> {
        let must_be_judged = row.must_be_judged();
        let asked = row.due <= self.now.wall && !must_be_judged;
        let may = asked && self.admit(row)?;
        let state = filing::state(row.due, self.now, must_be_judged, || may);
        if state != RowState::Parked {
            row.rank = Some(row.order(self.aging()).rank);
        }
        Ok(state)
    }

    /// Gives a row that stands in the table the place that its due time and its key ask for.
    pub(super) fn file(&mut self, before: &Row, mut row: Row) -> Sql<RowState> {
        row.state = self.place(&mut row)?;
        if row.state == RowState::Parked {
            self.release_key(&mut row)?;
        }
        self.update(before, &row)?;
        Ok(row.state)
    }

    /// The next pass of a row begins, under the asking owner.
    pub(super) fn begin(&self, row: &mut Row) {
        row.state = RowState::Claimed;
        row.owner = self.owner;
        row.epoch += 1;
    }
}
