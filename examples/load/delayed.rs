//! Tasks that are not due for long: what memory each takes, and what room on disk.

use std::time::Instant;

use anyhow::Context as _;
use taskyard::Yard;
use taskyard::core::rfc3339::Rfc3339;
use taskyard::core::time::Timestamp;
use taskyard::store::StoreUrl;

use crate::cli::Cli;
use crate::handler::micros_now;
use crate::host;

/// How many are posted together.
const BATCH: usize = 1_000;

/// What this process and its store grew by.
pub(crate) struct Delayed {
    pub(crate) tasks: usize,
    /// The JSON of one task.
    pub(crate) body_bytes: usize,
    pub(crate) grown_bytes: u64,
    pub(crate) resident_bytes: u64,
    /// Of the file; 0 in memory.
    pub(crate) disk_bytes: u64,
    pub(crate) posted_per_second: f64,
    /// The same of the last tenth.
    pub(crate) at_the_end_per_second: f64,
}

impl Delayed {
    /// What a task takes beyond its own JSON.
    pub(crate) fn bytes_beyond_body(&self) -> f64 {
        self.grown_bytes as f64 / self.tasks as f64 - self.body_bytes as f64
    }
}

/// Posts them as producers do, from JSON, so that the size of the body is known; nobody waits for them.
pub(crate) async fn run(yard: &Yard, cli: &Cli, tasks: usize) -> anyhow::Result<Delayed> {
    let payload = "x".repeat(cli.payload);
    let first = micros_now() + cli.after * 1_000_000;
    let text = |n: usize| {
        if cli.over == 0 {
            let delay = cli.after;
            return format!(
                r#"{{"task":"load.nothing","delay":{delay},"kwargs":{{"payload":"{payload}"}}}}"#
            );
        }
        // Scattered over the whole span, as due times are that users give.
        let scattered = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (cli.over * 1_000_000);
        let eta = Rfc3339(Timestamp((first + scattered) as i64));
        format!(r#"{{"task":"load.nothing","eta":"{eta}","kwargs":{{"payload":"{payload}"}}}}"#)
    };
    let before = host::resident_bytes()?;
    let (began, mut last_tenth) = (Instant::now(), Instant::now());
    let mut done = 0;
    while done < tasks {
        let count = (tasks - done).min(BATCH);
        let batch = (done..done + count)
            .map(|n| yard.read_task(&text(n)))
            .collect::<Result<_, _>>()
            .context("a delayed task")?;
        for answer in yard.post_tasks(batch).await {
            answer.context("the yard refused a delayed task")?;
        }
        if done < tasks / 10 * 9 && done + count >= tasks / 10 * 9 {
            last_tenth = Instant::now();
        }
        done += count;
    }
    let (all, end) = (began.elapsed().as_secs_f64(), last_tenth.elapsed().as_secs_f64());
    let resident_bytes = host::resident_bytes()?;
    Ok(Delayed {
        tasks,
        body_bytes: text(0).len(),
        grown_bytes: resident_bytes.saturating_sub(before),
        resident_bytes,
        disk_bytes: disk_bytes(&cli.store),
        posted_per_second: tasks as f64 / all,
        at_the_end_per_second: tasks as f64 / 10.0 / end,
    })
}

fn disk_bytes(store: &StoreUrl) -> u64 {
    let StoreUrl::Sqlite(path) = store else { return 0 };
    std::fs::metadata(path).map_or(0, |file| file.len())
}
