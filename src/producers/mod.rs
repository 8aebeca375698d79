//! Producers: each pulls tasks from one source and submits them. What becomes of a task is not decided here.
//!
//! - [`lines`] splits a byte stream · [`intake`] the way into the yard, which waits for room · [`status`] what a producer
//!   says of itself · [`supervision`] runs it again when it failed
//! - sources: [`socket`] · [`mod@file`], each [`batch`] of whose lines is a run · [`schedules`] · [`on_start`]

pub mod batch;
pub mod file;
pub mod intake;
pub mod lines;
pub mod on_start;
pub mod schedules;
pub mod socket;
pub mod status;
pub mod supervision;

use crate::errors::AskError;

pub use intake::Intake;
pub use status::{Kind, Roster, State, Status};

/// Pulls from one source.
pub trait Producer: Send + 'static {
    /// Pulls until the source has no more, or until it fails. A failed one is run again after a while, on the same value:
    /// what it keeps there is where it goes on.
    fn run(&mut self, intake: &Intake) -> impl Future<Output = Result<(), ProducerError>> + Send;
}

/// Why a producer can't go on for now.
#[derive(Debug, thiserror::Error)]
pub enum ProducerError {
    /// Its source failed.
    #[error("{what}: {error}")]
    Source {
        /// What it was doing.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The socket can't be had.
    #[error(transparent)]
    Address(#[from] socket::AddressError),
    /// The yard did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A task of the configuration can't be read; that was checked at the start.
    #[error(transparent)]
    Task(#[from] taskyard_core::wire::Rejected),
}

impl ProducerError {
    pub(crate) fn source(what: impl Into<String>, error: std::io::Error) -> Self {
        Self::Source { what: what.into(), error }
    }
}
