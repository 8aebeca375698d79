//! Tasks that fell due while no dispatcher was there: how soon the first one starts once there is one again.

use std::time::Duration;

use anyhow::Context as _;
use taskyard::Yard;
use taskyard::core::dispatch::Outcome;
use taskyard::core::time::Timestamp;
use taskyard::draft::Draft;

use crate::handler::{Nothing, micros_now};

/// How many are posted together.
const BATCH: usize = 1_000;
/// How long after the first is posted all are due: beyond the horizon, and after the last.
const LEAD: Duration = Duration::from_secs(5);

/// Parks them, ends that yard, and has another one started once they are due. Microseconds from before that start until the
/// first of them ran.
pub(crate) async fn run(
    tasks: usize,
    payload: usize,
    start: impl Fn() -> anyhow::Result<Yard>,
) -> anyhow::Result<(Yard, u64)> {
    let yard = start()?;
    let lead = LEAD + Duration::from_secs(tasks as u64 / 50_000);
    let due = Timestamp((micros_now() + lead.as_micros() as u64) as i64);
    let mut first = None;
    for from in (0..tasks).step_by(BATCH) {
        let drafts = (from..tasks.min(from + BATCH)).map(|_| Draft::new(Nothing::of(payload)).eta(due));
        let taken = yard.submit_many(drafts).await;
        anyhow::ensure!(taken.refused.is_empty(), "the yard refused a task");
        first = first.or(taken.batch.ids().first().copied());
    }
    let first = first.context("no tasks")?;
    yard.drain().await.context("the yard did not drain")?;
    drop(yard);
    let left = (due.0 as u64).checked_sub(micros_now()).context("posting took longer than expected")?;
    tokio::time::sleep(Duration::from_micros(left)).await;
    let began = micros_now();
    let yard = start()?;
    let outcome = yard.outcome(first).await.context("the first task")?;
    let Outcome::Succeeded(value) = outcome else {
        anyhow::bail!("the first task ended otherwise: {outcome:?}")
    };
    let started: u64 = value.parse().context("when it started")?;
    Ok((yard, started.saturating_sub(began)))
}
