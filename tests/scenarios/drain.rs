//! The end of a yard: what runs may finish, what waits is listed, nobody stays behind.

use std::time::{Duration, Instant};

use taskyard::core::TaskId;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::pool::Settings;
use taskyard::core::task::KeyLimits;
use taskyard::{BatchHandle, Closed, NotTaken, Yard};

use crate::common::soon;
use crate::gate::{Gate, Guest};
use crate::os::wait_gone;
use crate::rig::{built, eventually, read, sized, submit_all, task, yard};

/// One task runs; three are queued, two delayed, and two blocked by the one that runs.
async fn eight(gate: &Gate, name: &str, settings: Settings) -> (Yard, Guest, BatchHandle, Vec<TaskId>) {
    let yard = yard(gate, settings);
    let serial = |name: &str, tag: &str| task(name, tag).key("k").on_duplicate(KeyLimits::SERIAL);
    let running = submit_all(&yard, [serial(name, "runs")]).await;
    let guest = gate.next().await;
    let soon_due = task("meet", "near").delay(Duration::from_millis(1_900));
    let far = task("meet", "far").delay(Duration::from_hours(1));
    let waiting = [serial("meet", "blocked"), serial("meet", "behind"), soon_due, far]
        .into_iter()
        .chain((0..3).map(|n| task("meet", n)));
    let mut ids = submit_all(&yard, waiting).await.ids().to_vec();
    ids.sort_unstable();
    (yard, guest, running, ids)
}

fn drain(yard: &Yard) -> tokio::task::JoinHandle<Vec<TaskId>> {
    let yard = yard.clone();
    tokio::spawn(async move {
        let mut left = yard.drain().await.expect("drained");
        left.sort_unstable();
        left
    })
}

/// P18: within the grace.
#[tokio::test]
async fn a_drain_lets_the_running_task_finish_and_lists_the_seven_others() {
    let gate = Gate::open();
    let (yard, guest, mut running, waiting) = eight(&gate, "meet", sized(0, 1)).await;

    let draining = drain(&yard);
    eventually("the drain is under way", async || {
        let refused = soon(yard.submit_task(built(task("echo", 0)))).await.err();
        refused.is_some_and(|error| error.why == NotTaken::Refused(SubmitRefusal::Draining))
    })
    .await;
    let (pid, released) = (guest.pid, Instant::now());
    guest.release();

    let left = soon(draining).await.expect("no panic");
    assert_eq!(soon(yard.closed()).await, Closed::Drained);
    assert!(released.elapsed() < Duration::from_secs(2), "{:?}", released.elapsed());
    let end = soon(running.next()).await.expect("told before the end").expect("one");
    assert_eq!(read(&end.outcome.expect("remembered")), pid);
    assert_eq!(left.iter().filter(|id| waiting.contains(id)).count(), 7);
    wait_gone(pid, Duration::ZERO);
}

/// P18: beyond the grace it is made to end, deaf as it is, and listed with the others.
#[tokio::test]
async fn a_task_that_outlasts_the_grace_is_killed_and_given_back() {
    let gate = Gate::open();
    let drain_grace = Duration::from_millis(300);
    let settings = Settings { drain_grace, ..sized(0, 1) };
    let (yard, guest, running, mut all) = eight(&gate, "stubborn", settings).await;

    let began = Instant::now();
    let left = soon(drain(&yard)).await.expect("no panic");
    soon(yard.closed()).await;

    let took = began.elapsed();
    assert!(took >= drain_grace && took < drain_grace + Duration::from_secs(2), "{took:?}");
    all.extend(running.ids());
    all.sort_unstable();
    assert_eq!(left, all);
    wait_gone(guest.pid, Duration::ZERO);
}
