//! Workers and dispatchers that die: what ran is lost once, what waited goes on, nobody stays behind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use taskyard::Yard;
use taskyard::core::dispatch::Failure;
use taskyard::core::store::Counts;
use taskyard::core::task::KeyLimits;
use tokio::sync::broadcast::error::TryRecvError;

use crate::common::soon;
use crate::gate::{Gate, Scratch};
use crate::os::{kill, wait_gone};
use crate::rig::{
    again, at_once, bare, eventually, failed, once, outcome, outcomes, processes, read, scripts, sized,
    start, submit, submit_all, task, value, yard,
};

/// P3.
#[tokio::test]
async fn the_twin_of_a_task_whose_worker_is_killed_starts_at_once() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 2));
    let twin = || task("meet", "a").on_duplicate(KeyLimits::SERIAL).retry(once());
    let first = submit(&yard, twin()).await;
    let victim = gate.next().await;
    let second = submit(&yard, twin()).await;

    let killed = Instant::now();
    assert!(kill(victim.pid));

    let heir = gate.next().await;
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    let (attempts, Failure::Lost(loss)) = failed(outcome(first).await) else { panic!("not lost") };
    assert_eq!((attempts, &*loss.status), (1, "signal 9 (SIGKILL)"));
    heir.release();
    value(second).await;
}

/// P9: the yard is told of no task.
#[tokio::test]
async fn a_worker_killed_while_idle_is_replaced_and_no_task_is_counted() {
    let scratch = Scratch::new();
    let log = scratch.path().join("ready");
    let script = r#"read -r hello; printf '{"type":"ready","protocol":1,"tasks":["t"]}\n' >&0
        echo $$ >> "$1"; while read -r frame; do :; done"#;
    let pool = scripts("idle", &["#"], sized(2, 2), script, &[log.to_str().expect("plain")]);
    let yard = Yard::builder().pool(pool).observed().start().expect("starts");
    let mut news = yard.observe();
    let ready = || -> Vec<u32> {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.lines().map(|pid| pid.parse().expect("a pid")).collect()
    };
    eventually("both are ready", async || ready().len() == 2).await;

    let killed = Instant::now();
    assert!(kill(ready()[0]));

    eventually("another is ready", async || ready().len() == 3).await;
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()));
    assert!(matches!(news.try_recv(), Err(TryRecvError::Empty)));
}

/// P24: both ways, with a retry policy that says once.
#[tokio::test]
async fn a_task_that_takes_its_process_with_it_is_lost_and_the_slot_is_back() {
    let gate = Gate::open();
    let yard = yard(&gate, sized(0, 1));
    let table = [(task("exit", 3), "exit status 3", "last words"), (bare("abort"), "signal 6 (SIGABRT)", "")];
    for (deadly, status, words) in table {
        let end = outcome(submit(&yard, deadly.retry(once())).await).await;
        let died = Instant::now();
        let (1, Failure::Lost(loss)) = failed(end) else { panic!("not lost once") };
        assert_eq!(loss.status, status);
        assert!(loss.output.trim_end().ends_with(words), "{}", loss.output);

        value(submit(&yard, task("echo", 1)).await).await;
        assert!(died.elapsed() < Duration::from_secs(1), "{:?}", died.elapsed());
    }
}

/// P23: whoever just ended a task may be killed for it, again and again.
#[tokio::test]
async fn ten_thousand_tasks_survive_the_death_of_their_workers() {
    const TASKS: usize = 10_000;
    let gate = Gate::open();
    let yard = yard(&gate, sized(3, 3));
    let tasks = (0..TASKS).map(|n| task("mark", n).retry(at_once(1_000)));
    let mut batch = submit_all(&yard, tasks).await;
    let (mut ended, mut killed, mut lost) = (BTreeSet::new(), BTreeSet::new(), 0);

    while let Some(end) = soon(batch.next()).await.expect("up") {
        let (pid, attempt): (u32, u64) =
            serde_json::from_value(read(&end.outcome.expect("remembered"))).expect("two numbers");
        assert!(ended.insert(end.id), "{} ended twice", end.id);
        lost += attempt - 1;
        if ended.len() % 100 == 0 && !killed.contains(&pid) && kill(pid) {
            killed.insert(pid);
        }
    }

    assert_eq!(ended.len(), TASKS);
    assert!(killed.len() >= 10, "only {} were killed", killed.len());
    assert!(lost <= killed.len() as u64, "{lost} tasks lost by {} deaths", killed.len());
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()));
}

const DISPATCHER: &str = "SCENARIO_DISPATCHER";

/// A process that embeds a yard, until it is killed. One worker waits for its task, one spins and is deaf, one idles, and
/// one is a foreign command that never looks at its connection.
#[test]
fn dispatcher_entry() {
    let Some(gate) = std::env::var_os(DISPATCHER).map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let script = r#"read -r hello; printf '{"type":"ready","protocol":1,"tasks":["t"]}\n' >&0
            echo $$ > "$1"; exec sleep 100000"#;
        let log = foreign_log(&gate);
        let foreign = scripts("foreign", &["t"], sized(1, 1), script, &[log.to_str().expect("plain")]);
        let yard = start([foreign, processes(&gate, "all", &["#"], sized(3, 3))]);
        outcomes(submit_all(&yard, ["a", "b", "c"].map(|tag| task("meet", tag))).await).await;
        let _busy = submit_all(&yard, [task("meet", "waits"), task("stubborn", "spins")]).await;
        yard.closed().await
    });
}

fn foreign_log(gate: &Path) -> PathBuf {
    gate.with_file_name("foreign")
}

/// P20.
#[tokio::test]
async fn all_workers_go_when_the_process_with_the_yard_is_killed() {
    let gate = Gate::open();
    let mut dispatcher = again("crashes::dispatcher_entry")
        .env(DISPATCHER, gate.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let three = gate.next_few(3).await;
    let mut pids: BTreeSet<_> = three.iter().map(|guest| guest.pid).collect();
    assert_eq!(pids.len(), 3);
    drop(three);
    let busy = gate.next_few(2).await;
    assert!(busy.iter().all(|guest| pids.contains(&guest.pid)), "the third one idles");
    let told = || std::fs::read_to_string(foreign_log(gate.path())).ok()?.trim().parse::<u32>().ok();
    eventually("the foreign one is ready", async || told().is_some()).await;
    pids.extend(told());
    assert_eq!(pids.len(), 4);

    dispatcher.kill().expect("it lives");
    let killed = Instant::now();

    for pid in pids {
        wait_gone(pid, Duration::from_secs(2).saturating_sub(killed.elapsed()));
    }
    dispatcher.wait().expect("reaped");
}
