//! Tasks and control commands from a Unix socket: newline-delimited JSON, one reply a line. Here connections are accepted;
//! what is said on one stands in `connection`, whose the path is in `address`.

mod address;
mod connection;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::defaults::CONNECTIONS_MAX;
use tokio::task::JoinSet;

pub use address::{Address, AddressError};

use super::{Intake, Producer, ProducerError};
use crate::control::execute::Executor;

/// How often parts of messages that stay incomplete are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// Serves a Unix socket.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    address: Option<Address>,
    executor: Arc<Executor>,
    /// They outlive a failure of the listener.
    connections: JoinSet<()>,
}

impl Socket {
    /// Serves `address`; commands are carried out by `executor`.
    pub fn new(address: Address, executor: Arc<Executor>) -> Self {
        let path = address.path().to_owned();
        Self { path, address: Some(address), executor, connections: JoinSet::new() }
    }
}

impl Producer for Socket {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        let address = match self.address.take() {
            Some(address) => address,
            None => Address::claim(&self.path)?,
        };
        let listener = address.listener();
        let mut sweep = tokio::time::interval(SWEEP);
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if self.connections.len() < CONNECTIONS_MAX => {
                        let served = connection::serve(stream, intake.clone(), Arc::clone(&self.executor));
                        self.connections.spawn(served);
                    }
                    Ok((stream, _)) => connection::turn_away(&stream),
                    Err(error) => {
                        // The path stays ours: most of all there were too many open files for a moment.
                        self.address = Some(address);
                        return Err(ProducerError::source("accepting a connection", error));
                    }
                },
                Some(_) = self.connections.join_next() => {}
                _ = sweep.tick() => intake.forget_old_parts(),
            }
        }
    }
}
