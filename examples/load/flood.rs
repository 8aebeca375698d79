//! Many tasks at once, in batches: as fast as they come back, or at a rate of its own.

use std::time::{Duration, Instant};

use taskyard::{Yard, YardDown};
use tokio::task::JoinSet;

use crate::cli::Cli;
use crate::handler::{Nothing, micros_now};
use crate::tally::Tally;

/// How often a fixed rate submits what is due.
const TICK: Duration = Duration::from_millis(1);

type Batches = JoinSet<Result<Tally, YardDown>>;

/// Keeps so many batches open until all tasks have ended.
pub(crate) async fn closed(yard: &Yard, cli: &Cli) -> anyhow::Result<Tally> {
    let (mut open, mut tally, mut left) = (Batches::new(), Tally::default(), cli.tasks);
    while left > 0 {
        let count = left.min(cli.batch.max(1));
        left -= count;
        open.spawn_local(batch(yard.clone(), count, cli.payload, micros_now()));
        while open.len() >= cli.open.max(1) {
            collect_one(&mut open, &mut tally).await?;
        }
    }
    collect(open, tally).await
}

/// Submits at a fixed rate. A task's time begins when it should have been submitted, so that a yard that is late can't hide
/// that by holding the load back.
pub(crate) async fn open(yard: &Yard, cli: &Cli, rate: u32) -> anyhow::Result<Tally> {
    let (mut open, mut tally) = (Batches::new(), Tally::default());
    let (began, mut sent) = (Instant::now(), 0);
    let mut ticks = tokio::time::interval(TICK);
    while sent < cli.tasks {
        ticks.tick().await;
        let due = (began.elapsed().as_secs_f64() * f64::from(rate)) as usize;
        let count = due.min(cli.tasks).saturating_sub(sent).min(cli.batch.max(1));
        if count > 0 {
            let late = began.elapsed().saturating_sub(Duration::from_secs_f64(sent as f64 / f64::from(rate)));
            // Whatever fell due since the last tick counts from that tick's end.
            let late = late.saturating_sub(TICK).as_micros() as u64;
            sent += count;
            open.spawn_local(batch(yard.clone(), count, cli.payload, micros_now() - late));
        }
        while let Some(ended) = open.try_join_next() {
            tally.merge(&ended??);
        }
    }
    collect(open, tally).await
}

async fn batch(yard: Yard, count: usize, payload: usize, submitted: u64) -> Result<Tally, YardDown> {
    let taken = yard.submit_many((0..count).map(|_| Nothing::of(payload))).await;
    let mut tally = Tally { refused: taken.refused.len() as u64, ..Tally::default() };
    tally.follow(submitted, taken.batch).await?;
    Ok(tally)
}

async fn collect(mut open: Batches, mut tally: Tally) -> anyhow::Result<Tally> {
    while !open.is_empty() {
        collect_one(&mut open, &mut tally).await?;
    }
    Ok(tally)
}

async fn collect_one(open: &mut Batches, tally: &mut Tally) -> anyhow::Result<()> {
    if let Some(ended) = open.join_next().await {
        tally.merge(&ended??);
    }
    Ok(())
}
