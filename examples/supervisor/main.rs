//! The supervisor: a yard of worker processes with a socket, or one run of a file of tasks with a summary.
//!
//! ```text
//! cargo run --release --example supervisor                                      serves on its socket until a signal
//! cargo run --release --example supervisor -- --tasks examples/tasks.jsonl      runs a file of tasks
//! cargo run --release --example supervisor -- --ctl status                      asks one that runs
//! ```

mod bound;
mod cli;
mod command;
mod ctl;
mod drain;
mod fault;
mod follow_ups;
mod handlers;
mod journal;
mod live;
mod news;
mod patience;
mod predecessors;
mod progress;
mod serve;
mod summary;
mod tasks;
mod tracker;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use taskyard::StartError;
use taskyard::config::ConfigError;
use taskyard::registry::Registry;
use taskyard::service::{Service, ServiceError};
use taskyard::worker::run_if_worker;

use cli::Cli;
use drain::Signals;
use live::Live;
use tasks::Batch;

/// A task is made by one thread and freed by another: an allocator that is made for that is worth a fifth of the speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How the supervisor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// All went well.
    Success = 0,
    /// A task or a command failed.
    Failed = 1,
    /// Nobody answered.
    NoReply = 69,
    /// A bug ended the yard.
    Fault = 70,
    /// The system refused something at the start.
    System = 71,
    /// The configuration is wrong.
    Config = 78,
}

fn main() -> ExitCode {
    let exit = match handlers::registry().context("the handlers") {
        Ok(registry) => {
            run_if_worker(&registry);
            bound::become_program_if_told();
            run(&Cli::parse(), registry)
        }
        Err(error) => Err(error),
    };
    let exit = exit.unwrap_or_else(|error| {
        eprintln!("supervisor: {error:#}");
        if is_about_configuration(&error) { Exit::Config } else { Exit::System }
    });
    ExitCode::from(exit as u8)
}

/// Prints a result. Who reads no further, as `head` does, is no fault of ours.
fn print(result: impl std::fmt::Display) -> Exit {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{result}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("supervisor: standard output: {error}");
            Exit::System
        }
        _ => Exit::Success,
    }
}

/// Some mistakes are seen when the file is read, others when the pools are made.
fn is_about_configuration(error: &anyhow::Error) -> bool {
    let setting = |error| matches!(error, &ServiceError::Yard(StartError::Setting(_)));
    error.is::<ConfigError>() || error.downcast_ref().is_some_and(setting)
}

fn run(cli: &Cli, registry: Registry) -> anyhow::Result<Exit> {
    let settings = cli.settings()?;
    if let Err(unreadable) = cli.check_source() {
        eprintln!("supervisor: {unreadable}");
        return Ok(Exit::Failed);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        if let Some(words) = &cli.ctl {
            return Ok(ctl::ask(&settings.socket.unwrap_or_default(), words).await);
        }
        let durable = settings.store.is_durable();
        let live = Live::new();
        let log_level = news::log_to(&live);
        let signals = Signals::catch()?;
        let service =
            Service::start(settings, registry, |builder| fault::prepare(builder.observed(), cli.fault_after));
        let service = service.context("it does not start")?;
        service.on_log_level(log_level);
        news::follow(service.yard());
        if durable {
            tokio::spawn(predecessors::follow(service.yard().clone(), live.clone()));
        }
        let exit = match cli.source() {
            Some(source) => tasks::run(service, signals, Batch { source, durable }, &live).await?,
            None => serve::run(service, signals, &live).await,
        };
        live.clear();
        Ok(exit)
    });
    // A read of standard input that nobody waits for any more would hold up the end.
    runtime.shutdown_background();
    exit
}
