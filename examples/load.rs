//! The load generator: how many no-op tasks a second a yard passes, how soon they start, and what memory that takes.
//!
//! ```text
//! cargo run --release --example load -- --pool process --workers 4              as many as it can
//! cargo run --release --example load -- --pool process --ahead 0                the same without sending ahead
//! cargo run --release --example load -- --rate 20000 --tasks 200000             at a fixed rate, whatever comes back
//! cargo run --release --example load -- --idle --tasks 2000                     one at a time, with pauses
//! cargo run --release --example load -- --delayed 1000000 --payload 100         the memory of tasks that wait
//! cargo run --release --example load -- --store sqlite:/tmp/load.db --pool inline --submitters 64
//! cargo run --release --example load -- --store sqlite:/tmp/load.db --delayed 10000000 --payload 240 --over 31536000
//! cargo run --release --example load -- --store sqlite:/tmp/load.db --burst 1000000     all due at one instant
//! cargo run --release --example load -- --store sqlite:/tmp/load.db --overdue 100000    due while nobody was there
//! cargo run --release --example load -- --store sqlite:/tmp/load.db --due 1000 --tasks 10000   so many due a second
//! ```
//!
//! The wall clock is read at submit, by the handler when it starts (which is what it gives back), and when the outcome is
//! there: all on one machine, so that the differences hold across processes.

#[path = "load/awaited.rs"]
mod awaited;
#[path = "load/basket.rs"]
mod basket;
#[path = "load/cli.rs"]
mod cli;
#[path = "load/delayed.rs"]
mod delayed;
#[path = "load/flood.rs"]
mod flood;
#[path = "load/handler.rs"]
mod handler;
#[path = "load/host.rs"]
mod host;
#[path = "load/idle.rs"]
mod idle;
#[path = "load/overdue.rs"]
mod overdue;
#[path = "load/report.rs"]
mod report;
#[path = "load/spans.rs"]
mod spans;
#[path = "load/tally.rs"]
mod tally;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser as _;
use taskyard::core::board;
use taskyard::core::status::State;
use taskyard::registry::Registry;
use taskyard::{Yard, worker};

use cli::{Cli, Kind};
use host::Host;
use report::Report;

/// A task is made by one thread and freed by another: an allocator that is made for that is worth a fifth of the speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let registry = Registry::new().register::<handler::Nothing>()?;
    worker::run_if_worker(&registry);
    let cli = Cli::parse();
    // As an application on actix has it. On a bare current-thread runtime each answer costs a system call of its own.
    let report = actix::System::new().block_on(run(&cli, registry))?;
    report.print(cli.json);
    Ok(())
}

async fn run(cli: &Cli, registry: Registry) -> anyhow::Result<Report> {
    if let Some(tasks) = cli.overdue {
        anyhow::ensure!(cli.store().is_durable(), "tasks in memory do not wait for another yard");
        let start = || start(cli, registry.clone());
        let (yard, first_start) = overdue::run(tasks, cli.payload, start).await?;
        yard.drain().await.context("the yard did not drain")?;
        return Ok(Report::overdue(cli, tasks, first_start));
    }
    let yard = start(cli, registry)?;
    let report = match cli.delayed {
        Some(tasks) => Report::delayed(cli, delayed::run(&yard, cli, tasks).await?),
        None => measure(cli, &yard).await?,
    };
    // A million parked tasks are dropped faster than they are listed.
    if cli.delayed.is_none() || cli.store().is_durable() {
        yard.drain().await.context("the yard did not drain")?;
    }
    Ok(report)
}

fn start(cli: &Cli, registry: Registry) -> anyhow::Result<Yard> {
    let room = cli.delayed.unwrap_or(cli.tasks) + cli.batch;
    let board = board::Settings { board_max: room, ..board::Settings::default() };
    let yard = Yard::builder().registry(registry).pool(cli.pool()).store(cli.store());
    // What waits on disk needs no room in memory.
    Ok(if cli.store().is_durable() { yard.start()? } else { yard.board(board).start()? })
}

/// Runs the load once all workers are there and warm.
async fn measure(cli: &Cli, yard: &Yard) -> anyhow::Result<Report> {
    ready(cli, yard).await?;
    flood::closed(yard, &cli.with_tasks(cli.warm_up)).await?;
    let host = Host::look()?;
    let began = Instant::now();
    if let Some(tasks) = cli.burst {
        return Ok(Report::basket(cli, basket::burst(yard, cli, tasks).await?));
    }
    if let Some(rate) = cli.due {
        return Ok(Report::basket(cli, basket::due(yard, cli, rate).await?));
    }
    if let Some(submitters) = cli.submitters {
        let tally = awaited::run(yard, cli, submitters).await?;
        return Ok(Report::load(cli, tally, began.elapsed(), Host::look()?.since(&host)));
    }
    let tally = match (cli.idle, cli.rate) {
        (true, _) => idle::run(yard, cli).await?,
        (false, Some(rate)) => flood::open(yard, cli, rate).await?,
        (false, None) => flood::closed(yard, cli).await?,
    };
    let took = began.elapsed();
    Ok(Report::load(cli, tally, took, Host::look()?.since(&host)))
}

async fn ready(cli: &Cli, yard: &Yard) -> anyhow::Result<()> {
    let wanted = if cli.pool == Kind::Inline { 1 } else { cli.workers as usize };
    for _ in 0..1_000 {
        let pools = yard.pools().await?;
        let workers = pools.iter().flat_map(|(_, status)| &status.workers);
        if workers.filter(|worker| worker.state == State::Idle).count() >= wanted {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    anyhow::bail!("{wanted} workers did not get ready within ten seconds")
}
