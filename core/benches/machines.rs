//! What the machines cost without actors: `cargo bench -p taskyard-core --bench machines`.
//!
//! Prints tasks a second from submit to outcome through all machines on the wiring, and what a task costs with few and
//! with many held, as ratios of the same run.

mod local;

use std::sync::Arc;
use std::time::{Duration, Instant};

use local::{Local, lane, task};
use taskyard_core::conductor::{Event, Submission};
use taskyard_core::delayer::{self, Delayer};
use taskyard_core::dispatch::{Dispatch, Order};
use taskyard_core::live::Live;
use taskyard_core::task::{Due, DueAt, Key, KeyLimits, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Machine as _, Now};

/// As in the supervisor.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 256;
const PROBES: usize = 20 * BATCH;

fn submission(tasks: Vec<Arc<Task>>) -> Event {
    Event::Submit(Submission { tasks, reply: 1, watch: Some(2), inside: false, batch: None })
}

/// Tasks a second from submit to outcome. Each batch is made right before it is submitted, outside of the time taken.
fn pipeline(batches: usize) -> f64 {
    let mut yard = Local::new(BATCH as u32);
    let lane = lane();
    let mut spent = Duration::ZERO;
    for batch in 0..batches {
        let tasks = (0..BATCH).map(|n| task(&lane, (batch * BATCH + n) as u64, |_| {})).collect();
        let start = Instant::now();
        yard.tell(submission(tasks));
        spent += start.elapsed();
    }
    assert_eq!(yard.outcomes, batches * BATCH);
    (batches * BATCH) as f64 / spent.as_secs_f64()
}

/// Nanoseconds a task for what `change` makes of it, with `held` such tasks held already.
fn held(held: usize, probes: usize, change: impl Fn(u64, &mut Task)) -> f64 {
    let mut yard = Local::new(1);
    let lane = lane();
    let make = |from: usize, count: usize| -> Vec<Arc<Task>> {
        (from..from + count).map(|n| task(&lane, n as u64, |task| change(n as u64, task))).collect()
    };
    for from in (0..held).step_by(BATCH) {
        yard.tell(submission(make(from, BATCH.min(held - from))));
    }
    let batches: Vec<_> = (0..probes / BATCH).map(|batch| make(held + batch * BATCH, BATCH)).collect();
    let start = Instant::now();
    for batch in batches {
        yard.tell(submission(batch));
    }
    start.elapsed().as_nanos() as f64 / probes as f64
}

/// Nanoseconds for the Delayer to take in a dispatch and to let it go, with `held` others held.
fn delayer_alone(held: usize) -> f64 {
    let lane = lane();
    let mut delayer = Delayer::default();
    let mut effects = Vec::new();
    let dispatch = |n: u64, due: i64| {
        let live = Arc::new(Live::new(task(&lane, n, |_| {}), n, Timestamp(0), 1, 1));
        let order = Order { rank: 0, sequence: n };
        delayer::Event::Dispatch(Box::new(Dispatch {
            live,
            order,
            due: DueAt::Mono(Instant64(due)),
            judged: false,
        }))
    };
    let now = |mono| Now { mono: Instant64(mono), wall: Timestamp(0) };
    for n in 0..held as u64 {
        delayer.handle(
            now(0),
            dispatch(n, 1_000_000 + i64::try_from(n * 7_919 % 1_000_000).unwrap_or(0)),
            &mut effects,
        );
    }
    let probes: Vec<_> =
        (0..PROBES as u64).map(|n| dispatch(held as u64 + n, 1 + (n as i64 % 1_000))).collect();
    let start = Instant::now();
    for probe in probes {
        delayer.handle(now(0), probe, &mut effects);
    }
    delayer.wake(now(1_000), &mut effects);
    let spent = start.elapsed();
    assert_eq!(effects.len(), 2 * PROBES);
    spent.as_nanos() as f64 / PROBES as f64
}

fn compare(what: &str, few: usize, many: usize, change: impl Fn(u64, &mut Task)) {
    show(what, few, many, |count| held(count, PROBES, &change));
}

fn show(what: &str, few: usize, many: usize, cost: impl Fn(usize) -> f64) {
    let median = |count: usize| {
        let mut runs: Vec<f64> = (0..5).map(|_| cost(count)).collect();
        runs.sort_by(f64::total_cmp);
        runs[2]
    };
    let (small, large) = (median(few), median(many));
    println!(
        "{what:<42} {few:>6} held {small:>6.0} ns   {many:>8} held {large:>6.0} ns   ratio {:.2}",
        large / small
    );
}

/// `pipeline BATCHES`: one run of so many batches and nothing else, for a profiler.
fn only_pipeline() -> Option<usize> {
    let mut args = std::env::args().skip_while(|arg| arg != "pipeline").skip(1);
    args.next()?.parse().ok()
}

fn main() {
    if let Some(batches) = only_pipeline() {
        println!("{:.2} million tasks a second", pipeline(batches) / 1e6);
        return;
    }
    let mut rates: Vec<f64> = (0..5).map(|_| pipeline(2_000)).collect();
    rates.sort_by(f64::total_cmp);
    println!("submit to outcome, all machines: {:.2} million tasks a second (median of 5)", rates[2] / 1e6);
    compare("parked on the board", 1_000, 1_000_000, |n, task| {
        task.due = Due::In(Duration::from_secs(1_000 + n % 100_000));
    });
    show("held by the Delayer (the machine alone)", 1_000, 1_000_000, delayer_alone);
    compare("serial, each with a key of its own", 1_000, 100_000, |n, task| {
        task.key = Some(Key(u128::from(n)));
        task.limits = KeyLimits::SERIAL;
    });
    compare("serial, all with one key", 1_000, 100_000, |_, task| {
        task.key = Some(Key(7));
        task.limits = KeyLimits::SERIAL;
    });
    compare("queued", 1_000, 100_000, |_, _| {});
}
