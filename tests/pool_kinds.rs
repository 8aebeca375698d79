//! One suite on each kind of pool: a handler sees the same yard, and the yard the same ends, wherever the handler runs.

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::handlers::{
    Die, Echo, Fail, Gorge, Hang, News, Panic, Parent, Snooze, Stubborn, Testament, attempts, registry,
};
use common::soon;
use taskyard::core::conductor::CancelAnswer;
use taskyard::core::dispatch::{Failure, Outcome, Trash};
use taskyard::core::task::Retry;
use taskyard::{Pool, TaskFailed, Yard};

/// Worker processes start here.
#[test]
fn worker_entry() {
    taskyard::worker::run_if_worker(&registry());
}

#[derive(Clone, Copy)]
enum Kind {
    Process,
    Blocking,
    Inline,
}

fn yard(kind: Kind) -> Yard {
    let pool = match kind {
        Kind::Process => processes(),
        Kind::Blocking => Pool::blocking("all").workers(1..=2),
        Kind::Inline => Pool::inline("all"),
    };
    with(pool)
}

fn processes() -> Pool {
    Pool::process("all").workers(1..=2).worker_args(["--exact", "worker_entry", "--nocapture"])
}

fn with(pool: Pool) -> Yard {
    // The registry after the pool: the order does not matter.
    let builder = Yard::builder().pool(pool.pattern("test.#").retry(attempts(3)));
    builder.registry(registry()).observed().start().expect("starts")
}

macro_rules! on_each_kind {
    ($($test:ident),* $(,)?) => {
        on_each_kind!(@kind process Process $($test)*);
        on_each_kind!(@kind blocking Blocking $($test)*);
        on_each_kind!(@kind inline Inline $($test)*);
    };
    (@kind $module:ident $kind:ident $($test:ident)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::Kind::$kind).await;
            })*
        }
    };
}

on_each_kind![
    a_task_gives_its_value,
    an_error_is_tried_again_and_told_at_last,
    a_fatal_error_is_not_tried_again,
    a_panic_is_a_failure_and_the_pool_goes_on,
    a_task_is_ended_when_its_time_is_up,
    a_running_task_tells_its_progress_and_is_cancelled,
    a_snooze_is_no_attempt,
    what_is_submitted_once_is_there_once,
    a_callback_follows_success_and_an_errback_failure,
    what_a_running_task_submits_while_the_yard_drains_is_kept,
];

async fn a_task_gives_its_value(kind: Kind) {
    let yard = yard(kind);
    let mut task = soon(yard.submit(Echo("😀\0".into()))).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), "😀\0");
}

async fn an_error_is_tried_again_and_told_at_last(kind: Kind) {
    let yard = yard(kind);
    let mut mended = soon(yard.submit(Fail { until: 3, fatal: false })).await.expect("taken");
    assert_eq!(soon(mended.outcome()).await.expect("succeeds"), 3);

    let mut task = soon(yard.submit(Fail { until: 9, fatal: false })).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    let TaskFailed::Trashed(Trash::Exhausted { attempts: 3, last: Failure::Error(error) }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!((&*error.kind, &*error.message), ("early", "not yet"));
}

async fn a_fatal_error_is_not_tried_again(kind: Kind) {
    let yard = yard(kind);
    let mut task = soon(yard.submit(Fail { until: 2, fatal: true })).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    assert!(matches!(failed, TaskFailed::Trashed(Trash::Refused(_))), "{failed:?}");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!(error.kind, "hopeless");
}

async fn a_panic_is_a_failure_and_the_pool_goes_on(kind: Kind) {
    let yard = yard(kind);
    let mut task = soon(yard.submit(Panic).retry(attempts(1))).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("fails");
    let Some(Failure::Error(error)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!((&*error.kind, &*error.message), ("panic", "on purpose"));
    a_task_gives_its_value(kind).await;
}

async fn a_task_is_ended_when_its_time_is_up(kind: Kind) {
    let yard = yard(kind);
    let hang = yard.submit(Hang).timeout(Duration::from_millis(50)).retry(attempts(1));
    let failed = soon(soon(hang).await.expect("taken").outcome()).await.expect_err("fails");
    assert_eq!(failed.last_failure(), Some(&Failure::TimedOut), "{failed:?}");
}

async fn a_running_task_tells_its_progress_and_is_cancelled(kind: Kind) {
    let yard = yard(kind);
    let mut news = News::of(&yard);
    let mut task = soon(yard.submit(Hang)).await.expect("taken");
    assert_eq!(news.echo().await, "hangs");
    let progress = yard.live(task.id()).expect("it runs").progress().expect("it said so");
    assert_eq!((progress.fraction, progress.note.as_deref()), (0.5, Some("half")));

    assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Running));
    assert!(matches!(soon(task.outcome()).await, Err(TaskFailed::Cancelled)));
}

async fn a_snooze_is_no_attempt(kind: Kind) {
    let yard = yard(kind);
    let mut task = soon(yard.submit(Snooze)).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), (2, 1), "the second pass is the first attempt");
}

