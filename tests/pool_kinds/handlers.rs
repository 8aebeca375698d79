//! Kinds of task beside the common ones: those that meet their test at a gate.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::core::task::Retry;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::{Registry, RegistryError};

use crate::common::gate::{Gate, arrive, pass};
use crate::common::handlers;

/// The common ones and these.
pub(crate) fn registry() -> Registry {
    fn all() -> Result<Registry, RegistryError> {
        handlers::registry()
            .register::<Meet>()?
            .register::<Deaf>()?
            .register::<Ask>()?
            .register::<Unwritable>()
    }
    all().expect("names that differ")
}

/// Says at the gate that it runs, and goes on when the test lets it; gives in to a cancel. Gives its pass and attempt.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Meet {
    gate: PathBuf,
    tag: u32,
}

impl Meet {
    pub(crate) fn at(gate: &Gate, tag: u32) -> Self {
        Self { gate: gate.path().to_owned(), tag }
    }
}

impl TaskHandler for Meet {
    const NAME: &'static str = "test.meet";
    type Output = (u32, u32);

    async fn run(self, cx: Context) -> Result<(u32, u32), HandlerError> {
        pass(&self.gate, &self.tag.into(), &cx).await?;
        Ok((cx.epoch(), cx.attempt()))
    }
}

/// Gives a value that panics when it is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Unwritable {}

/// See [`Unwritable`].
#[derive(Debug, Deserialize)]
pub(crate) struct Never;

impl Serialize for Never {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("never")
    }
}

impl TaskHandler for Unwritable {
    const NAME: &'static str = "test.unwritable";
    type Output = Never;

    async fn run(self, _: Context) -> Result<Never, HandlerError> {
        Ok(Never)
    }
}

/// Says at the gate that it runs, and blocks until the test lets it go on, whatever it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Deaf {
    gate: PathBuf,
}

impl Deaf {
    pub(crate) fn at(gate: &Gate) -> Self {
        Self { gate: gate.path().to_owned() }
    }
}

impl TaskHandler for Deaf {
    const NAME: &'static str = "test.deaf";
    type Output = ();

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        let mut stream = arrive(&self.gate, &"deaf".into()).await?.into_std()?;
        stream.set_nonblocking(false)?;
        drop(stream.read(&mut [0]));
        Ok(())
    }
}

/// Asks the yard for something by name, and gives what it is refused with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ask(pub(crate) String);

impl TaskHandler for Ask {
    const NAME: &'static str = "test.ask";
    type Output = String;

    async fn run(self, cx: Context) -> Result<String, HandlerError> {
        let refused = cx.call(self.0, serde_json::Value::Null).await.err();
        refused.map(|error| error.to_string()).ok_or(HandlerError::new("it was done"))
    }
}

/// Tried so often, after pauses of `initial`, twice that, and so on.
pub(crate) fn growing(max_attempts: u32, initial: Duration) -> Retry {
    Retry { max_attempts, initial, factor: 2.0, jitter: 0.0, ..Retry::default() }
}
