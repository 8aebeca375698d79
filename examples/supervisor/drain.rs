//! Signals, and how the supervisor ends by one: the first drains, the second forces.

use taskyard::control::show;
use taskyard::core::store::Counts;
use taskyard::service::Service;
use taskyard::{AskError, Closed, Remains};
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
    let remains = {
        let drain = service.drain();
        tokio::pin!(drain);
        loop {
            tokio::select! {
                remains = &mut drain => break remains,
                signal = signals.next() => {
                    tracing::warn!("{signal} again: what runs is ended now");
                    yard.force();
                }
            }
        }
    };
    match remains {
        Ok(remains) => {
            say_what_remains(&remains);
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

fn say_what_remains(Remains { lost, counts }: &Remains) {
    if !lost.is_empty() {
        tracing::warn!("drained, and this board keeps nothing: not run are {}", tasks(lost.len()));
        for id in lost {
            tracing::warn!("not run: {id}");
        }
    } else if let Some(counts) = counts {
        tracing::info!("drained; {}", what_stays(counts));
    } else {
        tracing::warn!("drained, but how much stays on the board is not known: the store does not answer");
    }
}

/// How many tasks wait on a board that is kept, and for what.
fn what_stays(counts: &Counts) -> String {
    let left = show::left(counts);
    let parts = ["delayed", "queued", "blocked", "elsewhere"].into_iter().filter_map(|why| {
        let count = left[why].as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} {why}"))
    });
    let parts: Vec<_> = parts.collect();
    match counts.unfinished() {
        0 => "nothing remains".into(),
        1 => format!("1 task stays on the board: {}", parts.join(", ")),
        many => format!("{} stay on the board: {}", tasks(many), parts.join(", ")),
    }
}

fn tasks(count: usize) -> String {
    if count == 1 { "1 task".into() } else { format!("{count} tasks") }
}
