//! Time passes only when the test says so: due times, and steps of the clock, through the whole yard.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{echo, pool, soon, task};
use taskyard::core::task::{Due, Task};
use taskyard::core::time::Timestamp;
use taskyard::testing::{TestYard, Toys};
use taskyard::{TaskHandle, Yard};

const MIDNIGHT: Timestamp = Timestamp(1_800_000_000_000_000);

fn start() -> (TestYard, Toys) {
    let toys = Toys::by_hand(10, vec![echo()]);
    (TestYard::start(Yard::builder().pool(pool(&toys)), MIDNIGHT).expect("starts"), toys)
}

async fn submit(test: &TestYard, due: Due) -> TaskHandle {
    let handle = soon(test.yard().submit_task(Arc::new(Task { due, ..task() }))).await.expect("taken");
    soon(test.quiet()).await;
    handle
}

#[tokio::test]
async fn a_delayed_task_starts_at_its_time_and_not_before() {
    for delay in [Duration::from_millis(1), Duration::from_secs(2), Duration::from_hours(48)] {
        let (test, toys) = start();
        let handle = submit(&test, Due::In(delay)).await;
        soon(test.advance(delay - Duration::from_micros(1))).await;
        assert!(toys.running().is_empty(), "early for {delay:?}");
        soon(test.advance(Duration::from_micros(1))).await;
        assert_eq!(toys.running(), [handle.id()], "late for {delay:?}");
    }
}

#[tokio::test]
async fn a_step_of_the_wall_clock_starts_what_is_due_by_it_and_nothing_else() {
    let (test, toys) = start();
    let at = submit(&test, Due::At(MIDNIGHT + Duration::from_hours(1))).await;
    submit(&test, Due::In(Duration::from_secs(1))).await;
    soon(test.step_wall(MIDNIGHT + Duration::from_hours(2))).await;
    assert_eq!(toys.running(), [at.id()]);
}
