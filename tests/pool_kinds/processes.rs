//! What only worker processes can do: die, be killed, take too much memory.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::conductor::CancelAnswer;
use taskyard::core::dispatch::Failure;
use taskyard::core::task::Retry;
use taskyard::testing::{BEGINNING, VirtualClock};
use taskyard::{Pool, TaskFailed, Yard};
use taskyard_actors::in_flight::InFlight;

use crate::common::gate::Gate;
use crate::common::handlers::{Die, Echo, Gorge, Stubborn, attempts};
use crate::common::soon;
use crate::ends::again;
use crate::handlers::{Deaf, Meet, registry};
use crate::kinds::process;
use crate::limits::is_running;
use crate::records::passes;

/// P22: the worker of a lost task is replaced, and the task tried again; its exit is told at last.
#[tokio::test]
async fn a_task_that_takes_its_process_with_it_is_lost_and_tried_again() {
    let yard = process().yard();
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
    let kind = process();
    let yard = kind.start(kind.pool().workers(1..=1).grace(rung).kill_after(rung));
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

/// B6: what is killed beside another task comes back after a pause, uncounted. Only processes are killed for one of several
/// tasks.
#[tokio::test]
async fn a_task_beside_one_that_is_killed_runs_again_and_has_no_attempt_more() {
    const HOUR: Duration = Duration::from_hours(1);
    let (gate, clock) = (Gate::open(), VirtualClock::at(BEGINNING));
    let kind = process();
    let pool = kind.pool().workers(1..=1).concurrency(2).grace(Duration::ZERO).kill_after(Duration::ZERO);
    let yard =
        kind.builder(pool).clock(Arc::new(clock.clone()), InFlight::default()).start().expect("starts");
    let mut beside = soon(yard.submit(Meet::at(&gate, 0))).await.expect("taken");
    let guest = gate.next().await;
    let deaf = yard.submit(Deaf::at(&gate)).timeout(HOUR).retry(attempts(1));
    let mut deaf = soon(deaf).await.expect("taken");
    let blocker = gate.next().await;
    assert_eq!(blocker.pid, guest.pid);
    is_running(&yard, deaf.id()).await;

    let mut news = yard.observe();
    clock.advance(HOUR);
    let failed = soon(deaf.outcome()).await.expect_err("fails");
    assert_eq!(failed.last_failure(), Some(&Failure::TimedOut), "{failed:?}");
    while again(&mut news).await.is_none() {}
    clock.advance(Duration::from_secs(1));
    gate.next().await.release();
    assert_eq!(soon(beside.outcome()).await.expect("succeeds"), (2, 1));
    let view = soon(yard.get(beside.id())).await.expect("answered").expect("known");
    assert_eq!(passes(&view), "1 set back, 2 ended");
}

/// Too much memory costs the task its worker, and says so.
#[tokio::test]
async fn a_worker_that_takes_too_much_memory_is_killed_while_it_is_busy() {
    let kind = process();
    let yard = kind.start(kind.pool().memory_limit(100 << 20));
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
    let builder = Yard::builder().pool(broken).pool(process().pool());
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
    worker.args(["--exact", "processes::a_worker_that_builds_a_yard_says_what_it_forgot", "--nocapture"]);
    worker.env("TASKYARD_SHIM", shim).stdin(Stdio::from(std::os::fd::OwnedFd::from(socket)));
    let output = worker.output().expect("runs");
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run_if_worker"), "{output:?}");
}
