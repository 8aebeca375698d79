//! The end of a yard, whatever its workers are.

use std::pin::pin;
use std::time::Duration;

use futures::poll;
use taskyard::core::TaskId;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::RowState;
use taskyard::{Closed, NotTaken, Pool, Yard};
use tokio::task::JoinHandle;

use crate::common::gate::Gate;
use crate::common::handlers::{Echo, News, Testament};
use crate::common::soon;
use crate::handlers::Meet;
use crate::kinds::Kind;

fn drain(yard: &Yard) -> JoinHandle<Vec<TaskId>> {
    let yard = yard.clone();
    tokio::spawn(async move {
        let mut left = yard.drain().await.expect("drained");
        left.sort_unstable();
        left
    })
}

/// Whether a drained yard has kept a task: a board in memory gives it back, one on disk has it for the next yard.
async fn is_kept(kind: &Kind, left: &[TaskId], id: TaskId) -> bool {
    if !kind.store().is_durable() {
        return left.contains(&id);
    }
    let next = kind.start(Pool::inline("none").pattern("none"));
    let view = soon(next.get(id)).await.expect("answered");
    view.is_some_and(|view| matches!(view.state, RowState::Ready | RowState::Parked))
}

/// Waits until the yard takes nothing new.
async fn is_draining(yard: &Yard) {
    loop {
        match soon(yard.submit(Echo("from outside".into())).delay(Duration::from_hours(1))).await {
            Ok(_) => {}
            Err(refused) => return assert_eq!(refused.why, NotTaken::Refused(SubmitRefusal::Draining)),
        }
    }
}

/// B11: when idle. The grace is an hour, which nobody waits for.
pub(crate) async fn a_drain_of_an_idle_yard_waits_for_nothing(kind: Kind) {
    let yard = kind.start(kind.pool().drain_grace(Duration::from_hours(1)));
    let mut task = soon(yard.submit(Echo("before".into()))).await.expect("taken");
    soon(task.outcome()).await.expect("runs");
    assert_eq!(soon(drain(&yard)).await.expect("no panic"), []);
    assert_eq!(soon(yard.closed()).await, Closed::Drained);
}

/// B11: while busy.
pub(crate) async fn a_drain_lets_what_runs_end_and_gives_the_rest_back(kind: Kind) {
    let gate = Gate::open();
    let yard = kind.start(kind.single().drain_grace(Duration::from_hours(1)));
    let mut running = soon(yard.submit(Meet::at(&gate, 0))).await.expect("taken");
    let guest = gate.next().await;
    let queued = soon(yard.submit(Meet::at(&gate, 1))).await.expect("taken");
    let near = soon(yard.submit(Meet::at(&gate, 2)).delay(Duration::from_secs(1))).await.expect("taken");
    let far = soon(yard.submit(Meet::at(&gate, 3)).delay(Duration::from_hours(1))).await.expect("taken");

    let draining = drain(&yard);
    is_draining(&yard).await;
    guest.release();
    let left = soon(draining).await.expect("no panic");
    assert_eq!(soon(running.outcome()).await.expect("told before the end"), (1, 1));
    for waiting in [queued, near, far] {
        assert!(is_kept(&kind, &left, waiting.id()).await, "{left:?}");
    }
    assert!(!is_kept(&kind, &left, running.id()).await, "{left:?}");
    assert_eq!(soon(yard.closed()).await, Closed::Drained);
}

/// B11: told to end, it gives in, and is not cancelled for good.
pub(crate) async fn what_outlasts_the_grace_is_given_back(kind: Kind) {
    let gate = Gate::open();
    let yard = kind.start(kind.single().drain_grace(Duration::ZERO));
    let task = soon(yard.submit(Meet::at(&gate, 0))).await.expect("taken");
    let mut guest = gate.next().await;
    let left = soon(drain(&yard)).await.expect("no panic");
    assert!(is_kept(&kind, &left, task.id()).await, "{left:?}");
    guest.gone().await;
}

/// B6, B11: on a board that outlives the yard it runs again, as if it never had: a stop is no attempt and no crash.
pub(crate) async fn what_a_drain_gave_back_goes_on_in_the_next_yard(kind: Kind) {
    let (gate, board) = (Gate::open(), kind.lasting_store());
    let open = || {
        let pool = kind.single().drain_grace(Duration::ZERO);
        kind.builder(pool).store(board.clone()).start().expect("starts")
    };
    let yard = open();
    let begun = soon(yard.submit(Meet::at(&gate, 0))).await.expect("taken").id();
    let mut guest = gate.next().await;
    let waiting = soon(yard.submit(Meet::at(&gate, 1))).await.expect("taken").id();
    soon(drain(&yard)).await.expect("no panic");
    guest.gone().await;

    let yard = open();
    for id in [begun, waiting] {
        gate.next().await.release();
        let outcome = soon(yard.outcome(id)).await.expect("known");
        let view = soon(yard.get(id)).await.expect("answered").expect("known");
        assert_eq!(outcome, Outcome::Succeeded(format!("[{},1]", view.epoch).into()));
        assert_eq!((view.epoch, view.log, view.crash_marks), (if id == begun { 2 } else { 1 }, vec![], 0));
    }
}

/// B11: twice.
pub(crate) async fn a_drain_asked_for_twice_is_one_drain(kind: Kind) {
    let gate = Gate::open();
    let yard = kind.start(kind.single().drain_grace(Duration::from_hours(1)));
    let mut running = soon(yard.submit(Meet::at(&gate, 0))).await.expect("taken");
    let guest = gate.next().await;
    let queued = soon(yard.submit(Meet::at(&gate, 1))).await.expect("taken");
    let first = drain(&yard);
    is_draining(&yard).await;
    let mut second = pin!(yard.drain());
    assert!(poll!(&mut second).is_pending());
    // A question behind the second: it was heard before the task ended.
    soon(yard.counts()).await.expect("up");
    guest.release();
    assert!(soon(first).await.expect("no panic").contains(&queued.id()));
    assert!(soon(second).await.expect("drained").contains(&queued.id()));
    assert_eq!(soon(running.outcome()).await.expect("told before the end"), (1, 1));
}

/// P18: the running task is still heard, and what it submits is listed.
pub(crate) async fn what_a_running_task_submits_while_the_yard_drains_is_kept(kind: Kind) {
    let yard = kind.yard();
    let mut news = News::of(&yard);
    let file = std::env::temp_dir().join(format!("taskyard-{}", taskyard::fresh_id()));
    let mut task = soon(yard.submit(Testament { file: file.clone() })).await.expect("taken");
    assert_eq!(news.echo().await, "hangs");

    let draining = drain(&yard);
    is_draining(&yard).await;
    std::fs::write(&file, "").expect("written");
    let left = soon(draining).await.expect("no panic");
    assert!(is_kept(&kind, &left, task.id().derived(b"will")).await, "{left:?}");
    soon(task.outcome()).await.expect("succeeds");
    std::fs::remove_file(file).expect("removed");
}
