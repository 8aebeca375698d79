//! Time limits: kept whatever the task does, and recorded as what they are.

use std::time::{Duration, Instant};

use taskyard::core::dispatch::Failure;

use crate::gate::Gate;
use crate::os::wait_gone;
use crate::rig::{failed, once, outcome, outcomes, sized, submit, submit_all, task, value, yard};

/// The ladder of the rig's pools, and what a busy machine may add.
const GRACE: Duration = Duration::from_millis(200);
const KILL_AFTER: Duration = Duration::from_millis(300);
const SLACK: Duration = Duration::from_millis(700);

/// P7: it blocks SIGTERM and spins, so that only SIGKILL ends it.
#[tokio::test]
async fn a_task_that_ignores_everything_ends_within_the_ladder() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let limit = Duration::from_secs(1);
    let handle = submit(&yard, task("stubborn", "x").timeout(limit).retry(once())).await;
    let guest = gate.next().await;
    let started = Instant::now();

    assert_eq!(failed(outcome(handle).await), (1, Failure::TimedOut));

    let took = started.elapsed();
    assert!(took >= limit, "{took:?}: it has its time");
    assert!(took < limit + GRACE + KILL_AFTER + SLACK, "{took:?}");
    wait_gone(guest.pid, Duration::ZERO);
    assert_eq!(value(submit(&yard, task("echo", "next")).await).await, "next", "the slot is back");
}

/// P7: a task that says it succeeded once its time is up has timed out.
#[tokio::test]
async fn a_success_after_the_time_limit_is_a_time_out() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let late = task("late", "x").timeout(Duration::from_millis(100)).retry(once());
    let handle = submit(&yard, late).await;
    let guest = gate.next().await;

    assert_eq!(failed(outcome(handle).await), (1, Failure::TimedOut));

    let next = submit(&yard, task("mark", "x")).await;
    assert_eq!(value(next).await[0], guest.pid, "a worker that gave in is not killed");
}

/// P8: none of the five waits for its 1.5 s, nor for another one.
#[tokio::test]
async fn five_short_time_limits_are_kept_at_once() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(5, 5));
    let warm = submit_all(&yard, (0..5).map(|n| task("meet", n))).await;
    drop(gate.next_few(5).await);
    outcomes(warm).await;

    let limits = [10, 30, 50, 70, 100].map(Duration::from_millis);
    let dozing = limits.map(|limit| task("doze", 1.5).timeout(limit).retry(once()));
    let begun = Instant::now();
    let ends = outcomes(submit_all(&yard, dozing).await).await;

    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1) + GRACE, "{took:?}");
    for end in ends {
        assert_eq!(failed(end), (1, Failure::TimedOut));
    }
}