async fn what_is_submitted_once_is_there_once(kind: Kind) {
    let yard = yard(kind);
    let mut task = soon(yard.submit(Parent)).await.expect("taken");
    let child = task.id().derived(b"child");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), [child, child]);
    assert_eq!(soon(yard.outcome(child)).await, Ok(Outcome::Succeeded(r#""child""#.into())));
}

async fn a_callback_follows_success_and_an_errback_failure(kind: Kind) {
    let yard = yard(kind);
    let mut news = News::of(&yard);
    for (until, follower) in [(2, "well"), (9, "badly")] {
        let task = yard.submit(Fail { until, fatal: false }).callback(Echo("well".into()));
        soon(task.errback(Echo("badly".into()))).await.expect("taken");
        assert_eq!(news.echo().await, follower);
    }
}

/// P18: the running task is still heard, and what it submits is listed.
async fn what_a_running_task_submits_while_the_yard_drains_is_kept(kind: Kind) {
    let yard = yard(kind);
    let mut news = News::of(&yard);
    let file = std::env::temp_dir().join(format!("taskyard-{}", taskyard::fresh_id()));
    let mut task = soon(yard.submit(Testament { file: file.clone() })).await.expect("taken");
    assert_eq!(news.echo().await, "hangs");

    let draining = tokio::spawn({
        let yard = yard.clone();
        async move { yard.drain().await }
    });
    while soon(yard.submit(Echo("from outside".into())).delay(Duration::from_hours(1))).await.is_ok() {}
    std::fs::write(&file, "").expect("written");
    let left = soon(draining).await.expect("no panic").expect("drained");
    assert!(left.contains(&task.id().derived(b"will")), "{left:?}");
    soon(task.outcome()).await.expect("succeeds");
    std::fs::remove_file(file).expect("removed");
}

/// P22: the worker of a lost task is replaced, and the task tried again; its exit is told at last.
#[tokio::test]
async fn a_task_that_takes_its_process_with_it_is_lost_and_tried_again() {
    let yard = yard(Kind::Process);
    let mut mended = soon(yard.submit(Die { until: 2 })).await.expect("taken");
    assert_eq!(soon(mended.outcome()).await.expect("succeeds"), 2);

    let once = Retry { max_attempts: 1, ..Retry::default() };
    let mut task = soon(yard.submit(Die { until: 2 }).retry(once)).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("lost");
    let Some(Failure::Lost(loss)) = failed.last_failure() else { panic!("{failed:?}") };
    assert_eq!(loss.status, "exit status 3");
}

/// P7: a task that hears nothing and whose process ignores SIGTERM ends all the same, and its slot comes back.
#[tokio::test]
async fn a_process_that_ignores_everything_is_killed() {
    let rung = Duration::from_millis(100);
    let yard = with(processes().workers(1..=1).grace(rung).kill_after(rung));
    let late = yard.submit(Stubborn).timeout(rung).retry(attempts(1));
    let failed = soon(soon(late).await.expect("taken").outcome()).await.expect_err("fails");
    assert_eq!(failed.last_failure(), Some(&Failure::TimedOut), "{failed:?}");

    let mut task = soon(yard.submit(Stubborn)).await.expect("taken");
    while yard.live(task.id()).is_none_or(|live| live.running().is_none()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Running));
    assert!(matches!(soon(task.outcome()).await, Err(TaskFailed::Cancelled)));
    let mut next = soon(yard.submit(Echo("next".into()))).await.expect("taken");
    assert_eq!(soon(next.outcome()).await.expect("runs"), "next");
}

/// Too much memory costs the task its worker, and says so.
#[tokio::test]
async fn a_worker_that_takes_too_much_memory_is_killed_while_it_is_busy() {
    let yard = with(processes().memory_limit(100 << 20));
    let gorge = yard.submit(Gorge { bytes: 200 << 20 }).retry(attempts(1));
    let failed = soon(soon(gorge).await.expect("taken").outcome()).await.expect_err("lost");
    let Some(Failure::Lost(loss)) = failed.last_failure() else { panic!("{failed:?}") };
    assert!(loss.status.starts_with("memory limit of 104857600 bytes exceeded"), "{loss:?}");
}

/// A pool whose workers die at start is told of, and harms no other.
#[tokio::test]
async fn a_pool_that_can_not_start_leaves_the_others_alone() {
    let broken = Pool::command("broken", "false", [""; 0]).pattern("broken.#").workers(1..=2).worker_args([
        "--exact",
        "worker_entry",
        "--nocapture",
    ]);
    let builder = Yard::builder().pool(broken).pool(processes().pattern("test.#"));
    let yard = builder.registry(registry()).start().expect("starts");
    loop {
        let pools = soon(yard.pools()).await.expect("up");
        let mut task = soon(yard.submit(Echo("here".into()))).await.expect("taken");
        assert_eq!(soon(task.outcome()).await.expect("runs"), "here");
        if pools[0].1.degraded {
            assert!(!pools[1].1.degraded);
            return;
        }
    }
}

/// A program that forgets to be a worker says what it forgot, and starts no yard in a worker's place.
#[test]
fn a_worker_that_builds_a_yard_says_what_it_forgot() {
    if taskyard::worker::is_worker() {
        drop(Yard::builder().registry(registry()).pool(Pool::inline("all").pattern("#")).start());
        unreachable!("the process has ended");
    }
    let (_yard, socket) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let limits = r#"{"open_files":null,"address_space":null,"cpu_seconds":null,"core_size":null}"#;
    let shim = format!(r#"{{"parent":{},"limits":{limits},"exec":[]}}"#, std::process::id());
    let mut worker = Command::new("/proc/self/exe");
    worker.args(["--exact", "a_worker_that_builds_a_yard_says_what_it_forgot", "--nocapture"]);
    worker.env("TASKYARD_SHIM", shim).stdin(Stdio::from(std::os::fd::OwnedFd::from(socket)));
    let output = worker.output().expect("runs");
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run_if_worker"), "{output:?}");
}
