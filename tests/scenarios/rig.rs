//! How the scenarios set up their yards, submit, and wait.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::to_raw_value;
use taskyard::context::{Calls, NoCalls};
use taskyard::core::TaskId;
use taskyard::core::dispatch::{Failure, Outcome, Trash};
use taskyard::core::new_task::NewTask;
use taskyard::core::pool::Settings;
use taskyard::core::task::{Retry, Task};
use taskyard::inline::InlineLauncher;
use taskyard::process::{LauncherThread, ProcessLauncher, ProcessSettings, Program};
use taskyard::registry::{Options, Registry};
use taskyard::store::Durability;
use taskyard::{BatchHandle, PoolSpec, StoreChoice, TaskHandle, Yard};

use crate::common::soon;
use crate::gate::{Gate, Scratch};
use crate::handlers;

/// A pool that says nothing more of itself: impatient, so that the tests are quick.
pub(crate) fn sized(min: u32, max: u32) -> Settings {
    Settings {
        min,
        max,
        names: Some(handlers::registry().names().cloned().collect()),
        grace: Duration::from_millis(200),
        kill_after: Duration::from_millis(300),
        ..Settings::default()
    }
}

/// A yard with one pool of worker processes that takes everything.
pub(crate) fn yard(gate: &Gate, settings: Settings) -> Yard {
    start([processes(gate.path(), "all", &["#"], settings)])
}

pub(crate) fn start(pools: impl IntoIterator<Item = PoolSpec>) -> Yard {
    pools.into_iter().fold(Yard::builder(), taskyard::Builder::pool).start().expect("starts")
}

/// A folder for boards, which must not be kept from a loss of power at the cost of a test's speed.
pub(crate) struct OnDisk(Scratch);

impl OnDisk {
    pub(crate) fn new() -> Self {
        Self(Scratch::new())
    }

    /// The board in a file of this name.
    pub(crate) fn store(&self, name: &str) -> StoreChoice {
        StoreChoice::sqlite(self.0.path().join(name)).durability(Durability::Normal)
    }
}

/// A pool of processes of this binary.
pub(crate) fn processes(gate: &Path, name: &str, patterns: &[&str], settings: Settings) -> PoolSpec {
    calling(gate, name, patterns, settings, Arc::new(NoCalls))
}

/// The same, whose tasks may ask for something.
pub(crate) fn calling(
    gate: &Path,
    name: &str,
    patterns: &[&str],
    settings: Settings,
    calls: Arc<dyn Calls>,
) -> PoolSpec {
    let mut process = own_binary(name);
    process.env.push((handlers::GATE.into(), gate.to_str().expect("plain").into()));
    launched(name, patterns, settings, process, calls)
}

/// A pool of shell scripts, each started with `args` as `$1` and so on. Its names are learned.
pub(crate) fn scripts(
    name: &str,
    patterns: &[&str],
    settings: Settings,
    script: &str,
    args: &[&str],
) -> PoolSpec {
    let args = ["-c", script, "sh"].iter().chain(args).copied().map(String::from).collect();
    let program = Program::Command { program: "/bin/sh".into(), args };
    commands(name, patterns, settings, program)
}

/// A pool of foreign commands. Its names are learned.
pub(crate) fn commands(name: &str, patterns: &[&str], settings: Settings, program: Program) -> PoolSpec {
    let process = ProcessSettings { program, ..own_binary(name) };
    launched(name, patterns, Settings { names: None, ..settings }, process, Arc::new(NoCalls))
}

/// A pool of async handlers in this process, `concurrency` at once.
pub(crate) fn inline(name: &str, patterns: &[&str], registry: Registry, concurrency: u32) -> PoolSpec {
    let settings = Settings {
        min: 1,
        max: 1,
        names: Some(registry.names().cloned().collect()),
        concurrency,
        ..Settings::default()
    };
    let options = Options { concurrency, ahead: 0 };
    let launcher = move || Box::new(InlineLauncher::new(registry, options, Arc::new(NoCalls))) as _;
    PoolSpec { name: name.into(), patterns: parsed(patterns), settings, launcher: Box::new(launcher) }
}

fn own_binary(pool: &str) -> ProcessSettings {
    let mut process = ProcessSettings::new(pool, Program::OwnBinary);
    process.worker_args = ["--exact", "worker_entry", "--nocapture"].map(String::from).into();
    process.env = vec![(handlers::POOL.into(), pool.into())];
    process
}

