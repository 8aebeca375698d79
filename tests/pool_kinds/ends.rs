//! How tasks end, what counts as an attempt, and what is kept of those that fail.

use std::time::Duration;

use taskyard::TaskFailed;
use taskyard::core::conductor::Happened;
use taskyard::core::dispatch::{Failure, Trash};
use taskyard::core::time::Timestamp;
use taskyard::payload::Named;
use taskyard::testing::BEGINNING;
use tokio::sync::broadcast;

use crate::common::handlers::{Echo, Fail, Panic, Snooze, attempts};
use crate::common::soon;
use crate::handlers::{Unwritable, growing};
use crate::kinds::Kind;

pub(crate) async fn a_task_gives_its_value(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(Echo("😀\0".into()))).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), "😀\0");
}

pub(crate) async fn an_error_is_tried_again_and_told_at_last(kind: Kind) {
    let yard = kind.yard();
    let mended = yard.submit(Fail { until: 3, fatal: false }).retry(attempts(3));
    assert_eq!(soon(soon(mended).await.expect("taken").outcome()).await.expect("succeeds"), 3);

    let task = yard.submit(Fail { until: 9, fatal: false }).retry(attempts(3));
    let failed = soon(soon(task).await.expect("taken").outcome()).await.expect_err("fails");
    let TaskFailed::Trashed(Trash::Exhausted { attempts: 3, last: Failure::Error(error) }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!((&*error.kind, &*error.message), ("early", "not yet"));
}

/// When the task runs again whose pass ended next.
pub(crate) async fn again(news: &mut broadcast::Receiver<Happened>) -> Option<Timestamp> {
    loop {
        if let Happened::AttemptEnded { again, .. } = soon(news.recv()).await.expect("the yard is up") {
            return again;
        }
    }
}

/// Ten seconds, then twenty, and not a microsecond less.
pub(crate) async fn a_retry_waits_for_its_pause_which_grows(kind: Kind) {
    const PAUSE: Duration = Duration::from_secs(10);
    const MOMENT: Duration = Duration::from_micros(1);
    let test = kind.on_a_clock();
    let mut news = test.yard().observe();
    let task = test.yard().submit(Fail { until: 3, fatal: false }).retry(growing(3, PAUSE));
    let mut task = soon(task).await.expect("taken");
    for pause in [PAUSE, 2 * PAUSE] {
        assert_eq!(again(&mut news).await, Some(test.now() + pause));
        soon(test.advance(pause.saturating_sub(MOMENT))).await;
        assert_eq!(test.yard().stages().running + test.yard().stages().queued, 0);
        soon(test.advance(MOMENT)).await;
    }
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), 3);
    assert_eq!(test.now(), BEGINNING + 3 * PAUSE);
}

pub(crate) async fn a_fatal_error_is_not_tried_again(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(Fail { until: 2, fatal: true })).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    assert!(matches!(failed, TaskFailed::Trashed(Trash::Refused(_))), "{failed:?}");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!(error.kind, "hopeless");
}

pub(crate) async fn a_panic_is_a_failure_and_the_pool_goes_on(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(Panic).retry(attempts(1))).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!((&*error.kind, &*error.message), ("panic", "on purpose"));

    let mut next = soon(yard.submit(Echo("next".into()))).await.expect("taken");
    assert_eq!(soon(next.outcome()).await.expect("runs"), "next");
}

/// It ended the thread, and its task ran for ever.
pub(crate) async fn a_panic_while_the_result_is_written_is_a_failure_too(kind: Kind) {
    let yard = kind.yard();
    let task = yard.submit(Unwritable {}).retry(attempts(1));
    let failed = soon(soon(task).await.expect("taken").outcome()).await.expect_err("fails");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!((&*error.kind, &*error.message), ("panic", "never"));
    let mut next = soon(yard.submit(Echo("on".into()))).await.expect("taken");
    assert_eq!(soon(next.outcome()).await.expect("succeeds"), "on");
}

pub(crate) fn misfit() -> Named {
    let kwargs = serde_json::Map::from_iter([("until".into(), "soon".into())]);
    Named { name: "test.fail".into(), args: Vec::new(), kwargs }
}

pub(crate) async fn arguments_that_do_not_fit_are_not_tried_again(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(misfit())).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    assert!(matches!(failed, TaskFailed::Trashed(Trash::Refused(_))), "{failed:?}");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!(error.kind, "bad_arguments");
}

pub(crate) async fn a_snooze_is_no_attempt(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(Snooze)).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), (2, 1), "the second pass is the first attempt");
}
