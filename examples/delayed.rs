//! Tasks that start later, and what expires: `cargo run --example delayed`.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::Registry;
use taskyard::{Draft, Pool, Yard, worker};

#[derive(Serialize, Deserialize)]
struct Ring {
    bell: String,
}

impl TaskHandler for Ring {
    const NAME: &'static str = "bells.ring";
    type Output = SystemTime;

    async fn run(self, _: Context) -> Result<SystemTime, HandlerError> {
        Ok(SystemTime::now())
    }
}

fn ring(bell: &str) -> Draft<Ring> {
    Draft::new(Ring { bell: bell.into() })
}

fn main() -> anyhow::Result<()> {
    let registry = Registry::new().register::<Ring>()?;
    worker::run_if_worker(&registry);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(ring_bells(registry))
}

async fn ring_bells(registry: Registry) -> anyhow::Result<()> {
    let yard = Yard::builder().registry(registry).pool(Pool::process("bells").pattern("bells.*")).start()?;
    let now = SystemTime::now();
    let bells = [
        ("in two seconds", ring("small").delay(Duration::from_secs(2))),
        ("in one second, by the clock on the wall", ring("big").eta(now + Duration::from_secs(1))),
        ("at once", ring("door")),
        (
            "in one second, or a little later, or never",
            ring("fire").delay(Duration::from_secs(1)).expires(Duration::from_millis(1_500)),
        ),
        (
            "in two seconds, and never after one",
            ring("lost").delay(Duration::from_secs(2)).expires(Duration::from_secs(1)),
        ),
    ];
    for (when, draft) in bells {
        let bell = draft.payload().bell.clone();
        let mut task = match yard.submit(draft).await {
            Ok(task) => task,
            Err(refused) => {
                println!("{bell}: said {when}, not taken: {}", refused.why);
                continue;
            }
        };
        tokio::spawn(async move {
            match task.outcome().await {
                Ok(rung) => {
                    let after = rung.duration_since(now).unwrap_or_default();
                    println!("{bell}: said {when}, rung after {after:.3?}");
                }
                Err(failed) => println!("{bell}: said {when}, {failed}"),
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    yard.drain().await?;
    Ok(())
}
