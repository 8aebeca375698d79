//! What a schedule of the configuration comes to: when its ticks are, and under which ids their tasks are posted. Nothing
//! is posted here.

use taskyard_core::TaskId;
use taskyard_core::schedule::{Every, Schedule, Ticks};
use taskyard_core::time::Timestamp;

use crate::config::{ScheduleSettings, When};

impl ScheduleSettings {
    /// Its ticks, those up to `done` being done with.
    pub fn plan(&self, done: Timestamp) -> Schedule {
        let ticks: Box<dyn Ticks> = match &self.when {
            When::Cron(cron) => cron.clone(),
            // On round times of the clock, so that a restart changes nothing. The span was checked: it is not zero.
            When::Every(span) => match Every::new(*span, Timestamp(0)) {
                Some(every) => Box::new(every),
                None => Box::new(Never),
            },
        };
        Schedule::new(&self.name, ticks, self.catch_up, self.jitter, done)
    }

    /// The id of a tick's task. The same for the same tick, so that one that is posted again is kept once.
    pub fn id(&self, tick: Timestamp) -> TaskId {
        TaskId(0).derived(format!("schedule {} {}", self.name, tick.0).as_bytes())
    }
}

struct Never;

impl Ticks for Never {
    fn next_after(&self, _: Timestamp) -> Option<Timestamp> {
        None
    }
}
