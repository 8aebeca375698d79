//! Tasks that are not due for an hour: what memory each takes.

use anyhow::Context as _;
use taskyard::Yard;

use crate::host;

/// How many are posted together.
const BATCH: usize = 1_000;

/// What the memory of this process grew by.
pub(crate) struct Delayed {
    pub(crate) tasks: usize,
    /// The JSON of one task.
    pub(crate) body_bytes: usize,
    pub(crate) grown_bytes: u64,
}

impl Delayed {
    /// What a task takes beyond its own JSON.
    pub(crate) fn bytes_beyond_body(&self) -> f64 {
        self.grown_bytes as f64 / self.tasks as f64 - self.body_bytes as f64
    }
}

/// Posts them as producers do, from JSON, so that the size of the body is known; nobody waits for them.
pub(crate) async fn run(yard: &Yard, tasks: usize, payload: usize) -> anyhow::Result<Delayed> {
    let text =
        format!(r#"{{"task":"load.nothing","delay":3600,"kwargs":{{"payload":"{}"}}}}"#, "x".repeat(payload));
    let before = host::resident_bytes()?;
    let mut left = tasks;
    while left > 0 {
        let count = left.min(BATCH);
        left -= count;
        let batch =
            (0..count).map(|_| yard.read_task(&text)).collect::<Result<_, _>>().context("a delayed task")?;
        for answer in yard.post_tasks(batch).await {
            answer.context("the yard refused a delayed task")?;
        }
    }
    let grown_bytes = host::resident_bytes()?.saturating_sub(before);
    Ok(Delayed { tasks, body_bytes: text.len(), grown_bytes })
}
