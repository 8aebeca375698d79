//! The ways to end a yard over a board that outlives it: stop, wait, and so many dispatches.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::pool::Settings;
use taskyard::core::store::{Filter, RowState};
use taskyard::registry::Registry;
use taskyard::testing::Shared;
use taskyard::{Builder, Closed, NotTaken, StoreChoice, TaskHandle, Yard};

use crate::common::soon;
use crate::gate::Gate;
use crate::os::wait_gone;
use crate::rig::{built, eventually, inline, processes, sized, submit, task, value};

/// More than any of this takes.
const LONG: Duration = Duration::from_secs(20);

fn on(board: &Shared) -> Builder {
    Yard::builder().store(StoreChoice::shared(board))
}

/// A yard on the board whose tasks wait at the gate, one at a time.
fn gated(board: &Shared, gate: &Gate) -> Yard {
    on(board).pool(processes(gate.path(), "all", &["#"], sized(0, 1))).start().expect("starts")
}

async fn state(board: &Shared, handle: &TaskHandle) -> (RowState, u32) {
    // Another yard looks, whose pool takes nothing.
    let nothing = inline("none", &["none"], Registry::new(), 1);
    let yard = on(board).pool(nothing).start().expect("starts");
    let view = soon(yard.get(handle.id())).await.expect("answered").expect("known");
    (view.state, view.attempts)
}

async fn is_draining(yard: &Yard) -> bool {
    let refused = soon(yard.submit_task(built(task("echo", 0)))).await.err();
    refused.is_some_and(|error| error.why == NotTaken::Refused(SubmitRefusal::Draining))
}

/// B11, B12: idle, and before anything ran.
#[tokio::test]
async fn an_idle_yard_stops_at_once_and_so_does_one_that_just_started() {
    let (board, gate) = (Shared::default(), Gate::open());
    let yard = gated(&board, &gate);
    yard.stop(LONG);
    assert!(soon(yard.wait(LONG)).await);
    yard.stop(LONG);
    assert!(soon(yard.wait(Duration::ZERO)).await, "and again, after the end");

    let yard = gated(&board, &gate);
    assert_eq!(value(submit(&yard, task("echo", 5)).await).await, 5);
    yard.stop(LONG);
    assert!(soon(yard.wait(LONG)).await);
}

/// B11, B12: busy, twice.
#[tokio::test]
async fn a_stop_returns_at_once_and_the_running_task_ends() {
    let (board, gate) = (Shared::default(), Gate::open());
    let yard = gated(&board, &gate);
    let running = submit(&yard, task("meet", 1)).await;
    let guest = gate.next().await;
    yard.stop(LONG);
    yard.stop(LONG);
    eventually("the drain is under way", async || is_draining(&yard).await).await;
    assert!(!yard.wait(Duration::from_millis(1)).await, "a task runs");
    guest.release();
    assert!(value(running).await.is_u64());
    assert!(soon(yard.wait(LONG)).await);
    assert_eq!(soon(yard.closed()).await, Closed::Drained);
}

/// B11: what outlasts the grace is killed and given back, uncounted.
#[tokio::test]
async fn what_outlasts_the_grace_is_given_back() {
    let (board, gate) = (Shared::default(), Gate::open());
    let yard = gated(&board, &gate);
    let deaf = submit(&yard, task("stubborn", 1)).await;
    let guest = gate.next().await;
    let begun = Instant::now();
    yard.stop(Duration::from_millis(100));
    assert!(soon(yard.wait(LONG)).await);
    assert!(begun.elapsed() >= Duration::from_millis(100));
    wait_gone(guest.pid, Duration::ZERO);
    assert_eq!(state(&board, &deaf).await, (RowState::Ready, 0));
}

/// A yard whose task `stop` stops it.
fn stoppable(builder: Builder) -> Yard {
    let own = Arc::new(OnceLock::<Yard>::new());
    let handle = Arc::clone(&own);
    let stop = move |_: Value, _: Value, _| {
        let yard = handle.get().expect("started").downgrade();
        async move {
            yard.upgrade().expect("it runs this").stop(LONG);
            Ok("stopped")
        }
    };
    let registry = Registry::new().register_fn("stop", stop).expect("one name");
    let yard = builder.pool(inline("all", &["#"], registry, 1)).start().expect("starts");
    own.set(yard.clone()).expect("once");
    yard
}

/// B11: from inside a task.
#[tokio::test]
async fn a_task_can_stop_its_own_yard() {
    for builder in [Yard::builder(), on(&Shared::default())] {
        let yard = stoppable(builder);
        assert_eq!(value(submit(&yard, task("stop", 0)).await).await, "stopped");
        assert!(soon(yard.wait(LONG)).await);
    }
}

/// B12: an end that is no drain.
#[tokio::test]
async fn a_yard_that_broke_was_not_settled() {
    let faults = taskyard::testing::Faults::default();
    let store = StoreChoice::shared(&Shared::default()).faulty(&faults);
    let pool = inline("all", &["#"], Registry::new(), 1);
    let yard = Yard::builder().store(store).pool(pool).start().expect("starts");
    faults.panic();
    assert!(!soon(yard.wait(LONG)).await);
    assert_eq!(soon(yard.closed()).await, Closed::Broken { role: "store" });
}

/// B13.
#[tokio::test]
async fn exactly_so_many_dispatches_run_and_the_yard_drains() {
    for max in [0, 1, 5] {
        let board = Shared::default();
        let gate = Gate::open();
        // Whoever submits is not the one that is bounded, so that all ten are there from the first.
        let nothing = inline("all", &["#"], Registry::new(), 1);
        let submitter = on(&board).pool(nothing).start().expect("starts");
        let ids: Vec<_> = (0..10).map(|number| built(task("echo", number))).collect();
        assert!(soon(submitter.post_tasks(ids)).await.iter().all(Result::is_ok));

        let pool = processes(gate.path(), "all", &["#"], Settings { min: 1, ..sized(0, 2) });
        let yard = on(&board).max_dispatches(max).pool(pool).start().expect("starts");
        assert!(soon(yard.wait(LONG)).await, "it drains by itself");
        let all = Filter { all: true, ..Filter::default() };
        let (left, _) = soon(submitter.list(all, 0, 100)).await.expect("listed");
        assert_eq!(left.len() as u64, 10 - max);
        assert!(left.iter().all(|view| view.epoch == 0 || view.attempts == 0), "{left:?}");
    }
}

/// B13, B12: in memory, and a value that was given is that of a task.
#[tokio::test]
async fn a_bounded_yard_in_memory_answers_for_what_it_ran() {
    let registry = Registry::new().register_fn("t", |args: Value, _, _| async move { Ok(args) });
    let pool = inline("all", &["#"], registry.expect("one name"), 1);
    let yard = Yard::builder().max_dispatches(1).pool(pool).start().expect("starts");
    let only = submit(&yard, task("t", 7)).await;
    assert_eq!(value(only).await, serde_json::json!([7]));
    assert!(soon(yard.wait(LONG)).await);
}
