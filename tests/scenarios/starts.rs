//! Workers that do not come to be: retries back off, nothing piles up, other pools do not notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use taskyard::core::id::WorkerId;
use taskyard::core::pool::Settings;
use taskyard::core::store::RowState;
use taskyard::core::time::Timestamp;
use taskyard::process::Program;
use taskyard::testing::TestYard;
use taskyard::{PoolSpec, Yard};
use taskyard_actors::{Launcher, Link, Reports};

use crate::common::soon;
use crate::gate::Gate;
use crate::rig::{alone, commands, eventually, processes, scripts, sized, start, submit, task, value};

/// Counts how often a worker is started.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

struct Counting {
    count: Count,
    launcher: Box<dyn Launcher>,
}

impl Launcher for Counting {
    fn launch(&mut self, worker: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        self.count.0.fetch_add(1, Ordering::Relaxed);
        self.launcher.launch(worker, name, reports)
    }
}

impl Count {
    fn of(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn watch(&self, mut pool: PoolSpec) -> PoolSpec {
        let count = self.clone();
        let launcher = pool.launcher;
        pool.launcher = Box::new(|| Box::new(Counting { count, launcher: launcher() }));
        pool
    }
}

/// Patient: a clock that flies is no reason to kill what is about to fail anyway.
fn patient() -> Settings {
    Settings { ready_within: Duration::from_hours(1_000), ..sized(1, 4) }
}

fn missing() -> PoolSpec {
    let program = Program::Command { program: "no-such-worker".into(), args: Vec::new() };
    commands("missing", &["missing"], patient(), program)
}

fn leaving() -> PoolSpec {
    scripts("leaving", &["leaving"], patient(), "exit 9", &[])
}

fn good(gate: &Gate) -> PoolSpec {
    processes(gate.path(), "good", &["good"], sized(1, 1))
}

async fn works(yard: &Yard) {
    let good = task("echo", 1).namespace("good".parse().expect("valid"));
    assert_eq!(value(submit(yard, good).await).await, 1);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("there").count()
}

/// P22: time flies, so that a hundred starts are tried; the processes are real.
#[test]
fn a_hundred_failed_starts_leave_nothing_behind() {
    alone("starts::a_hundred_failed_starts_leave_nothing_behind", async {
        let gate = Gate::open();
        let (no_command, no_stay) = (Count::default(), Count::default());
        let pools = [no_command.watch(missing()), no_stay.watch(leaving()), good(&gate)];
        let builder = pools.into_iter().fold(Yard::builder(), taskyard::Builder::pool);
        let test = TestYard::start(builder, Timestamp(0)).expect("starts");
        let yard = test.yard();
        let waiting = ["missing", "leaving"];
        let waiting = waiting.map(|pool| task("t", 0).namespace(pool.parse().expect("valid")));
        let waiting = crate::rig::submit_all(yard, waiting).await;

        // Before time flies, so that it does not seem to take for ever to get ready.
        works(yard).await;
        let before = open_files();

        for round in 1..=10 {
            eventually("ten more starts of each", async || {
                soon(test.advance(Duration::from_secs(31))).await;
                no_command.of().min(no_stay.of()) >= 10 * round
            })
            .await;
            works(yard).await;
        }

        // The clock stands, so that no more starts are tried.
        eventually("all is let go of", async || open_files() <= before).await;
        for id in waiting.ids() {
            let task = soon(yard.get(*id)).await.expect("answered").expect("known");
            assert!(task.attempts == 0 && task.state == RowState::Ready, "{task:?}");
        }
    });
}

/// P22: each pause is twice the one before, by the real clock.
#[tokio::test]
async fn failed_starts_back_off() {
    let gate = Gate::open();
    for pool in [missing(), leaving()] {
        let count = Count::default();
        let begun = Instant::now();
        let yard = start([count.watch(pool), good(&gate)]);
        works(&yard).await;
        eventually("four starts", async || count.of() >= 4).await;
        let pauses = Duration::from_millis(100 + 200 + 400);
        assert!(begun.elapsed() >= pauses, "{:?} for {} starts", begun.elapsed(), count.of());
        works(&yard).await;
    }
}
