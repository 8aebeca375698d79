//! Signals, and how the supervisor ends by one: the first drains, the second forces.

use taskyard::core::TaskId;
use taskyard::service::Service;
use taskyard::{AskError, Closed};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Exit;

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    /// From now on they don't kill.
    pub(crate) fn catch() -> std::io::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
        }
    }
}

/// Lets what runs finish, and says what remains.
pub(crate) async fn drain(service: &mut Service, signals: &mut Signals) -> Exit {
    let yard = service.yard().clone();
    let left = {
        let drain = service.drain();
        tokio::pin!(drain);
        loop {
            tokio::select! {
                left = &mut drain => break left,
                signal = signals.next() => {
                    tracing::warn!("{signal} again: what runs is ended now");
                    yard.force();
                }
            }
        }
    };
    match left {
        Ok(left) => {
            say_what_remains(&left);
            Exit::Success
        }
        Err(AskError::Down(down)) => broken(down.why),
        Err(error) => {
            tracing::error!("the drain failed: {error}");
            Exit::Fault
        }
    }
}

/// The yard ended unasked.
pub(crate) fn broken(why: Closed) -> Exit {
    tracing::error!("internal fault: {why}");
    Exit::Fault
}

fn say_what_remains(left: &[TaskId]) {
    if left.is_empty() {
        return tracing::info!("drained; nothing remains");
    }
    tracing::warn!("drained; {} tasks were not run, and this board keeps nothing", left.len());
    for id in left {
        tracing::warn!("not run: {id}");
    }
}
