//! Posts a schedule's task at each of its ticks. Which ticks are due is the schedule's own decision.

use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::Wakeup;
use taskyard_core::schedule::{Every, Schedule, Ticks};
use taskyard_core::time::Timestamp;

use super::{Intake, Producer, ProducerError};
use crate::config::{ScheduleSettings, When};

/// How long a step of the wall clock may go unnoticed.
const RECHECK: Duration = Duration::from_secs(1);

/// Posts one schedule's task.
pub struct Scheduled {
    name: String,
    task: String,
    schedule: Schedule,
}

impl Scheduled {
    /// Begins now: earlier ticks are done with.
    pub fn new(settings: ScheduleSettings, now: Timestamp) -> Self {
        let ticks: Box<dyn Ticks> = match settings.when {
            When::Cron(cron) => cron,
            // On round times of the clock, so that a restart changes nothing. The span was checked: it is not zero.
            When::Every(span) => match Every::new(span, Timestamp(0)) {
                Some(every) => Box::new(every),
                None => Box::new(Never),
            },
        };
        let schedule = Schedule::new(&settings.name, ticks, settings.catch_up, settings.jitter, now);
        Self { name: settings.name, task: settings.task, schedule }
    }

    /// The same for the same tick, so that one that is posted again is kept once.
    fn id(&self, tick: Timestamp) -> TaskId {
        TaskId(0).derived(format!("schedule {} {}", self.name, tick.0).as_bytes())
    }
}

impl Producer for Scheduled {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        loop {
            let wakeup = self.schedule.next_wakeup();
            if wakeup == Wakeup::NEVER {
                return Ok(());
            }
            let now = intake.yard().now();
            if !wakeup.is_due(now) {
                tokio::time::sleep(wakeup.sleep(now).unwrap_or(RECHECK).min(RECHECK)).await;
                continue;
            }
            let ticks = self.schedule.due(now.wall);
            let read: Result<_, _> =
                ticks.into_iter().map(|tick| intake.read_own(Some(self.id(tick)), &self.task)).collect();
            for error in intake.post(read?).await.into_iter().filter_map(Result::err) {
                tracing::warn!(schedule = self.name, %error, "a tick's task was not taken");
            }
        }
    }
}

struct Never;

impl Ticks for Never {
    fn next_after(&self, _: Timestamp) -> Option<Timestamp> {
        None
    }
}
