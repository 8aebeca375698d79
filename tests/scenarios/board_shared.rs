//! Several yards of one process on one board, which outlives each of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use taskyard::core::TaskId;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::RowState;
use taskyard::core::task::Due;
use taskyard::registry::Registry;
use taskyard::testing::Shared;
use taskyard::{PoolSpec, StoreChoice, Yard};

use crate::common::soon;
use crate::rig::{inline, outcomes, read, submit, submit_all, task};

/// Which yard ran which task.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(usize, u64)>>>);

impl Log {
    /// A pool whose tasks `t` are logged as run by this yard.
    fn pool(&self, yard: usize) -> PoolSpec {
        let log = self.clone();
        let handler = move |args: Value, _, _| {
            let number = args[0].as_u64().expect("a number");
            log.0.lock().expect("whole").push((yard, number));
            async move { Ok(yard) }
        };
        inline("all", &["#"], Registry::new().register_fn("t", handler).expect("one name"), 4)
    }

    /// The tasks that ran, in order of their numbers.
    fn ran(&self) -> Vec<u64> {
        let mut ran: Vec<_> = self.0.lock().expect("whole").iter().map(|(_, number)| *number).collect();
        ran.sort_unstable();
        ran
    }
}

fn start(board: &Shared, pool: PoolSpec) -> Yard {
    Yard::builder().store(StoreChoice::shared(board)).pool(pool).start().expect("starts")
}

/// B1, in small.
#[tokio::test]
async fn six_yards_on_one_board_run_each_task_once() {
    let (board, log) = (Shared::default(), Log::default());
    let yards: Vec<_> = (0..6).map(|number| start(&board, log.pool(number))).collect();
    let mut batches = Vec::new();
    for (number, yard) in (0_u64..).step_by(50).zip(&yards) {
        let tasks = (number..number + 50).map(|number| task("t", number));
        batches.push(submit_all(yard, tasks).await);
    }
    for batch in batches {
        assert!(outcomes(batch).await.iter().all(|outcome| read(outcome).is_u64()));
    }
    assert_eq!(log.ran(), (0..300).collect::<Vec<_>>());
}

/// A yard that drains leaves what is parked to the next one.
#[tokio::test]
async fn what_was_parked_is_there_after_a_restart() {
    let (board, log) = (Shared::default(), Log::default());
    let first = start(&board, log.pool(1));
    let far = submit(&first, task("t", 7).delay(Duration::from_hours(24))).await.id();
    let done = outcome_of(&first, submit(&first, task("t", 8)).await.id()).await;
    assert_eq!(soon(first.drain()).await, Ok(Vec::new()), "nothing is lost");
    soon(first.closed()).await;

    let second = start(&board, log.pool(2));
    let view = soon(second.get(far)).await.expect("answered").expect("known");
    assert_eq!(view.state, RowState::Parked);
    assert_eq!(outcome_of(&second, TaskId(u128::MAX)).await, None);
    soon(second.reschedule(far, Due::Now)).await.expect("moved");
    assert_eq!(outcome_of(&second, far).await.map(|outcome| read(&outcome)), Some(2.into()));
    assert_eq!(done.map(|outcome| read(&outcome)), Some(1.into()));
}

async fn outcome_of(yard: &Yard, id: TaskId) -> Option<Outcome> {
    soon(yard.outcome(id)).await.ok()
}
