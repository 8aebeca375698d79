//! The handle: submit, follow, cancel, look, drain, and what is left when the yard is down.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{echo, pool, soon, task, tasks, yard};
use taskyard::core::conductor::{CancelAnswer, Happened, SubmitRefusal};
use taskyard::core::dispatch::Outcome;
use taskyard::core::pool;
use taskyard::core::store::{Filter, Refusal, RowState};
use taskyard::core::task::{Due, Retry, Task};
use taskyard::core::time::Timestamp;
use taskyard::core::worker::WorkerEnd;
use taskyard::core::{TaskId, board};
use taskyard::testing::{TestYard, Toys};
use taskyard::{
    AskError, CancelError, Closed, NoOutcome, NotTaken, PoolSpec, ScaleError, StartError, Yard, YardDown,
};

fn by_hand() -> Toys {
    Toys::by_hand(1, vec![echo()])
}

fn instant() -> Toys {
    Toys::instant(100, vec![echo()])
}

fn value(json: &str) -> WorkerEnd {
    WorkerEnd::Succeeded(json.into())
}

#[tokio::test]
async fn a_task_is_followed_from_submit_to_outcome() {
    let toys = by_hand();
    let test = TestYard::start(Yard::builder().pool(pool(&toys)), Timestamp(0)).expect("starts");
    let yard = test.yard();
    let mut handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");

    soon(test.quiet()).await;
    let running = yard.running();
    assert_eq!(running.iter().map(|live| live.task.id).collect::<Vec<_>>(), [handle.id()]);
    toys.finish(handle.id(), value("42"));

    let outcome = soon(handle.outcome()).await;
    assert_eq!(outcome, Ok(Outcome::Succeeded("42".into())));
    assert_eq!(soon(handle.outcome()).await, outcome, "it can be asked again");
    assert_eq!(soon(yard.outcome(handle.id())).await, outcome, "and by others");
}

#[tokio::test]
async fn a_batch_ends_as_its_tasks_end() {
    let yard = yard(&instant());
    let submitted = soon(yard.submit_tasks(tasks(10_000))).await;
    assert!(submitted.answers.iter().all(Result::is_ok));
    let mut ids = submitted.batch.ids().to_vec();
    let mut ended: Vec<_> =
        soon(submitted.batch.outcomes()).await.expect("up").into_iter().map(|ended| ended.id).collect();
    ids.sort_unstable();
    ended.sort_unstable();
    assert_eq!(ended, ids);
}

/// An empty batch has nothing to wait for.
#[tokio::test]
async fn an_empty_batch_has_ended() {
    let yard = yard(&instant());
    let submitted = soon(yard.submit_tasks(Vec::new())).await;
    assert!(soon(submitted.batch.outcomes()).await.expect("up").is_empty());
}

#[tokio::test]
async fn a_full_board_gives_the_task_back_and_takes_the_others() {
    let board = board::Settings { board_max: 2, ..board::Settings::default() };
    let yard = Yard::builder().board(board).pool(pool(&by_hand())).start().expect("starts");
    let three = tasks(3);
    let last = three[2].id;

    let mut submitted = soon(yard.submit_tasks(three)).await;

    assert_eq!(submitted.batch.ids().len(), 2);
    let error = submitted.answers.pop().expect("three").expect_err("full");
    assert_eq!((error.task.id, error.why), (last, NotTaken::Refused(SubmitRefusal::Board(Refusal::Full))));
    let error = soon(yard.submit_task(error.task)).await.expect_err("still full");
    assert_eq!(error.why, NotTaken::Refused(SubmitRefusal::Board(Refusal::Full)));
}

#[tokio::test]
async fn a_known_id_changes_nothing_and_follows_the_first() {
    let toys = by_hand();
    let yard = yard(&toys);
    let shared = Arc::new(task());
    let mut first = soon(yard.submit_task(Arc::clone(&shared))).await.expect("taken");
    let mut second = soon(yard.submit_task(shared)).await.expect("known");
    assert_eq!((first.was_known(), second.was_known()), (None, Some(RowState::Claimed)));

    soon(toys.started(first.id())).await;
    toys.finish(first.id(), value("1"));
    assert_eq!(soon(first.outcome()).await, soon(second.outcome()).await);
}

/// P28.
#[tokio::test]
async fn an_empty_filter_cancels_nothing() {
    let yard = yard(&by_hand());
    assert!(matches!(soon(yard.cancel(Filter::default())).await, Err(CancelError::EmptyFilter(_))));
}

/// P1: all are cancelled, the running one too.
#[tokio::test]
async fn a_cancel_by_name_meets_the_running_one_and_all_that_wait() {
    let toys = by_hand();
    let yard = yard(&toys);
    let submitted = soon(yard.submit_tasks(tasks(5))).await;
    let first = submitted.batch.ids()[0];
    soon(toys.started(first)).await;

    let filter = Filter { task: Some(echo()), ..Filter::default() };
    let answers = soon(yard.cancel(filter)).await.expect("answered");
    assert_eq!(answers.len(), 5, "{answers:?}");
    soon(toys.told_to_end(first)).await;
    toys.finish(first, WorkerEnd::Cancelled);

    let ended = soon(submitted.batch.outcomes()).await.expect("up");
    assert_eq!(ended.len(), 5);
    assert!(ended.iter().all(|ended| ended.outcome == Some(Outcome::Cancelled)), "{ended:?}");
}

