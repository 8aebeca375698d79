//! What a running task may ask its yard for, besides submitting.

mod common;

use std::time::Duration;

use common::soon;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use taskyard::TaskFailed;
use taskyard::context::Context;
use taskyard::core::TaskId;
use taskyard::core::task::Retry;
use taskyard::core::worker::WorkerEnd;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::Registry;
use taskyard::testing::TestYard;

/// A handler that asks what its arguments say, and gives the answer.
fn test_yard() -> TestYard {
    let ask = |args: Value, _: Value, cx: Context| async move {
        let command = args[0].as_str().unwrap_or_default().to_owned();
        Ok::<_, HandlerError>(cx.call(command, args[1].clone()).await?)
    };
    TestYard::new(Registry::new().register_fn("ask", ask).expect("one name"))
}

async fn ask(test: &TestYard, command: &str, data: Value) -> Result<Value, TaskFailed> {
    let asked = test.yard().submit_named("ask", vec![command.into(), data], Map::new());
    soon(soon(asked).await.expect("taken").outcome()).await
}

#[tokio::test]
async fn a_running_task_moves_and_cancels_others() {
    let test = test_yard();
    let later = test.yard().submit_named("ask", Vec::new(), Map::new()).delay(Duration::from_hours(1));
    let mut later = soon(later).await.expect("taken");
    let id = later.id().to_string();
    let moved = ask(&test, "reschedule", json!({ "uuid": id, "delay": 7200 })).await;
    assert_eq!(moved.expect("answered"), json!({ "uuid": id, "result": "done" }));
    let cancelled = ask(&test, "cancel", json!({ "uuid": id })).await;
    assert_eq!(cancelled.expect("answered"), json!([{ "uuid": id, "result": "cancelled" }]));
    assert!(matches!(soon(later.outcome()).await, Err(TaskFailed::Cancelled)));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_to_the_task_that_asked() {
    let test = test_yard();
    let cases = [
        ("cancel", json!({}), "the filter is empty"),
        ("submit", json!({ "task": "ask", "delay": "soon" }), "`delay`"),
        ("pause", json!({ "pool": "none" }), "no pool"),
        ("shutdown", Value::Null, "can't give this command"),
        ("dance", Value::Null, "`control`"),
    ];
    for (command, data, reason) in cases {
        let attempt = Retry { max_attempts: 1, ..Retry::default() };
        let asked = test.yard().submit_named("ask", vec![command.into(), data], Map::new()).retry(attempt);
        let failed = soon(soon(asked).await.expect("taken").outcome()).await.expect_err("refused");
        assert!(failed.to_string().contains(reason), "{command}: {failed}");
    }
}

/// Submits one more task of its kind.
#[derive(Debug, Serialize, Deserialize)]
struct Heir;

impl TaskHandler for Heir {
    const NAME: &'static str = "heir";
    type Output = TaskId;

    async fn run(self, cx: Context) -> Result<TaskId, HandlerError> {
        Ok(cx.submit(Self).await?)
    }
}

#[tokio::test]
async fn a_yard_that_is_down_answers_an_error() {
    let test = TestYard::new(Registry::new().register::<Heir>().expect("one name"));
    soon(test.drain()).await;
    let WorkerEnd::Failed(error) = soon(test.run_task(Heir)).await.expect_err("down") else {
        panic!("it fails")
    };
    assert!(error.message.contains("the yard is down"), "{error}");
}
