//! What is told of each task, when, and to whom it does no harm.

use futures::FutureExt as _;
use serde_json::Value;
use taskyard::context::Context;
use taskyard::core::conductor::Happened;
use taskyard::core::dispatch::Outcome;
use taskyard::core::worker::WorkerEnd;
use taskyard::handler::HandlerError;
use taskyard::registry::Registry;
use taskyard::testing::{Faults, Shared, Toys};
use taskyard::{Pool, StoreChoice, Yard};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::common::soon;
use crate::rig::{at_once, inline, outcomes, submit, submit_all, task};

/// More than an observer may be behind.
const MANY: usize = 5_000;

/// Succeeds at the attempt that it is told.
fn registry() -> Registry {
    let handler = |args: Value, _: Value, cx: Context| async move {
        let fails = u64::from(cx.attempt()) < args[0].as_u64().unwrap_or_default();
        if fails { Err(HandlerError::new("not yet")) } else { Ok(cx.attempt()) }
    };
    Registry::new().register_fn("t", handler).expect("one name")
}

fn yard(faults: &Faults) -> Yard {
    let store = StoreChoice::shared(&Shared::default()).faulty(faults);
    let pool = inline("all", &["#"], registry(), 100);
    Yard::builder().store(store).observed().pool(pool).start().expect("starts")
}

/// As text: what each news says.
async fn next(news: &mut Receiver<Happened>) -> String {
    match soon(news.recv()).await.expect("told") {
        Happened::AttemptEnded { epoch, attempt, again, .. } => {
            format!("epoch {epoch}, attempt {attempt}, again: {}", again.is_some())
        }
        Happened::TaskEnded { .. } => "the task".into(),
    }
}

/// B21: one event for each claim, then one for the task.
#[tokio::test]
async fn each_claim_ends_once_with_its_attempt_and_epoch() {
    let yard = yard(&Faults::default());
    let mut news = yard.observe();
    submit(&yard, task("t", 3).retry(at_once(5))).await;
    assert_eq!(next(&mut news).await, "epoch 1, attempt 1, again: true");
    assert_eq!(next(&mut news).await, "epoch 2, attempt 2, again: true");
    assert_eq!(next(&mut news).await, "epoch 3, attempt 3, again: false");
    assert_eq!(next(&mut news).await, "the task");
    drop(yard);
    assert!(matches!(soon(news.recv()).await, Err(RecvError::Closed)), "nothing more was told");
}

/// B21: after its commit, and so not while that takes.
#[tokio::test]
async fn an_end_is_told_once_it_is_recorded() {
    let (faults, toys) = (Faults::default(), Toys::by_hand(1, vec!["t".parse().expect("valid")]));
    let (store, workers) = (StoreChoice::shared(&Shared::default()).faulty(&faults), toys.clone());
    let pool = Pool::custom("all", move |_| workers.launcher()).pattern("#");
    let yard = Yard::builder().store(store).observed().pool(pool).start().expect("starts");
    let mut news = yard.observe();
    let mut handle = submit(&yard, task("t", 1)).await;
    toys.started(handle.id()).await;
    faults.hold();
    toys.finish(handle.id(), WorkerEnd::Succeeded("1".into()));
    soon(faults.holds_one()).await;
    assert!(news.is_empty() && handle.outcome().now_or_never().is_none(), "it is not recorded yet");
    faults.let_go();
    assert_eq!(next(&mut news).await, "epoch 1, attempt 1, again: false");
    assert_eq!(next(&mut news).await, "the task");
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("1".into())));
}

/// B21: who listens and is slow misses the oldest; who panics has a problem of his own.
#[tokio::test]
async fn observers_that_are_slow_or_panic_hold_nobody_up() {
    let yard = yard(&Faults::default());
    let (mut slow, mut brittle, gone) = (yard.observe(), yard.observe(), yard.observe());
    let panics = tokio::spawn(async move {
        brittle.recv().await.expect("told");
        panic!("made to panic");
    });
    drop(gone);
    let batch = submit_all(&yard, (0..MANY).map(|_| task("t", 1))).await;
    assert_eq!(outcomes(batch).await.len(), MANY);
    assert!(soon(panics).await.is_err());
    let behind = soon(slow.recv()).await;
    assert!(matches!(behind, Err(RecvError::Lagged(missed)) if missed > 0), "{behind:?}");
}
