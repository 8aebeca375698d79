//! Posts a schedule's task at each of its ticks, once across all dispatchers that share the board: the board says up to
//! which tick all is done with, and takes a tick from whoever is first. Which ticks are due is the schedule's own decision.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::Wakeup;
use taskyard_core::schedule::Schedule;
use taskyard_core::store::{NewRow, Posted, Refusal, ScheduleState, Ticked};
use taskyard_core::task::{DueAt, Task};
use taskyard_core::time::Timestamp;

use super::{Intake, Producer, ProducerError};
use crate::config::ScheduleSettings;

/// How long a step of the wall clock, or the end of a pause, may go unnoticed.
const RECHECK: Duration = Duration::from_secs(1);

/// Posts one schedule's task.
pub struct Scheduled {
    settings: ScheduleSettings,
    /// Where it begins if the board does not know it.
    begin: Timestamp,
}

impl Scheduled {
    /// If the board does not know it yet, it begins now: earlier ticks are done with.
    pub fn new(settings: ScheduleSettings, now: Timestamp) -> Self {
        Self { settings, begin: now }
    }

    /// How it stands on the board.
    async fn ask(&self, intake: &Intake) -> Result<ScheduleState, ProducerError> {
        Ok(intake.yard().schedule(&self.settings.name, self.begin).await?)
    }

    /// Posts what is due by `now`, unless another was first. How it stands then.
    async fn tick(
        &self,
        mut plan: Schedule,
        now: Timestamp,
        intake: &Intake,
    ) -> Result<ScheduleState, ProducerError> {
        let from = plan.done();
        let tasks: Result<Vec<_>, _> =
            plan.due(now).into_iter().map(|tick| self.task(tick, intake)).collect();
        let tasks = tasks?;
        let rows = tasks.iter().map(row).collect();
        let Ticked { state, posted } =
            intake.yard().tick(&self.settings.name, from, plan.done(), rows).await?;
        self.post_refused(tasks, posted.unwrap_or_default(), intake).await;
        match state {
            Some(state) => Ok(state),
            // Somebody made the board forget it.
            None => self.ask(intake).await,
        }
    }

    fn task(&self, tick: Timestamp, intake: &Intake) -> Result<Arc<Task>, ProducerError> {
        Ok(intake.read_own(Some(self.settings.id(tick)), &self.settings.task)?)
    }

    /// A tick that meets a full board waits for room, as every producer does. The schedule has not moved on: it ticks again
    /// then, with the same ids, or somebody else does if this program ends.
    async fn post_refused(&self, tasks: Vec<Arc<Task>>, posted: Vec<Posted>, intake: &Intake) {
        let answers = tasks.into_iter().zip(posted);
        let refused = answers.filter_map(|(task, posted)| match posted {
            Posted::Refused(why) => Some((task, why)),
            _ => None,
        });
        let (full, others): (Vec<_>, Vec<_>) = refused.partition(|(_, why)| *why == Refusal::Full);
        for (_, why) in others {
            self.warn(&why);
        }
        let answers = intake.post(full.into_iter().map(|(task, _)| task).collect()).await;
        for error in answers.into_iter().filter_map(Result::err) {
            self.warn(&error);
        }
    }

    fn warn(&self, error: &dyn std::fmt::Display) {
        tracing::warn!(schedule = self.settings.name, %error, "a tick's task was not taken");
    }
}

impl Producer for Scheduled {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        let mut state = self.ask(intake).await?;
        loop {
            let plan = self.settings.plan(state.done);
            let (wakeup, now) = (plan.next_wakeup(), intake.yard().now());
            if wakeup == Wakeup::NEVER {
                return Ok(());
            }
            if state.paused {
                tokio::time::sleep(RECHECK).await;
                state = self.ask(intake).await?;
            } else if wakeup.is_due(now) {
                state = self.tick(plan, now.wall, intake).await?;
            } else {
                tokio::time::sleep(wakeup.sleep(now).unwrap_or(RECHECK).min(RECHECK)).await;
            }
        }
    }
}

fn row(task: &Arc<Task>) -> NewRow {
    NewRow { task: Arc::clone(task), due: DueAt::Now, expires: None, exempt: false, batch: None }
}
