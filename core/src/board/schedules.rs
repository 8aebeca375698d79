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
        let ours = |schedule: &ScheduleState| !schedule.paused && schedule.done == from;
        let won = self.schedules.get(name).is_some_and(ours);
        let posted = won.then(|| self.post(now, owner, rows, Room::default()));
        if posted.as_deref().is_some_and(Ticked::moves_on)
            && let Some(schedule) = self.schedules.get_mut(name)
        {
            schedule.done = to;
        }
        Answer::Ticked(Ticked { state: self.schedules.get(name).cloned(), posted })
    }
}
