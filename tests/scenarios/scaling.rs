//! How many workers there are, and when one of them has served its time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use taskyard::context::Calls;
use taskyard::core::TaskId;
use taskyard::core::pool::Settings;
use taskyard::core::time::Timestamp;
use taskyard::testing::{TestYard, Toys};
use taskyard::{PoolSpec, Yard};

use crate::common::soon;
use crate::gate::Gate;
use crate::os::wait_gone;
use crate::rig::{calling, eventually, outcomes, sized, start, submit, submit_all, task, value, yard};

/// P10: eight tasks, so that a seventh worker would have something to do.
#[tokio::test]
async fn a_burst_gets_all_workers_at_once_and_never_one_more() {
    let gate = Gate::open();
    let begun = Instant::now();
    let yard = yard(&gate, sized(1, 6));
    let first = submit(&yard, task("meet", "first")).await;
    gate.next().await.release();
    value(first).await;
    let spawn_time = begun.elapsed();

    let burst = Instant::now();
    let batch = submit_all(&yard, (0..8).map(|n| task("meet", n))).await;
    let six = gate.next_few(6).await;

    let took = burst.elapsed();
    assert!(took < Duration::from_secs(2) + spawn_time, "{took:?}, and {spawn_time:?} for the first one");
    let pids: BTreeSet<_> = six.iter().map(|guest| guest.pid).collect();
    assert_eq!(pids.len(), 6, "each in a process of its own");
    eventually("all six are seen to run", async || yard.running().len() == 6).await;
    drop(six);
    let two = gate.next_few(2).await;
    assert!(two.iter().all(|guest| pids.contains(&guest.pid)), "no seventh worker");
    drop(two);
    outcomes(batch).await;
}

/// P11: the way back to one worker, by the real clock.
#[tokio::test]
async fn after_a_burst_all_idle_workers_go_but_the_busy_one() {
    let gate = Gate::open();
    let idle_for = Duration::from_millis(300);
    let yard = yard(&gate, Settings { idle_for, ..sized(1, 10) });
    let _batch = submit_all(&yard, (0..10).map(|n| task("meet", n))).await;
    let mut ten = gate.next_few(10).await;
    let busy = ten.pop().expect("ten");
    let pids: BTreeSet<_> = ten.iter().map(|guest| guest.pid).collect();
    assert!(pids.len() == 9 && !pids.contains(&busy.pid));

    let idle = Instant::now();
    drop(ten);

    for pid in pids {
        wait_gone(pid, Duration::from_secs(5));
    }
    assert!(idle.elapsed() >= idle_for, "{:?}: they wait for more first", idle.elapsed());
    assert_eq!(yard.running().len(), 1);
}

/// P11: and the minutes after it, by a clock that the test turns.
#[tokio::test]
async fn one_task_that_always_runs_keeps_one_worker_and_no_other_comes() {
    let names = vec!["t".parse().expect("valid")];
    let toys = Toys::by_hand(1, names.clone());
    let launcher = {
        let toys = toys.clone();
        move || toys.launcher()
    };
    let pool = PoolSpec {
        name: "all".into(),
        patterns: vec!["#".parse().expect("valid")],
        settings: Settings { names: Some(names), idle_for: Duration::from_secs(30), ..sized(1, 10) },
        launcher: Box::new(launcher),
    };
    let test = TestYard::start(Yard::builder().pool(pool), Timestamp(0)).expect("starts");
    let burst = submit_all(test.yard(), (0..10).map(|n| task("t", n))).await;
    soon(test.quiet()).await;
    assert_eq!(toys.workers().len(), 10);
    for id in &burst.ids()[..9] {
        toys.finish(*id, taskyard::core::worker::WorkerEnd::Succeeded("1".into()));
    }
    soon(test.quiet()).await;

    soon(test.advance(Duration::from_secs(31))).await;
    let workers = toys.workers();
    assert_eq!(workers.len(), 1);
    for _ in 0..600 {
        soon(test.advance(Duration::from_secs(1))).await;
        assert_eq!(toys.workers(), workers, "no scale event");
    }
}

/// Answers each command with its name and what it was given.
struct Answers;

impl Calls for Answers {
    fn call(&self, _: TaskId, command: String, data: Value) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async move { Ok(json!([command, data])) })
    }
}

/// P12: it is too old long before its task asks for something, and serves on until the task has ended.
#[tokio::test]
async fn a_worker_past_its_age_serves_its_task_and_leaves() {
    let gate = Gate::open();
    let max_age = Duration::from_millis(150);
    let settings = Settings { max_age: Some(max_age), ..sized(0, 1) };
    let yard = start([calling(gate.path(), "old", &["#"], settings, Arc::new(Answers))]);
    let handle = submit(&yard, task("calls", "x")).await;
    let guest = gate.next().await;
    let (pid, began) = (guest.pid, Instant::now());
    eventually("its age has come", async || began.elapsed() > max_age).await;

    guest.release();

    assert_eq!(value(handle).await, json!([["one", 1], ["two", 2], ["three", 3]]));
    wait_gone(pid, Duration::from_secs(5));
    assert_ne!(value(submit(&yard, task("mark", 0)).await).await[0], pid, "another one takes over");
}