#[tokio::test]
async fn a_waiting_task_is_shown_counted_moved_and_cancelled() {
    let yard = yard(&by_hand());
    let far = Task { due: Due::In(Duration::from_hours(1)), ..task() };
    let mut handle = soon(yard.submit_task(Arc::new(far))).await.expect("taken");

    assert_eq!(soon(yard.counts()).await.expect("counted").parked, 1);
    let view = soon(yard.get(handle.id())).await.expect("answered").expect("known");
    assert_eq!(view.state, RowState::Parked);
    let all = Filter { all: true, ..Filter::default() };
    assert_eq!(soon(yard.list(all.clone(), 0, 10)).await.expect("listed").0.len(), 1);
    assert_eq!(soon(yard.counts_of(all)).await.expect("counted").parked, 1);
    let other = Filter { namespace: "other".parse().ok(), ..Filter::default() };
    assert_eq!(soon(yard.counts_of(other)).await.expect("counted").unfinished(), 0);
    soon(yard.reschedule(handle.id(), Due::In(Duration::from_hours(2)))).await.expect("moved");
    assert_eq!(soon(handle.cancel()).await, Ok(CancelAnswer::Cancelled));
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Cancelled));
}

#[tokio::test]
async fn nobody_knows_an_unknown_task() {
    let yard = yard(&instant());
    let id = TaskId(u128::MAX);
    assert_eq!(soon(yard.outcome(id)).await, Err(NoOutcome::Unknown(id)));
    assert!(soon(yard.get(id)).await.expect("answered").is_none());
    assert!(yard.live(id).is_none());
}

#[tokio::test]
async fn an_observed_yard_says_what_happens() {
    let yard = Yard::builder().pool(pool(&instant())).observed().start().expect("starts");
    let mut news = yard.observe();
    let handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");
    loop {
        if let Happened::TaskEnded { task, .. } = soon(news.recv()).await.expect("up") {
            assert_eq!(task.id, handle.id());
            return;
        }
    }
}

/// Seen: whoever observed a yard and held a handle to it waited for ever.
#[tokio::test]
async fn the_news_end_with_the_yard() {
    let yard = Yard::builder().pool(pool(&instant())).observed().start().expect("starts");
    let mut news = yard.observe();
    soon(yard.drain()).await.expect("drained");
    while soon(news.recv()).await.is_ok() {}
    assert!(soon(yard.observe().recv()).await.is_err(), "and who comes late is told at once");
}

/// P18: what runs finishes, what waits is listed by id.
#[tokio::test]
async fn a_drain_finishes_what_runs_lists_what_waits_and_ends_the_yard() {
    let toys = by_hand();
    let yard = yard(&toys);
    let submitted = soon(yard.submit_tasks(tasks(3))).await;
    let ids = submitted.batch.ids().to_vec();
    soon(toys.started(ids[0])).await;

    let draining = tokio::spawn({
        let yard = yard.clone();
        async move { yard.drain().await }
    });
    let refused = loop {
        match soon(yard.submit_task(Arc::new(task()))).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.why, NotTaken::Refused(SubmitRefusal::Draining));
    toys.finish(ids[0], value("null"));

    let left = soon(draining).await.expect("no panic").expect("drained");
    assert!(left.contains(&ids[1]) && left.contains(&ids[2]) && !left.contains(&ids[0]), "{left:?}");
    assert_eq!(soon(yard.closed()).await, Closed::Drained);
}

#[tokio::test]
async fn a_yard_that_is_down_says_so_to_everybody() {
    let yard = yard(&by_hand());
    soon(yard.drain()).await.expect("drained");
    soon(yard.closed()).await;

    let down = AskError::Down(YardDown { why: Closed::Drained });
    assert_eq!(soon(yard.counts()).await, Err(down.clone()));
    assert!(matches!(yard.scale("all", 1, 1), Err(ScaleError::Down(_))));
    let refused = soon(yard.submit_task(Arc::new(task()))).await.expect_err("down");
    assert_eq!(refused.why, NotTaken::Unanswered(down));
    let submitted = soon(yard.submit_tasks(tasks(2))).await;
    assert!(submitted.answers.len() == 2 && submitted.answers.iter().all(Result::is_err));
    assert!(soon(submitted.batch.outcomes()).await.expect("nothing to wait for").is_empty());
}

#[test]
fn a_set_up_that_cannot_work_is_refused() {
    let spec = |change: fn(&mut PoolSpec)| {
        let mut spec = pool(&by_hand());
        change(&mut spec);
        Yard::builder().pool(spec).start()
    };
    assert!(matches!(Yard::builder().start(), Err(StartError::NoPool)));
    assert!(matches!(spec(|pool| pool.patterns.clear()), Err(StartError::NoPattern(_))));
    assert!(matches!(
        spec(|pool| pool.settings = pool::Settings { min: 2, max: 1, ..pool::Settings::default() }),
        Err(StartError::BadBounds { .. })
    ));
    let twice = Yard::builder().pool(pool(&by_hand())).pool(pool(&by_hand())).start();
    assert!(matches!(twice, Err(StartError::SamePool(_))));
    let retry = Yard::builder().retry("none", Retry::default()).pool(pool(&by_hand())).start();
    assert!(matches!(retry, Err(StartError::UnknownPool(_))));
}

#[test]
fn a_pool_that_is_not_there_cannot_be_scaled() {
    let yard = yard(&instant());
    assert!(matches!(yard.scale("none", 0, 1), Err(ScaleError::UnknownPool(_))));
    assert!(matches!(yard.scale("all", 2, 1), Err(ScaleError::BadBounds { .. })));
    assert!(matches!(yard.pause("none", true), Err(ScaleError::UnknownPool(_))));
}
