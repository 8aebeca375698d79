//! Tasks that wait in the basket until they are due: how late they start, and how fast very many drain.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use taskyard::core::time::Timestamp;
use taskyard::draft::Draft;
use taskyard::{BatchHandle, Yard};

use crate::cli::Cli;
use crate::handler::{Nothing, micros_now};
use crate::host;
use crate::spans::Spans;

/// How many are posted together.
const BATCH: usize = 1_000;
/// How long after all are parked the first is due: beyond the horizon.
const LEAD: Duration = Duration::from_secs(4);

/// How what was parked came out.
#[derive(Default)]
pub(crate) struct Drained {
    pub(crate) tasks: usize,
    pub(crate) posted_per_second: f64,
    pub(crate) ended_per_second: f64,
    pub(crate) early: usize,
    pub(crate) late: Spans,
    /// What the memory of this process grew by while they drained.
    pub(crate) grown_bytes: u64,
    /// How long a task of the highest priority took to start that was submitted in between.
    pub(crate) urgent_micros: Option<u64>,
}

/// All due at one instant.
pub(crate) async fn burst(yard: &Yard, cli: &Cli, tasks: usize) -> anyhow::Result<Drained> {
    // Posting takes a while; the instant must lie behind its end.
    let expected = Duration::from_secs(2 + tasks as u64 / 50_000);
    let due = micros_now() + (expected + LEAD).as_micros() as u64;
    let began = Instant::now();
    let mut left = tasks;
    while left > 0 {
        let count = left.min(BATCH);
        left -= count;
        let text = json(cli.payload, due);
        let batch = (0..count).map(|_| yard.read_task(&text)).collect::<Result<_, _>>()?;
        for answer in yard.post_tasks(batch).await {
            answer.context("the yard refused a task")?;
        }
    }
    let posted_per_second = tasks as f64 / began.elapsed().as_secs_f64();
    anyhow::ensure!(micros_now() < due, "posting took longer than expected: the first are late by that");
    let before = host::resident_bytes()?;
    let done = yard.totals().await?.succeeded;
    let mut peak = before;
    let mut urgent_micros = None;
    let started = Instant::now() + Duration::from_micros(due.saturating_sub(micros_now()));
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        peak = peak.max(host::resident_bytes()?);
        let drained = (yard.totals().await?.succeeded - done) as usize;
        if urgent_micros.is_none() && drained > tasks / 2 {
            let submitted = micros_now();
            let start = yard.submit(Draft::new(Nothing::of(0)).priority(9)).await?.outcome().await?;
            urgent_micros = Some(start.saturating_sub(submitted));
        }
        if drained >= tasks {
            break;
        }
    }
    let ended_per_second = tasks as f64 / started.elapsed().as_secs_f64();
    Ok(Drained {
        tasks,
        posted_per_second,
        ended_per_second,
        grown_bytes: peak - before,
        urgent_micros,
        ..Drained::default()
    })
}

/// So many due a second, evenly.
pub(crate) async fn due(yard: &Yard, cli: &Cli, rate: u32) -> anyhow::Result<Drained> {
    let first = micros_now() + (LEAD + Duration::from_secs(1)).as_micros() as u64;
    let step = 1_000_000 / u64::from(rate.max(1));
    let due_of = |n: usize| first + n as u64 * step;
    let began = Instant::now();
    let drafts =
        (0..cli.tasks).map(|n| Draft::new(Nothing::of(cli.payload)).eta(Timestamp(due_of(n) as i64)));
    let taken = yard.submit_many(drafts).await;
    let posted_per_second = cli.tasks as f64 / began.elapsed().as_secs_f64();
    anyhow::ensure!(taken.refused.is_empty(), "{} tasks were refused", taken.refused.len());
    let mut drained = Drained { tasks: cli.tasks, posted_per_second, ..Drained::default() };
    let order: std::collections::HashMap<_, _> =
        taken.batch.ids().iter().enumerate().map(|(n, id)| (*id, n)).collect();
    follow(taken.batch, &mut drained, |id| due_of(order[id])).await?;
    Ok(drained)
}

async fn follow(
    mut batch: BatchHandle<u64>,
    drained: &mut Drained,
    due_of: impl Fn(&taskyard::core::TaskId) -> u64,
) -> anyhow::Result<()> {
    while let Some((id, started)) = batch.next().await? {
        let (started, due) = (started?, due_of(&id));
        drained.early += usize::from(started < due);
        drained.late.add(started.saturating_sub(due));
    }
    Ok(())
}

fn json(payload: usize, due: u64) -> String {
    let eta = taskyard::core::rfc3339::Rfc3339(Timestamp(due as i64));
    format!(r#"{{"task":"load.nothing","eta":"{eta}","kwargs":{{"payload":"{}"}}}}"#, "x".repeat(payload))
}
