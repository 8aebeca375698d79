//! The test kit for applications: real handlers on a clock that the test turns.

mod common;

use std::time::Duration;

use common::soon;
use serde::{Deserialize, Serialize};
use taskyard::Draft;
use taskyard::context::Context;
use taskyard::core::task::Retry;
use taskyard::core::worker::WorkerEnd;
use taskyard::handler::{HandlerError, TaskDefaults, TaskHandler};
use taskyard::registry::Registry;
use taskyard::testing::{BEGINNING, TestYard};

/// Greets, and has a card sent later.
#[derive(Debug, Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl TaskHandler for Greet {
    const NAME: &'static str = "app.greet";
    type Output = String;

    async fn run(self, cx: Context) -> Result<String, HandlerError> {
        if self.name.is_empty() {
            return Err(HandlerError::fatal("nobody to greet").kind("nobody"));
        }
        cx.submit(SendCard { to: self.name.clone() }).delay(Duration::from_hours(1)).once("card").await?;
        Ok(format!("hello {}", self.name))
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SendCard {
    to: String,
}

impl TaskHandler for SendCard {
    const NAME: &'static str = "app.card";
    type Output = ();

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// Waits until it is told to end.
#[derive(Debug, Serialize, Deserialize)]
struct Wait;

impl TaskHandler for Wait {
    const NAME: &'static str = "app.wait";
    type Output = u32;

    fn defaults() -> TaskDefaults {
        TaskDefaults { timeout: Some(Duration::from_mins(1)), ..TaskDefaults::default() }
    }

    async fn run(self, cx: Context) -> Result<u32, HandlerError> {
        cx.cancelled().await;
        Err(HandlerError::cancelled())
    }
}

fn test_yard() -> TestYard {
    let registry = Registry::new().register::<Greet>().and_then(Registry::register::<SendCard>);
    TestYard::new(registry.and_then(Registry::register::<Wait>).expect("three names"))
}

fn greet(name: &str) -> Greet {
    Greet { name: name.into() }
}

#[tokio::test]
async fn a_task_has_run_once_it_was_submitted_and_what_it_submitted_waits_for_its_time() {
    let test = test_yard();
    let mut greeting = test.submit(greet("ann")).await;
    assert_eq!(soon(greeting.outcome()).await.expect("succeeds"), "hello ann");
    test.assert_submitted::<SendCard>(|card| card.to == "ann").await;

    assert_eq!(soon(test.yard().counts()).await.expect("up").parked, 1);
    test.advance(Duration::from_hours(1)).await;
    assert_eq!(soon(test.yard().counts()).await.expect("up").parked, 0);
    assert_eq!(test.now(), BEGINNING + Duration::from_hours(1));
    assert_eq!(test.submitted::<SendCard>().await, [SendCard { to: "ann".into() }], "though it has ended");
}

#[tokio::test]
#[should_panic(expected = r#"those that were: {"to":"ann"}"#)]
async fn an_assertion_that_fails_says_what_was_submitted() {
    let test = test_yard();
    test.submit(greet("ann")).await;
    test.assert_submitted::<SendCard>(|card| card.to == "bob").await;
}

#[tokio::test]
async fn a_handler_is_run_right_here_and_its_end_is_told() {
    let test = test_yard();
    assert_eq!(soon(test.run_task(greet("ann"))).await, Ok("hello ann".into()));
    test.assert_submitted::<SendCard>(|card| card.to == "ann").await;
    let WorkerEnd::Failed(error) = soon(test.run_task(greet(""))).await.expect_err("nobody") else {
        panic!("it fails")
    };
    assert_eq!((&*error.kind, error.retry), ("nobody", false));
}

#[tokio::test]
async fn a_lost_task_runs_again_after_its_pause() {
    let test = test_yard();
    let waiting = test.submit(Wait).await;
    assert_eq!(test.running().len(), 1);
    assert_eq!(test.crash_worker().await, waiting.id());
    assert!(test.running().is_empty());

    test.advance(Duration::from_secs(2)).await;
    let running = test.running();
    assert_eq!(
        running.iter().map(|live| (live.task.id, live.attempt)).collect::<Vec<_>>(),
        [(waiting.id(), 2)]
    );
}

#[tokio::test]
async fn a_time_out_needs_no_time_of_the_test() {
    let test = test_yard();
    let mut waiting =
        test.submit(Draft::new(Wait).retry(Retry { max_attempts: 1, ..Retry::default() })).await;
    test.advance(Duration::from_mins(1)).await;
    assert!(soon(waiting.outcome()).await.expect_err("timed out").to_string().contains("timed out"));
}

#[tokio::test]
async fn a_drain_tells_what_waits_and_ends_what_hangs() {
    let test = test_yard();
    test.submit(Wait).await;
    let far = test.submit(Draft::new(greet("ann")).delay(Duration::from_hours(24))).await;
    let left = soon(test.drain()).await;
    assert!(left.contains(&far.id()), "{left:?}");
}
