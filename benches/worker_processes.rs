//! How fast tasks pass through worker processes, driven through `Launcher` and `Link` alone, and how soon a handler starts.
//!
//! `cargo bench --bench worker_processes`; without `--bench` it only shows that it runs.

use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use taskyard::context::NoCalls;
use taskyard::process::{LauncherThread, ProcessLauncher, ProcessSettings, Program};
use taskyard::registry::Registry;
use taskyard_actors::testing::live;
use taskyard_actors::{Launcher as _, Link, Reports};
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::worker::{Command, Report, WorkerEnd};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const WORKERS: usize = 4;
const AHEAD: usize = 64;

type Reported = UnboundedReceiver<(usize, Vec<Report>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new()
        .register_fn("nothing", |_, _, _| async { Ok(()) })?
        .register_fn("when", |_, _, _| async { Ok(micros_now()) })?;
    taskyard::worker::run_if_worker(&registry);
    let tasks = if std::env::args().any(|arg| arg == "--bench") { 1_000_000 } else { 1_000 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        throughput(tasks).await?;
        latency(tasks / 500).await
    })
}

async fn throughput(tasks: usize) -> Result<(), Box<dyn Error>> {
    let (mut links, mut reported) = launch(WORKERS).await?;
    let (began, sent, mut done) = (Instant::now(), Cell::new(0), 0);
    let fill = |link: &mut Box<dyn Link>, room: usize| {
        for _ in 0..room.min(tasks - sent.get()) {
            sent.set(sent.get() + 1);
            link.tell(Command::Run { live: live(sent.get() as u128, "nothing", "", ""), timeout: None });
        }
        link.flush();
    };
    for link in &mut links {
        fill(link, AHEAD + 1);
    }
    while done < tasks {
        let (worker, reports) = reported.recv().await.ok_or("no reports")?;
        let ended = reports.iter().filter(|report| matches!(report, Report::Done { .. })).count();
        done += ended;
        fill(&mut links[worker], ended);
    }
    let rate = done as f64 / began.elapsed().as_secs_f64();
    println!("{WORKERS} workers, {AHEAD} ahead: {rate:.0} tasks a second");
    Ok(())
}

async fn latency(tasks: usize) -> Result<(), Box<dyn Error>> {
    let (mut links, mut reported) = launch(1).await?;
    let (mut starts, mut rounds) = (Vec::new(), Vec::new());
    for id in 0..tasks {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let (began, sent) = (Instant::now(), micros_now());
        links[0].tell(Command::Run { live: live(id as u128, "when", "", ""), timeout: None });
        links[0].flush();
        let started = loop {
            let (_, reports) = reported.recv().await.ok_or("no reports")?;
            if let Some(Report::Done { end: WorkerEnd::Succeeded(value), .. }) = reports.last() {
                break value.parse::<u64>()?;
            }
        };
        rounds.push(began.elapsed().as_micros() as u64);
        starts.push(started.saturating_sub(sent));
    }
    for (what, mut spans) in [("write to handler", starts), ("write to end", rounds)] {
        spans.sort_unstable();
        let at = |part: usize| spans.get(spans.len() * part / 100).copied().unwrap_or_default();
        println!("idle, {what}: median {} µs, 99th percentile {} µs", at(50), at(99));
    }
    Ok(())
}

async fn launch(workers: usize) -> Result<(Vec<Box<dyn Link>>, Reported), Box<dyn Error>> {
    let settings = ProcessSettings::new("bench", Program::OwnBinary);
    let mut launcher = ProcessLauncher::new(settings, LauncherThread::start()?, Arc::new(NoCalls));
    let (sender, mut reported) = unbounded_channel();
    let mut start = |number: usize| {
        let sender = sender.clone();
        let reports = Reports::new(move |reports| drop(sender.send((number, reports))));
        launcher.launch(WorkerId { pool: PoolId(0), number: number as u32 + 1 }, "bench", reports)
    };
    let links = (0..workers).map(&mut start).collect();
    for _ in 0..workers {
        reported.recv().await.ok_or("no worker")?;
    }
    Ok((links, reported))
}

fn micros_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}
