//! What happens to five equal tasks under each policy for duplicates: `cargo run --example deduplicate`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::core::task::{KeyLimits, Overflow};
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::Registry;
use taskyard::{Draft, Pool, TaskFailed, Yard, worker};

/// Equal for all five of a policy, so that each is a duplicate of the others.
#[derive(Serialize, Deserialize)]
struct Reindex {
    index: String,
}

impl TaskHandler for Reindex {
    const NAME: &'static str = "search.reindex";
    type Output = ();

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(())
    }
}

const POLICIES: [(&str, KeyLimits); 6] = [
    ("parallel", KeyLimits::PARALLEL),
    ("serial", KeyLimits::SERIAL),
    ("discard", KeyLimits::DISCARD),
    ("queue_one", KeyLimits::QUEUE_ONE),
    ("replace", KeyLimits::REPLACE),
    ("two at once, one waiting", KeyLimits::new(2, 1, Overflow::DropNew)),
];

fn main() -> anyhow::Result<()> {
    let registry = Registry::new().register::<Reindex>()?;
    worker::run_if_worker(&registry);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(try_all(registry))
}

async fn try_all(registry: Registry) -> anyhow::Result<()> {
    let pool = Pool::process("search").pattern("search.#").workers(5..=5);
    let yard = Yard::builder().registry(registry).pool(pool).start()?;
    for (policy, limits) in POLICIES {
        let five = (0..5).map(|_| Draft::new(Reindex { index: policy.into() }).on_duplicate(limits));
        println!("{policy}: {}", fates(&yard, five.collect()).await?.join(", "));
    }
    yard.drain().await?;
    Ok(())
}

/// What became of each, in the order in which they were submitted.
async fn fates(yard: &Yard, tasks: Vec<Draft<Reindex>>) -> anyhow::Result<Vec<String>> {
    let begun = tokio::time::Instant::now();
    let mut batch = yard.submit_many(tasks).await.batch;
    let ids = batch.ids().to_vec();
    let mut fates = vec![String::new(); ids.len()];
    let place = |id| ids.iter().position(|other| *other == id).unwrap_or_default();
    while let Some((id, end)) = batch.next().await? {
        fates[place(id)] = match end {
            Ok(()) => format!("done after {:.1} s", begun.elapsed().as_secs_f64()),
            Err(TaskFailed::Discarded { lost_to }) => format!("lost to number {}", place(lost_to) + 1),
            Err(failed) => failed.to_string(),
        };
    }
    Ok(fates)
}
