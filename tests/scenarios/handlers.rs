//! What the worker processes of these tests can do.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::context::Context;
use taskyard::handler::HandlerError;
use taskyard::registry::{Registry, RegistryError};
use tokio::signal::unix::{SignalKind, signal};

use crate::gate::{arrive, pass};

/// Names the pool in a worker's environment.
pub(crate) const POOL: &str = "SCENARIO_POOL";
/// Names the gate in a worker's environment.
pub(crate) const GATE: &str = "SCENARIO_GATE";

fn gate() -> Result<PathBuf, HandlerError> {
    Ok(std::env::var(GATE)?.into())
}

pub(crate) fn registry() -> Registry {
    build().expect("each name is registered once")
}

fn build() -> Result<Registry, RegistryError> {
    Registry::new()
        .register_fn("echo", |args, _, _| async move { Ok(args[0].clone()) })?
        .register_fn("whole", |args, kwargs, _| async move { Ok((args, kwargs)) })?
        .register_fn("mark", |_, _, cx| async move { Ok((std::process::id(), cx.attempt())) })?
        .register_fn("meet", |args, _, cx| async move { meet(&args[0], &cx).await })?
        .register_fn("calls", |args, _, cx| async move { calls(&args[0], &cx).await })?
        .register_fn("doze", |args, _, _| async move { Ok(doze(&args[0])) })?
        .register_fn("stubborn", |args, _, _| async move { stubborn(&args[0]).await })?
        .register_fn("late", |args, _, cx| async move { late(&args[0], &cx).await })?
        .register_fn("exit", |args, _, _| async move { exit(&args[0]) })?
        .register_fn("abort", |_, _, _| async { abort() })?
        .register_fn("oversized", |_, _, _| async { Ok("x".repeat(2 << 20)) })?
        .register_fn("not_json", |_, _, _| async { Ok(BTreeMap::from([((1, 2), 3)])) })?
        .register_fn("flood", |_, _, _| async { flood() })?
        .register_fn("grandchild", |_, _, _| async { grandchild().await })?
        .register_fn("place", |_, _, cx| async move { Ok(place(&cx)) })?
        .register_fn("second_try", |_, _, cx| async move { second_try(&cx) })?
        .register_fn("datashare.index.copy", |_, _, cx| async move { Ok(place(&cx)) })
}

/// Runs until the test lets it go on; gives its process.
async fn meet(tag: &Value, cx: &Context) -> Result<u32, HandlerError> {
    pass(&gate()?, tag, cx).await?;
    Ok(std::process::id())
}

/// Asks three things at once, once the test lets it.
async fn calls(tag: &Value, cx: &Context) -> Result<(Value, Value, Value), HandlerError> {
    pass(&gate()?, tag, cx).await?;
    Ok(tokio::try_join!(cx.call("one", json!(1)), cx.call("two", json!(2)), cx.call("three", json!(3)))?)
}

/// Sleeps for so many seconds and does not hear a cancel.
fn doze(seconds: &Value) -> f64 {
    let seconds = seconds.as_f64().unwrap_or_default();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    seconds
}

/// Spins for ever, whatever it is told and whatever SIGTERM says.
async fn stubborn(tag: &Value) -> Result<(), HandlerError> {
    let _deaf = signal(SignalKind::terminate())?;
    let _guest = arrive(&gate()?, tag).await?;
    loop {
        std::hint::spin_loop();
    }
}

/// Succeeds as soon as it is told to end.
async fn late(tag: &Value, cx: &Context) -> Result<(), HandlerError> {
    let _guest = arrive(&gate()?, tag).await?;
    cx.cancelled().await;
    Ok(())
}

fn exit(code: &Value) -> Result<(), HandlerError> {
    eprintln!("last words");
    std::process::exit(code.as_i64().unwrap_or_default() as i32)
}

fn abort() -> Result<(), HandlerError> {
    std::process::abort()
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

/// Leaves a child that sleeps for ever, tells which, and ends only when killed.
async fn grandchild() -> Result<(), HandlerError> {
    let child = std::process::Command::new("sleep").arg("100000").spawn()?;
    let _guest = arrive(&gate()?, &child.id().into()).await?;
    std::future::pending().await
}

/// The pool that it runs in, and its routing key.
fn place(cx: &Context) -> (String, String) {
    (std::env::var(POOL).unwrap_or_default(), cx.namespace().to_string())
}

fn second_try(cx: &Context) -> Result<(String, u32), HandlerError> {
    match cx.attempt() {
        1 => Err(HandlerError::new("the first try always fails")),
        attempt => Ok((place(cx).0, attempt)),
    }
}
