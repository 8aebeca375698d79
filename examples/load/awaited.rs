//! Submitters that each have one task at a time: what a request sees that waits for its task.

use taskyard::Yard;
use tokio::task::JoinSet;

use crate::cli::Cli;
use crate::handler::{Nothing, micros_now};
use crate::tally::Tally;

/// Shares the tasks out among the submitters.
pub(crate) async fn run(yard: &Yard, cli: &Cli, submitters: usize) -> anyhow::Result<Tally> {
    let mut all = JoinSet::new();
    for _ in 0..submitters {
        all.spawn_local(one(yard.clone(), cli.tasks / submitters, cli.payload));
    }
    let mut tally = Tally::default();
    while let Some(own) = all.join_next().await {
        tally.merge(&own?);
    }
    Ok(tally)
}

async fn one(yard: Yard, tasks: usize, payload: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..tasks {
        let submitted = micros_now();
        match yard.submit(Nothing::of(payload)).await {
            Ok(mut task) => {
                tally.to_accepted.add(micros_now().saturating_sub(submitted));
                let started = task.outcome().await.ok();
                tally.add(submitted, started, micros_now());
            }
            Err(_) => tally.refused += 1,
        }
    }
    tally
}
