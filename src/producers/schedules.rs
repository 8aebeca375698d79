//! Posts a schedule's task at each of its ticks. Which ticks are due is the schedule's own decision.

use std::time::Duration;

use taskyard_core::Wakeup;
use taskyard_core::schedule::Schedule;
use taskyard_core::time::Timestamp;

use super::{Intake, Producer, ProducerError};
use crate::config::ScheduleSettings;

/// How long a step of the wall clock may go unnoticed.
const RECHECK: Duration = Duration::from_secs(1);

/// Posts one schedule's task.
pub struct Scheduled {
    settings: ScheduleSettings,
    schedule: Schedule,
}

impl Scheduled {
    /// Begins now: earlier ticks are done with.
    pub fn new(settings: ScheduleSettings, now: Timestamp) -> Self {
        Self { schedule: settings.plan(now), settings }
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
            let read = |tick| intake.read_own(Some(self.settings.id(tick)), &self.settings.task);
            let ticks: Result<_, _> = self.schedule.due(now.wall).into_iter().map(read).collect();
            for error in intake.post(ticks?).await.into_iter().filter_map(Result::err) {
                tracing::warn!(schedule = self.settings.name, %error, "a tick's task was not taken");
            }
        }
    }
}
