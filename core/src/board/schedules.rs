//! Schedules: up to where their ticks are done with. Which ticks there are is decided by whoever asks.

use super::Board;
use crate::store::{Answer, NewRow, OwnerId, Room, ScheduleState, Ticked};
use crate::time::{Now, Timestamp};

impl Board {
    pub(super) fn schedule(&mut self, name: &str, begin: Timestamp) -> ScheduleState {
        let new = || ScheduleState { name: name.into(), done: begin, paused: false };
        self.schedules.entry(name.into()).or_insert_with(new).clone()
    }

    pub(super) fn pause_schedule(&mut self, name: &str, paused: bool) -> Option<ScheduleState> {
        let schedule = self.schedules.get_mut(name)?;
        schedule.paused = paused;
        Some(schedule.clone())
    }

    /// Posts and moves on, unless it pauses or another was first.
    pub(super) fn tick(
        &mut self,
        now: Now,
        owner: OwnerId,
        name: &str,
        (from, to): (Timestamp, Timestamp),
        rows: &[NewRow],
    ) -> Answer {
        let ours = |schedule: &&mut ScheduleState| !schedule.paused && schedule.done == from;
        let won = self.schedules.get_mut(name).filter(ours).map(|schedule| schedule.done = to);
        let posted = won.map(|()| self.post(now, owner, rows, Room::default()));
        Answer::Ticked(Ticked { state: self.schedules.get(name).cloned(), posted })
    }
}
