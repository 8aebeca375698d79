//! One task at a time, with pauses: how soon an idle yard starts a task.

use taskyard::Yard;

use crate::cli::Cli;
use crate::handler::{Nothing, micros_now};
use crate::tally::Tally;

/// Submits a task, waits for its outcome, pauses.
pub(crate) async fn run(yard: &Yard, cli: &Cli) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for _ in 0..cli.tasks {
        tokio::time::sleep(cli.pause).await;
        let task = Nothing::of(cli.payload);
        let submitted = micros_now();
        match yard.submit(task).await {
            Ok(mut task) => {
                tally.to_accepted.add(micros_now().saturating_sub(submitted));
                let started = task.outcome().await.ok();
                tally.add(submitted, started, micros_now());
            }
            Err(_) => tally.refused += 1,
        }
    }
    Ok(tally)
}
