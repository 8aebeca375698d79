//! What tasks carry: arguments and results of all sizes, results that cannot be carried, and what they print.

use serde_json::{Value, json};
use taskyard::core::defaults::MESSAGE_MAX;
use taskyard::core::dispatch::Failure;
use taskyard::registry::RESULT_MAX;

use crate::gate::Gate;
use crate::os::resident_peak;
use crate::rig::{alone, built, failed, outcome, sized, submit, submit_all, task, value, values, yard};

/// P6: with one worker, which stays.
#[tokio::test]
async fn a_result_that_cannot_be_carried_is_a_clear_failure_and_the_next_task_runs() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(1, 1));
    let pid = value(submit(&yard, task("mark", 0)).await).await[0].clone();
    let table =
        [("oversized", "result_too_large", "at most"), ("not_json", "result_not_json", "key must be")];
    for (name, kind, says) in table {
        let (attempts, failure) = failed(outcome(submit(&yard, task(name, 0)).await).await);
        let Failure::Error(error) = failure else { panic!("{name}: {failure:?}") };
        assert_eq!((attempts, &*error.kind), (1, kind));
        assert!(error.message.contains(says), "{}", error.message);
    }
    assert_eq!(value(submit(&yard, task("mark", 0)).await).await[0], pid, "the worker lives");
}

/// P13: there and back, by worker processes.
#[tokio::test]
async fn payloads_of_all_sizes_and_letters_come_back_equal_and_once() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 2));
    let mut payloads: Vec<Value> = [7_999, 8_000, 8_001, 100_000].map(|size| "x".repeat(size).into()).into();
    payloads.push("😀".repeat(2_000).into());
    payloads.push(json!("\"quoted\" \\ \0 \u{1} \u{2028} \r\n \u{7f}"));
    payloads.push(json!({"deep": [[[{"": null}]]], "😀": 1.5, "big": u64::MAX}));

    let batch = submit_all(&yard, payloads.iter().map(|payload| task("echo", payload.clone()))).await;

    assert_eq!(values(batch).await, payloads);
}

/// P13: as long as a message may be, to the byte.
#[tokio::test]
async fn the_largest_payload_arrives_and_a_larger_one_is_refused() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let around = built(task("echo", "")).body.text().len();
    let largest = "x".repeat(RESULT_MAX.min(MESSAGE_MAX - around) - 2);
    assert_eq!(value(submit(&yard, task("echo", &*largest)).await).await, *largest);

    let refused = task("echo", "x".repeat(MESSAGE_MAX - around + 1)).build(taskyard::core::TaskId(0));
    let refused = refused.expect_err("too long").to_string();
    assert!(refused.contains("at most 1048576"), "{refused}");
}

/// P26: 100 MB, of which the process with the yard keeps next to nothing.
#[test]
fn a_flood_of_output_neither_stalls_nor_grows_memory() {
    alone("payloads::a_flood_of_output_neither_stalls_nor_grows_memory", async {
        let gate = Gate::open();
        let yard = yard(&gate, sized(1, 1));
        value(submit(&yard, task("mark", 0)).await).await;
        let before = resident_peak();
        assert_eq!(value(submit(&yard, task("flood", 0)).await).await, Value::Null);
        let grown = resident_peak() - before;
        assert!(grown < 32 << 20, "{grown} bytes more");
        assert_eq!(value(submit(&yard, task("echo", 1)).await).await, 1);
    });
}
