//! Schedules: up to where their ticks are done with. Which ticks there are is decided by whoever asks.

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::store::{NewRow, Room, ScheduleState, Ticked};
use taskyard_core::time::Timestamp;

use super::Sql;
use super::turn::Turn;

impl Turn<'_> {
    pub(super) fn schedule(&mut self, name: &str, begin: Timestamp) -> Sql<Option<ScheduleState>> {
        let new = "INSERT INTO schedule (name, done, paused) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
        self.others.prepare_cached(new)?.execute(params![name, begin.0])?;
        self.find_schedule(name)
    }

    fn find_schedule(&self, name: &str) -> Sql<Option<ScheduleState>> {
        let find = "SELECT name, done, paused FROM schedule WHERE name = ?1";
        self.others.prepare_cached(find)?.query_row([name], read).optional()
    }

    pub(super) fn pause_schedule(&mut self, name: &str, paused: bool) -> Sql<Option<ScheduleState>> {
        let pause = "UPDATE schedule SET paused = ?2 WHERE name = ?1";
        self.others.prepare_cached(pause)?.execute(params![name, paused])?;
        self.find_schedule(name)
    }

    pub(super) fn schedules(&self) -> Sql<Vec<ScheduleState>> {
        let all = "SELECT name, done, paused FROM schedule ORDER BY name";
        self.others.prepare_cached(all)?.query_map([], read)?.collect()
    }

    /// Posts and moves on, unless it pauses or another was first.
    pub(super) fn tick(
        &mut self,
        name: &str,
        from: Timestamp,
        to: Timestamp,
        rows: &[NewRow],
    ) -> Sql<Ticked> {
        let state = self.find_schedule(name)?;
        if !state.as_ref().is_some_and(|schedule| !schedule.paused && schedule.done == from) {
            return Ok(Ticked { state, posted: None });
        }
        let posted = self.post(rows, Room::default())?;
        if Ticked::moves_on(&posted) {
            let move_on = "UPDATE schedule SET done = ?2 WHERE name = ?1";
            self.others.prepare_cached(move_on)?.execute(params![name, to.0])?;
        }
        Ok(Ticked { state: self.find_schedule(name)?, posted: Some(posted) })
    }
}

fn read(row: &rusqlite::Row<'_>) -> Sql<ScheduleState> {
    let name = row.get_ref(0)?.as_str()?.into();
    Ok(ScheduleState { name, done: Timestamp(row.get(1)?), paused: row.get(2)? })
}
