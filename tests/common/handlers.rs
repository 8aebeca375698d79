//! Kinds of task for the black-box tests, and how to wait for what they do.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskyard::Yard;
use taskyard::context::Context;
use taskyard::core::TaskId;
use taskyard::core::conductor::Happened;
use taskyard::core::dispatch::Outcome;
use taskyard::core::task::Retry;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::{Registry, RegistryError};
use tokio::sync::broadcast;

use super::soon;

/// Gives back what it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Echo(pub(crate) String);

impl TaskHandler for Echo {
    const NAME: &'static str = "test.echo";
    type Output = String;

    async fn run(self, _: Context) -> Result<String, HandlerError> {
        Ok(self.0)
    }
}

/// Fails before the attempt `until`, and gives the attempt.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fail {
    pub(crate) until: u32,
    pub(crate) fatal: bool,
}

impl TaskHandler for Fail {
    const NAME: &'static str = "test.fail";
    type Output = u32;

    async fn run(self, cx: Context) -> Result<u32, HandlerError> {
        match cx.attempt() {
            attempt if attempt >= self.until => Ok(attempt),
            _ if self.fatal => Err(HandlerError::fatal("never").kind("hopeless")),
            _ => Err(HandlerError::new("not yet").kind("early")),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Panic;

impl TaskHandler for Panic {
    const NAME: &'static str = "test.panic";
    type Output = ();

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        panic!("on purpose")
    }
}

/// Says how far it is, submits an [`Echo`] of "hangs", and waits to be told to end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hang;

impl TaskHandler for Hang {
    const NAME: &'static str = "test.hang";
    type Output = ();

    async fn run(self, cx: Context) -> Result<(), HandlerError> {
        cx.progress(0.5, "half");
        cx.submit(Echo("hangs".into())).await?;
        cx.cancelled().await;
        Err(HandlerError::cancelled())
    }
}

/// Asks to be run again later, once; gives the pass.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Snooze;

impl TaskHandler for Snooze {
    const NAME: &'static str = "test.snooze";
    type Output = (u32, u32);

    async fn run(self, cx: Context) -> Result<(u32, u32), HandlerError> {
        match cx.epoch() {
            1 => Err(HandlerError::snooze(Duration::from_millis(1))),
            epoch => Ok((epoch, cx.attempt())),
        }
    }
}

/// Submits a task twice under one label, fails, and does it again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Parent;

impl TaskHandler for Parent {
    const NAME: &'static str = "test.parent";
    type Output = Vec<TaskId>;

    async fn run(self, cx: Context) -> Result<Vec<TaskId>, HandlerError> {
        let first = cx.submit(Echo("child".into())).once("child").await?;
        if cx.attempt() == 1 {
            return Err(HandlerError::new("again"));
        }
        Ok(vec![first, cx.submit(Echo("child".into())).once("child").await?])
    }
}

/// Submits an [`Echo`] of "hangs" and, once there is a file, another task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Testament {
    pub(crate) file: PathBuf,
}

impl TaskHandler for Testament {
    const NAME: &'static str = "test.testament";
    type Output = ();

    async fn run(self, cx: Context) -> Result<(), HandlerError> {
        cx.submit(Echo("hangs".into())).await?;
        // A file is what a test can show to a handler in any process.
        while !self.file.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cx.submit(Echo("last will".into())).once("will").await?;
        Ok(())
    }
}

/// Takes its worker with it, before the attempt `until`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Die {
    pub(crate) until: u32,
}

impl TaskHandler for Die {
    const NAME: &'static str = "test.die";
    type Output = u32;

    async fn run(self, cx: Context) -> Result<u32, HandlerError> {
        if cx.attempt() < self.until {
            std::process::exit(3);
        }
        Ok(cx.attempt())
    }
}

/// Ignores SIGTERM, submits an [`Echo`] of "deaf", and blocks for ever.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stubborn;

impl TaskHandler for Stubborn {
    const NAME: &'static str = "test.stubborn";
    type Output = ();

    async fn run(self, cx: Context) -> Result<(), HandlerError> {
        let _caught = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        cx.submit(Echo("deaf".into())).await?;
        loop {
            std::thread::park();
        }
    }
}

/// Takes so many bytes of memory and keeps them until it is told to end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gorge {
    pub(crate) bytes: usize,
}

impl TaskHandler for Gorge {
    const NAME: &'static str = "test.gorge";
    type Output = ();

    async fn run(self, cx: Context) -> Result<(), HandlerError> {
        let memory = vec![1_u8; self.bytes];
        cx.cancelled().await;
        Err(HandlerError::new(memory.len()))
    }
}

pub(crate) fn registry() -> Registry {
    fn all() -> Result<Registry, RegistryError> {
        let registry = Registry::new().register::<Echo>()?.register::<Fail>()?.register::<Panic>()?;
        registry
            .register::<Hang>()?
            .register::<Snooze>()?
            .register::<Parent>()?
            .register::<Testament>()?
            .register::<Die>()?
            .register::<Stubborn>()?
            .register::<Gorge>()
    }
    all().expect("names that differ")
}

/// Tried so often, without a pause to speak of.
pub(crate) fn attempts(max_attempts: u32) -> Retry {
    Retry { max_attempts, initial: Duration::from_millis(1), jitter: 0.0, ..Retry::default() }
}

/// What happens to the tasks of an observed yard.
pub(crate) struct News(broadcast::Receiver<Happened>);

impl News {
    pub(crate) fn of(yard: &Yard) -> Self {
        Self(yard.observe())
    }

    /// Waits for the next [`Echo`] that succeeds: what it gave.
    pub(crate) async fn echo(&mut self) -> String {
        loop {
            if let Happened::TaskEnded { task, outcome: Outcome::Succeeded(value) } =
                soon(self.0.recv()).await.expect("the yard is up")
                && task.name().as_str() == Echo::NAME
            {
                return serde_json::from_str(&value).expect("text");
            }
        }
    }
}
