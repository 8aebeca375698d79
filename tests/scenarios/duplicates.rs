//! Twins: how many of them run, wait, or are dropped.

use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::core::dispatch::Outcome;
use taskyard::core::live::Stage;
use taskyard::core::new_task::NewTask;
use taskyard::core::store::Counts;
use taskyard::core::task::KeyLimits;

use crate::common::soon;
use crate::gate::Gate;
use crate::rig::{bare, eventually, outcome, sized, submit, submit_all, task, values, yard};

/// P2: both run, since the first was in progress when the second came: it waited for a worker only.
#[tokio::test]
async fn a_queue_one_twin_of_a_queued_task_runs_after_it() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let busy = submit(&yard, task("meet", "busy")).await;
    let guest = gate.next().await;
    let twin = || task("mark", "a").on_duplicate(KeyLimits::QUEUE_ONE);
    let first = submit_all(&yard, [twin()]).await;
    let second = submit_all(&yard, [twin()]).await;

    guest.release();

    assert!(matches!(outcome(busy).await, Outcome::Succeeded(_)));
    assert_eq!((values(first).await.len(), values(second).await.len()), (1, 1));
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()), "nothing stays behind");
}

/// What became of ten identical tasks while the first of them runs.
struct Ten {
    ids: Vec<TaskId>,
    yard: Yard,
}

impl Ten {
    /// How many run, are blocked (here or on the board) and were dropped.
    async fn stand(&self) -> (usize, usize, usize) {
        let stages: Vec<_> =
            self.ids.iter().filter_map(|id| self.yard.live(*id)).map(|live| live.stage()).collect();
        let count = |stage| stages.iter().filter(|at| **at == stage).count();
        let Counts { behind, unjudged, .. } = soon(self.yard.counts()).await.expect("counted");
        let blocked = count(Stage::Blocked) + behind + unjudged;
        let unfinished = stages.len() + behind + unjudged;
        (count(Stage::Running), blocked, 10 - unfinished)
    }
}

/// Ten identical tasks come to stand as expected, and then the others run one by one.
async fn ten(limits: KeyLimits, expected: (usize, usize, usize)) {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 4));
    let batch = submit_all(&yard, (0..10).map(|_| task("meet", "same").on_duplicate(limits))).await;
    let ten = Ten { ids: batch.ids().to_vec(), yard };
    let mut running = gate.next().await;
    eventually("the twins stand as expected", async || ten.stand().await == expected).await;

    for _ in 0..expected.1 {
        running.release();
        running = gate.next().await;
        assert!(ten.yard.running().len() <= 1, "one at a time");
    }
    running.release();

    let ended = soon(batch.outcomes()).await.expect("up");
    let runs = |outcome: &Outcome| matches!(outcome, Outcome::Succeeded(_));
    let ran = ended.iter().filter(|ended| ended.outcome.as_ref().is_some_and(runs)).count();
    let lost_to_one_that_ran =
        |outcome: &Outcome| matches!(outcome, Outcome::Discarded { lost_to } if ten.ids.contains(lost_to));
    let dropped =
        ended.iter().filter(|ended| ended.outcome.as_ref().is_some_and(lost_to_one_that_ran)).count();
    assert_eq!((ran, dropped), (1 + expected.1, expected.2));
}

/// P15.
#[tokio::test]
async fn of_ten_discarding_twins_one_runs_and_nine_are_dropped() {
    ten(KeyLimits::DISCARD, (1, 0, 9)).await;
}

/// P15.
#[tokio::test]
async fn of_ten_serial_twins_one_runs_and_nine_wait() {
    ten(KeyLimits::SERIAL, (1, 9, 0)).await;
}

/// P15.
#[tokio::test]
async fn of_ten_queue_one_twins_one_runs_one_waits_and_eight_are_dropped() {
    ten(KeyLimits::QUEUE_ONE, (1, 1, 8)).await;
}

/// P16: no arguments and none given are the same key.
#[tokio::test]
async fn twins_with_empty_and_with_missing_arguments_are_twins() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 2));
    let empty = serde_json::value::to_raw_value::<[u8; 0]>(&[]).ok();
    let empty = NewTask::new("meet".parse().expect("valid"), empty, None);
    let first = submit(&yard, empty.on_duplicate(KeyLimits::DISCARD)).await;
    let second = submit(&yard, bare("meet").on_duplicate(KeyLimits::DISCARD)).await;

    assert_eq!(outcome(second).await, Outcome::Discarded { lost_to: first.id() });
    gate.next().await.release();
    assert!(matches!(outcome(first).await, Outcome::Succeeded(_)));
}
