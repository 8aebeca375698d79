//! Cancels: what is picked ends, what is not picked goes on.

use std::time::Duration;

use serde_json::Value;
use taskyard::CancelError;
use taskyard::core::conductor::CancelAnswer;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::{Counts, Filter};

use crate::common::soon;
use crate::gate::Gate;
use crate::os::wait_gone;
use crate::rig::{outcome, outcomes, sized, submit, submit_all, task, value, yard};

/// P1: the one that runs and the four that wait.
#[tokio::test]
async fn a_cancel_by_name_leaves_nothing() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let batch = submit_all(&yard, (0..5).map(|n| task("meet", n))).await;
    let ids = batch.ids().to_vec();
    let _running = gate.next().await;

    let filter = Filter { task: "meet".parse().ok(), ..Filter::default() };
    let answers = soon(yard.cancel(filter)).await.expect("answered");

    let answers = ids.iter().map(|id| answers.iter().find(|(of, _)| of == id).expect("listed").1);
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers[0], CancelAnswer::Running);
    assert_eq!(answers[1..], [CancelAnswer::Cancelled; 4]);
    assert_eq!(outcomes(batch).await, vec![Outcome::Cancelled; 5]);
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()));
    assert!(ids.iter().all(|id| yard.live(*id).is_none()));
}

/// P28: nothing is cancelled by it; `all: true` cancels.
#[tokio::test]
async fn an_empty_filter_asks_for_all_and_changes_nothing() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let mut batch = submit_all(&yard, (0..3).map(|n| task("meet", n))).await;
    let running = gate.next().await;

    let refused = soon(yard.cancel(Filter::default())).await.expect_err("refused");
    assert!(matches!(refused, CancelError::EmptyFilter(_)) && refused.to_string().contains("all: true"));

    running.release();
    let first = soon(batch.next()).await.expect("up").expect("one");
    assert!(matches!(first.outcome, Some(Outcome::Succeeded(_))), "{first:?}");
    let _running = gate.next().await;
    let all = Filter { all: true, ..Filter::default() };
    assert_eq!(soon(yard.cancel(all)).await.expect("answered").len(), 2);
    let rest = soon(batch.outcomes()).await.expect("up");
    assert!(rest.iter().all(|ended| ended.outcome == Some(Outcome::Cancelled)), "{rest:?}");
}

/// P29: although the task itself does not listen, and its child least of all.
#[tokio::test]
async fn a_cancelled_tasks_grandchild_goes_too() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let handle = submit(&yard, task("grandchild", Value::Null)).await;
    let guest = gate.next().await;
    let grandchild = guest.tag.as_u64().expect("a pid") as u32;

    assert_eq!(soon(handle.cancel()).await, Ok(CancelAnswer::Running));

    assert_eq!(outcome(handle).await, Outcome::Cancelled);
    wait_gone(guest.pid, Duration::from_secs(1));
    wait_gone(grandchild, Duration::from_secs(1));
    assert_eq!(value(submit(&yard, task("echo", 1)).await).await, 1, "the slot is back");
}