fn launched(
    name: &str,
    patterns: &[&str],
    settings: Settings,
    process: ProcessSettings,
    calls: Arc<dyn Calls>,
) -> PoolSpec {
    let thread = LauncherThread::start().expect("starts");
    let launcher = move || Box::new(ProcessLauncher::new(process, thread, calls)) as _;
    PoolSpec { name: name.into(), patterns: parsed(patterns), settings, launcher: Box::new(launcher) }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(texts: &[&str]) -> Vec<T> {
    texts.iter().map(|text| text.parse().expect("valid")).collect()
}

/// A task whose only argument is `argument`.
pub(crate) fn task(name: &str, argument: impl Into<Value>) -> NewTask {
    NewTask::new(name.parse().expect("valid"), to_raw_value(&[argument.into()]).ok(), None)
}

/// A task without arguments.
pub(crate) fn bare(name: &str) -> NewTask {
    NewTask::new(name.parse().expect("valid"), None, None)
}

pub(crate) fn built(task: NewTask) -> Arc<Task> {
    static IDS: AtomicU64 = AtomicU64::new(1);
    Arc::new(task.build(TaskId(IDS.fetch_add(1, Ordering::Relaxed).into())).expect("within bounds"))
}

pub(crate) async fn submit(yard: &Yard, task: NewTask) -> TaskHandle {
    soon(yard.submit_task(built(task))).await.expect("taken")
}

pub(crate) async fn submit_all(yard: &Yard, tasks: impl IntoIterator<Item = NewTask>) -> BatchHandle {
    let submitted = soon(yard.submit_tasks(tasks.into_iter().map(built).collect())).await;
    assert!(submitted.answers.iter().all(Result::is_ok), "all are taken");
    submitted.batch
}

pub(crate) async fn outcome(mut handle: TaskHandle) -> Outcome {
    soon(handle.outcome()).await.expect("known")
}

/// What the task gave back.
pub(crate) async fn value(handle: TaskHandle) -> Value {
    read(&outcome(handle).await)
}

pub(crate) fn read(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Succeeded(json) => serde_json::from_str(json).expect("JSON"),
        other => panic!("it did not succeed: {other:?}"),
    }
}

/// All outcomes, in the order of submission.
pub(crate) async fn outcomes(batch: BatchHandle) -> Vec<Outcome> {
    let ids = batch.ids().to_vec();
    let ended = soon(batch.outcomes()).await.expect("up");
    assert_eq!(ended.len(), ids.len(), "each ends once");
    let mut by_id: BTreeMap<_, _> = ended.into_iter().map(|ended| (ended.id, ended.outcome)).collect();
    ids.iter().map(|id| by_id.remove(id).flatten().expect("ended and remembered")).collect()
}

pub(crate) async fn values(batch: BatchHandle) -> Vec<Value> {
    outcomes(batch).await.iter().map(read).collect()
}

/// How a task failed for good, and after how many attempts.
pub(crate) fn failed(outcome: Outcome) -> (u32, Failure) {
    match outcome {
        Outcome::Trashed(Trash::Exhausted { attempts, last }) => (attempts, last),
        Outcome::Trashed(Trash::Refused(failure)) => (1, failure),
        other => panic!("it did not fail: {other:?}"),
    }
}

pub(crate) fn once() -> Retry {
    at_once(1)
}

/// So many attempts without a pause.
pub(crate) fn at_once(max_attempts: u32) -> Retry {
    Retry { max_attempts, initial: Duration::ZERO, factor: 1.0, max: Duration::ZERO, jitter: 0.0 }
}

/// Waits until something holds that nobody tells. The one place where a test looks again and again.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "not within twenty seconds: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Runs a test in a process of its own, whose memory and descriptors nobody else uses. `name` is the test's own.
pub(crate) fn alone(name: &str, test: impl Future<Output = ()>) {
    const VARIABLE: &str = "SCENARIO_ALONE";
    if std::env::var(VARIABLE).is_ok_and(|alone| alone == name) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        return runtime.block_on(test);
    }
    let status = again(name).env(VARIABLE, name).status().expect("starts");
    assert!(status.success(), "{name}: {status}");
}

/// This binary again, for the test `name` alone.
pub(crate) fn again(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("known"));
    command.args(["--exact", name, "--nocapture"]);
    command
}
