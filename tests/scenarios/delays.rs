//! Due times: never early, seldom late, each once, on each board. The oracle is a log of starts that the test owns.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use taskyard::core::defaults::HORIZON;
use taskyard::core::new_task::NewTask;
use taskyard::core::pool::Settings;
use taskyard::core::time::{Timestamp, micros};
use taskyard::core::worker::WorkerEnd;
use taskyard::core::{TaskId, conductor};
use taskyard::registry::Registry;
use taskyard::testing::{TestYard, Toys};
use taskyard::{Builder, PoolSpec, StoreChoice, Yard};

use crate::common::soon;
use crate::rig::{OnDisk, inline, outcomes, read, sized, submit_all, task};

fn wall() -> Timestamp {
    Timestamp(micros(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")))
}

/// A start of the task whose argument is `number`.
#[derive(Clone, Copy)]
struct Start {
    number: usize,
    wall: Timestamp,
    mono: Instant,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Start>>>);

impl Log {
    /// A yard whose tasks `t` are logged.
    fn yard(&self, store: StoreChoice, horizon: Duration) -> Yard {
        let log = self.clone();
        let handler = move |args: serde_json::Value, _, _| {
            let (mono, wall) = (Instant::now(), wall());
            let number = args[0].as_u64().expect("a number") as usize;
            log.0.lock().expect("whole").push(Start { number, wall, mono });
            async { Ok(()) }
        };
        let registry = Registry::new().register_fn("t", handler).expect("one name");
        let settings = conductor::Settings { horizon, ..conductor::Settings::default() };
        let pool = inline("all", &["#"], registry, 1_000);
        Yard::builder().store(store).conductor(settings).pool(pool).start().expect("starts")
    }

    /// The starts by number; each of `count` tasks must have had exactly one.
    fn starts(&self, count: usize) -> Vec<Start> {
        let mut starts = std::mem::take(&mut *self.0.lock().expect("whole"));
        starts.sort_unstable_by_key(|start| start.number);
        assert!(starts.iter().map(|start| start.number).eq(0..count), "each starts exactly once");
        starts
    }
}

/// The five kinds of being due soon, and how long after its submit such a task is due.
fn due_soon(kind: usize, task: NewTask) -> (NewTask, Timestamp, Duration) {
    let now = wall();
    let ms = Duration::from_millis(1);
    match kind {
        0 => (task.eta(now - Duration::from_hours(1)), now, Duration::ZERO),
        1 => (task.eta(now), now, Duration::ZERO),
        2 => (task.eta(now + ms), now + ms, Duration::ZERO),
        3 => (task.delay(Duration::ZERO), now, Duration::ZERO),
        _ => (task.delay(500 * ms), now + 500 * ms, 500 * ms),
    }
}

/// How late a thousand tasks that are due soon start, in order of lateness. None is early.
async fn lateness(store: StoreChoice) -> Vec<i64> {
    const TASKS: usize = 1_000;
    let log = Log::default();
    let yard = log.yard(store, HORIZON);
    let (mut handles, mut dues) = (Vec::new(), Vec::new());
    for number in 0..TASKS {
        let (task, due, delay) = due_soon(number % 5, task("t", number));
        dues.push((due, Instant::now() + delay));
        handles.push(crate::rig::submit(&yard, task).await);
        if number % 100 == 99 {
            assert_eq!(soon(yard.counts()).await.expect("counted").parked, 0, "none is in the basket");
        }
    }
    for handle in handles {
        crate::rig::value(handle).await;
    }
    let starts = log.starts(TASKS).into_iter().zip(dues);
    let mut late: Vec<_> = starts
        .map(|(start, (wall, mono))| {
            // A delay is counted on the monotonic clock, an absolute time on the other one.
            assert!(if start.number % 5 < 3 { start.wall >= wall } else { start.mono >= mono }, "early");
            start.wall.since(wall)
        })
        .collect();
    late.sort_unstable();
    late
}

/// How late this machine wakes a thread that wants nothing else, until the sender is gone; in order of lateness.
fn bare_lateness(until: &Receiver<()>) -> Vec<i64> {
    let (mut late, nap) = (Vec::new(), Duration::from_millis(1));
    loop {
        let begun = Instant::now();
        if until.recv_timeout(nap) == Err(RecvTimeoutError::Disconnected) {
            late.sort_unstable();
            return late;
        }
        late.push(micros(begun.elapsed().saturating_sub(nap)));
    }
}

fn p99(late: &[i64]) -> i64 {
    late[late.len() * 99 / 100]
}

/// On time in one of ten runs, since others use the machine as well; early in none. Seen: with three of all these tests at once
/// no run was on time, by a millisecond; so what the machine itself is late does not count, for each of so many wake-ups.
async fn is_on_time(wakeups: i64, store: impl Fn(usize) -> StoreChoice) {
    let mut seen = Vec::new();
    while seen.last().is_none_or(|(yard, machine)| yard - wakeups * machine >= 10_000) {
        assert!(seen.len() < 10, "the p99 of each run, of the yard and of the machine, in us: {seen:?}");
        let (stop, stopped) = channel();
        let machine = thread::spawn(move || bare_lateness(&stopped));
        let yard = p99(&lateness(store(seen.len())).await);
        drop(stop);
        seen.push((yard, p99(&machine.join().expect("no panic"))));
    }
}

/// D1.
#[tokio::test]
async fn what_is_due_soon_starts_on_time_and_stays_out_of_the_basket() {
    is_on_time(1, |_| StoreChoice::memory()).await;
}

/// D1, on a board on disk: a submit wakes the yard, its store, the yard again and the pool.
#[tokio::test]
async fn on_disk_what_is_due_soon_starts_on_time_and_stays_out_of_the_basket() {
    let disk = OnDisk::new();
    is_on_time(4, |run| disk.store(&format!("{run}.db"))).await;
}

/// Tasks that are due at random within some seconds.
async fn none_is_early(store: StoreChoice, horizon: Duration, tasks: usize, within: Duration) {
    let log = Log::default();
    let yard = log.yard(store, horizon);
    let begin = wall();
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % micros(within) as u64
    };
    let dues: Vec<_> = (0..tasks).map(|_| begin + Duration::from_micros(random())).collect();
    let batch = submit_all(&yard, dues.iter().enumerate().map(|(n, due)| task("t", n).eta(*due))).await;

    outcomes(batch).await.iter().for_each(|outcome| assert!(read(outcome).is_null()));

    let starts = log.starts(tasks);
    let earliest = starts.iter().zip(&dues).map(|(start, due)| start.wall.since(*due)).min();
    assert!(earliest >= Some(0), "{earliest:?} us");
}

/// D2: most of them by way of the basket.
#[tokio::test]
async fn ten_thousand_random_due_times_are_never_early() {
    none_is_early(StoreChoice::memory(), HORIZON, 10_000, Duration::from_secs(5)).await;
}

/// D2, on a board on disk: fewer, as many a second.
#[tokio::test]
async fn on_disk_random_due_times_are_never_early() {
    let (disk, horizon) = (OnDisk::new(), Duration::from_millis(400));
    none_is_early(disk.store("tasks.db"), horizon, 4_000, Duration::from_secs(2)).await;
}

pub(crate) const MIDNIGHT: Timestamp = Timestamp(1_800_000_000_000_000);

/// A yard at such a time, whose tasks end by hand: so many workers with so many at once. It has begun: what is near is kept in
/// the yard and not on the board.
pub(crate) async fn by_hand(builder: Builder, wall: Timestamp, workers: u32, each: u32) -> (TestYard, Toys) {
    let names = vec!["t".parse().expect("valid")];
    let toys = Toys::by_hand(each, names.clone());
    let launcher = {
        let toys = toys.clone();
        move || toys.launcher()
    };
    let pool = PoolSpec {
        name: "all".into(),
        patterns: vec!["#".parse().expect("valid")],
        settings: Settings { names: Some(names), concurrency: each, ..sized(workers, workers) },
        launcher: Box::new(launcher),
    };
    let test = TestYard::start(builder.pool(pool), wall).expect("starts");
    soon(test.quiet()).await;
    (test, toys)
}

/// Ends what runs, one by one, and says in which order it began; never more than four run.
async fn run_off(test: &TestYard, toys: &Toys, in_order: &[TaskId]) {
    for (done, id) in in_order.iter().enumerate() {
        let mut running = toys.running();
        running.sort_unstable_by_key(|id| in_order.iter().position(|other| other == id));
        assert_eq!(running, in_order[done..in_order.len().min(done + 4)], "after {done}");
        toys.finish(*id, WorkerEnd::Succeeded("null".into()));
        soon(test.quiet()).await;
    }
}

/// With no time passing meanwhile, so "within a second" is at once. Seen: what came from the basket overtook what was near,
/// which the Delayer held and had not looked at since the step.
async fn a_step_keeps_the_order(store: StoreChoice) {
    let (test, toys) = by_hand(Yard::builder().store(store), MIDNIGHT, 1, 4).await;
    let minutes = |n: u64| Duration::from_mins(n);
    let relative = submit_all(test.yard(), [task("t", "relative").delay(Duration::from_millis(1_500))]).await;
    // 7 and 50 share no factor, so each number comes once, in disorder. Ten are near, the others in the basket.
    let order = (0..50).map(|n| n * 7 % 50 + 1);
    let due = |n: u64| MIDNIGHT + if n <= 10 { Duration::from_millis(n * 100) } else { minutes(n) };
    let absolute = submit_all(test.yard(), order.clone().map(|n| task("t", n).eta(due(n)))).await;
    let later = submit_all(test.yard(), [task("t", "later").eta(MIDNIGHT + minutes(61))]).await;
    let mut by_due: Vec<_> = order.zip(absolute.ids().iter().copied()).collect();
    by_due.sort_unstable();
    let by_due: Vec<_> = by_due.into_iter().map(|(_, id)| id).collect();
    soon(test.quiet()).await;
    assert!(toys.running().is_empty());

    soon(test.step_wall(MIDNIGHT + minutes(60))).await;

    run_off(&test, &toys, &by_due).await;
    assert!(toys.running().is_empty(), "neither the relative one nor what is due later");
    soon(test.advance(Duration::from_micros(1_499_999))).await;
    assert!(toys.running().is_empty(), "not shortened");
    soon(test.advance(Duration::from_micros(1))).await;
    run_off(&test, &toys, relative.ids()).await;
    soon(test.advance(minutes(1))).await;
    run_off(&test, &toys, later.ids()).await;
    assert_eq!(outcomes(absolute).await.len(), 50);
}

/// D3.
#[tokio::test]
async fn what_is_due_by_a_stepped_clock_runs_once_in_order_and_relative_delays_are_kept() {
    a_step_keeps_the_order(StoreChoice::memory()).await;
}

/// D3, on a board on disk.
#[tokio::test]
async fn on_disk_what_is_due_by_a_stepped_clock_runs_once_in_order() {
    let disk = OnDisk::new();
    a_step_keeps_the_order(disk.store("tasks.db")).await;
}
