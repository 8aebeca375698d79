//! What the board keeps of how tasks ended: which passes counted, and the trash.

use taskyard::core::TaskId;
use taskyard::core::dispatch::{Failure, Outcome, Trash};
use taskyard::core::store::{AttemptEnd, AttemptRecord, Filter, RowState, TaskView};
use taskyard::payload::Payload;
use taskyard::{Draft, Yard};

use crate::common::handlers::{Echo, Fail, Panic, Snooze, attempts};
use crate::common::soon;
use crate::ends::{again, misfit};
use crate::kinds::Kind;

/// What the board has of a task once it has ended.
async fn record<P: Payload>(yard: &Yard, task: Draft<P>) -> TaskView {
    let mut task = soon(yard.submit(task)).await.expect("taken");
    drop(soon(task.outcome()).await);
    view(yard, task.id()).await
}

async fn view(yard: &Yard, id: TaskId) -> TaskView {
    soon(yard.get(id)).await.expect("answered").expect("known")
}

/// How its passes ended, by the log, which begins with the first that went wrong.
pub(crate) fn passes(view: &TaskView) -> String {
    let pass = |record: &AttemptRecord| {
        let end = match record.end {
            AttemptEnd::Failed(_) => "failed",
            AttemptEnd::Setback => "set back",
            AttemptEnd::Ended => "ended",
            AttemptEnd::OwnerLost => "lost",
        };
        format!("{} {end}", record.epoch)
    };
    view.log.iter().map(pass).collect::<Vec<_>>().join(", ")
}

/// B6, B8: the table "what each end counts", as the board has it.
pub(crate) async fn each_end_counts_as_it_shall(kind: Kind) {
    let yard = kind.yard();
    let fail = |until, fatal| Draft::new(Fail { until, fatal }).retry(attempts(3));

    let succeeded = record(&yard, Draft::new(Echo("fine".into()))).await;
    assert_eq!((&*passes(&succeeded), succeeded.epoch), ("", 1));
    let mixed = record(&yard, fail(3, false)).await;
    assert_eq!((&*passes(&mixed), mixed.epoch), ("1 failed, 2 failed, 3 ended", 3));
    assert_eq!(mixed.outcome, Some(Outcome::Succeeded("3".into())));
    let exhausted = record(&yard, fail(9, false)).await;
    assert_eq!((&*passes(&exhausted), exhausted.attempts), ("1 failed, 2 failed, 3 ended", 3));
    let fatal = record(&yard, fail(9, true)).await;
    assert_eq!((&*passes(&fatal), fatal.attempts), ("1 ended", 1));
    let misfit = record(&yard, Draft::new(misfit())).await;
    assert_eq!((&*passes(&misfit), misfit.attempts), ("1 ended", 1));
    let panicked = record(&yard, Draft::new(Panic).retry(attempts(2))).await;
    assert_eq!((&*passes(&panicked), panicked.attempts), ("1 failed, 2 ended", 2));
    let snoozed = record(&yard, Draft::new(Snooze)).await;
    assert_eq!((&*passes(&snoozed), snoozed.epoch), ("", 2));

    let all = [succeeded, mixed, exhausted, fatal, misfit, panicked, snoozed];
    assert!(all.iter().all(|view| view.state == RowState::Ended && view.crash_marks == 0), "{all:#?}");
}

/// B10: it is listed with the reason; posted again its attempts start anew, and its history goes on.
pub(crate) async fn the_trash_keeps_the_reason_and_gives_the_task_back(kind: Kind) {
    let yard = kind.yard();
    let trashed = record(&yard, Draft::new(Fail { until: 9, fatal: false }).retry(attempts(2))).await;
    let all = || Filter { all: true, ..Filter::default() };
    let (listed, _) = soon(yard.trash(all(), 0, 10)).await.expect("answered");
    let [listed] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((listed.id, &listed.outcome), (trashed.id, &trashed.outcome));
    let Some(Outcome::Trashed(Trash::Exhausted { attempts: 2, last: Failure::Error(error) })) =
        &listed.outcome
    else {
        panic!("{listed:?}")
    };
    assert_eq!(error.message, "not yet");

    let mut news = yard.observe();
    assert_eq!(soon(yard.requeue(all())).await, Ok(1));
    while again(&mut news).await.is_some() {}
    let again = view(&yard, trashed.id).await;
    assert_eq!((&*passes(&again), again.attempts), ("1 failed, 2 ended, 3 failed, 4 ended", 2));
    assert_eq!(soon(yard.purge(all())).await, Ok(1));
    assert!(soon(yard.get(trashed.id)).await.expect("answered").is_none(), "it is forgotten");
}
