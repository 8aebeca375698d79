//! Tasks that are not due for long: what memory each takes, and what room on disk; and how long it takes to find or cancel one.

use std::ops::Range;
use std::time::Instant;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::core::rfc3339::Rfc3339;
use taskyard::core::store::Filter;
use taskyard::core::time::Timestamp;
use taskyard::store::StoreUrl;

use crate::cli::Cli;
use crate::handler::micros_now;
use crate::host;
use crate::spans::Spans;

/// How many are posted together.
const BATCH: usize = 1_000;
/// So many of them are looked at afterwards, and so many cancelled, one by one.
const PICKED: usize = 2_000;

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
    pub(crate) gets: Spans,
    pub(crate) cancels: Spans,
}

impl Delayed {
    /// What a task takes beyond its own JSON.
    pub(crate) fn bytes_beyond_body(&self) -> f64 {
        self.grown_bytes as f64 / self.tasks as f64 - self.body_bytes as f64
    }
}

/// Posts them as producers do, from JSON, so that the size of the body is known; nobody waits for them.
pub(crate) async fn run(yard: &Yard, cli: &Cli, tasks: usize) -> anyhow::Result<Delayed> {
    let text = Text::new(cli);
    let before = host::resident_bytes()?;
    let began = Instant::now();
    // The last tenth is timed for itself.
    let mut picked = post(yard, cli, &text, 0..tasks / 10 * 9).await?;
    let last_tenth = Instant::now();
    picked.extend(post(yard, cli, &text, tasks / 10 * 9..tasks).await?);
    let (all, end) = (began.elapsed().as_secs_f64(), last_tenth.elapsed().as_secs_f64());
    let resident_bytes = host::resident_bytes()?;
    let disk_bytes = disk_bytes(&cli.store);
    let (gets, cancels) = pick(yard, &picked).await?;
    Ok(Delayed {
        tasks,
        body_bytes: text.of(0).len(),
        grown_bytes: resident_bytes.saturating_sub(before),
        resident_bytes,
        disk_bytes,
        posted_per_second: tasks as f64 / all,
        at_the_end_per_second: (tasks - tasks / 10 * 9) as f64 / end,
        gets,
        cancels,
    })
}

/// What the tasks say.
struct Text {
    payload: String,
    first: u64,
    after: u64,
    over: u64,
}

impl Text {
    fn new(cli: &Cli) -> Self {
        let first = micros_now() + cli.after * 1_000_000;
        Self { payload: "x".repeat(cli.payload), first, after: cli.after, over: cli.over }
    }

    fn of(&self, n: usize) -> String {
        let Self { payload, first, after, over } = self;
        if *over == 0 {
            return format!(
                r#"{{"task":"load.nothing","delay":{after},"kwargs":{{"payload":"{payload}"}}}}"#
            );
        }
        // Scattered over the whole span, as due times are that users give.
        let scattered = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (over * 1_000_000);
        let eta = Rfc3339(Timestamp((first + scattered) as i64));
        format!(r#"{{"task":"load.nothing","eta":"{eta}","kwargs":{{"payload":"{payload}"}}}}"#)
    }
}

/// Posts in batches, of which some are on their way at once. Gives the id of one of each batch.
async fn post(yard: &Yard, cli: &Cli, text: &Text, range: Range<usize>) -> anyhow::Result<Vec<TaskId>> {
    let end = range.end;
    let batch = |from: usize| async move {
        let tasks = (from..end.min(from + BATCH)).map(|n| yard.read_task(&text.of(n)));
        let tasks = tasks.collect::<Result<_, _>>().context("a delayed task")?;
        let answers = yard.post_tasks(tasks).await.into_iter().collect::<Result<Vec<_>, _>>();
        let first = answers.context("the yard refused a delayed task")?.first().map(|task| task.id);
        first.context("an empty batch")
    };
    let batches = stream::iter(range.step_by(BATCH).map(batch));
    batches.buffer_unordered(cli.open.max(1)).try_collect().await
}

/// Looks at some of the tasks and cancels others, one after the other.
async fn pick(yard: &Yard, ids: &[TaskId]) -> anyhow::Result<(Spans, Spans)> {
    let (mut gets, mut cancels) = (Spans::default(), Spans::default());
    // Scattered: neighbours would be found in the pages of the one before.
    let mut order: Vec<_> = ids.to_vec();
    order.sort_by_key(|id| id.0.reverse_bits());
    let (looked, cancelled) = order.split_at(order.len() / 2);
    for id in looked.iter().take(PICKED) {
        let began = Instant::now();
        yard.get(*id).await?.context("a task is gone")?;
        gets.add(began.elapsed().as_micros() as u64);
    }
    for id in cancelled.iter().take(PICKED) {
        let began = Instant::now();
        yard.cancel(Filter { ids: vec![*id], ..Filter::default() }).await?;
        cancels.add(began.elapsed().as_micros() as u64);
    }
    Ok((gets, cancels))
}

fn disk_bytes(store: &StoreUrl) -> u64 {
    let StoreUrl::Sqlite(path) = store else { return 0 };
    std::fs::metadata(path).map_or(0, |file| file.len())
}
