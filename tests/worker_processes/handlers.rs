//! The handlers of the workers under test.

use std::io::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::{Registry, RegistryError};

/// Gives back what it got.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Echo(pub(crate) String);

impl TaskHandler for Echo {
    const NAME: &'static str = "echo";
    type Output = String;
    async fn run(self, _: Context) -> Result<String, HandlerError> {
        Ok(self.0)
    }
}

/// Submits an `Echo` and gives back what the yard answered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Submits {
    pub(crate) text: String,
}

impl TaskHandler for Submits {
    const NAME: &'static str = "submits";
    type Output = String;
    async fn run(self, cx: Context) -> Result<String, HandlerError> {
        let child = cx.submit(Echo(self.text)).delay(Duration::from_secs(2)).once("child").await?;
        Ok(child.to_string())
    }
}

pub(crate) fn registry() -> Registry {
    build().expect("each name is registered once")
}

fn build() -> Result<Registry, RegistryError> {
    Registry::new()
        .register::<Echo>()?
        .register::<Submits>()?
        .register_fn("pid", |_, _, _| async { Ok(std::process::id()) })?
        .register_fn("stdin", |_, _, _| async { Ok(std::io::read_to_string(std::io::stdin())?) })?
        .register_fn("exit", |_, _, _| async { exit() })?
        .register_fn("abort", |_, _, _| async { abort() })?
        .register_fn("panic", |_, _, _| async { panics() })?
        .register_fn("oversized", |_, _, _| async { Ok("x".repeat(2 << 20)) })?
        .register_fn("not_json", |_, _, _| async { Ok(std::collections::BTreeMap::from([((1, 2), 3)])) })?
        .register_fn("snooze", |_, _, _| async {
            Err::<(), _>(HandlerError::snooze(Duration::from_millis(1500)))
        })?
        .register_fn("until_cancelled", |_, _, cx| async move { until_cancelled(cx).await })?
        .register_fn("block", |_, _, cx| async move { Ok(block(&cx)) })?
        .register_fn("flood", |_, _, _| async { flood() })?
        .register_fn("grandchild", |_, _, cx| async move { grandchild(&cx).await })
}

fn exit() -> Result<(), HandlerError> {
    eprintln!("last words");
    std::process::exit(3)
}

fn abort() -> Result<(), HandlerError> {
    std::process::abort()
}

fn panics() -> Result<(), HandlerError> {
    panic!("on purpose")
}

async fn until_cancelled(cx: Context) -> Result<String, HandlerError> {
    cx.progress(0.25, "waits");
    Ok(format!("{:?}", cx.cancelled().await))
}

/// Blocks its thread until it is cancelled.
fn block(cx: &Context) -> &'static str {
    while !cx.is_cancelled() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    "blocked"
}

/// Prints 100 MB.
fn flood() -> Result<(), HandlerError> {
    let line = format!("{}\n", "y".repeat(99));
    let mut out = std::io::stdout().lock();
    for _ in 0..1_000_000 {
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Leaves a grandchild that sleeps for ever, tells its pid and ends only when killed.
async fn grandchild(cx: &Context) -> Result<(), HandlerError> {
    let child = std::process::Command::new("sleep").arg("100000").spawn()?;
    cx.progress(0.0, &child.id().to_string());
    std::future::pending().await
}
