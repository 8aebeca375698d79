//! Where tasks, in whatever process, meet their test: each says that it runs, and goes on when the test lets it.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use taskyard::context::Context;
use taskyard::handler::HandlerError;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::soon;

/// A directory that is gone with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("taskyard-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The test's side.
pub(crate) struct Gate {
    listener: UnixListener,
    path: PathBuf,
    _scratch: Scratch,
}

/// A task that runs, until this is dropped.
pub(crate) struct Guest {
    /// The task's first argument.
    pub(crate) tag: Value,
    /// The process that it runs in.
    pub(crate) pid: u32,
    stream: BufReader<UnixStream>,
}

impl Gate {
    pub(crate) fn open() -> Self {
        let scratch = Scratch::new();
        let path = scratch.path().join("gate");
        Self { listener: UnixListener::bind(&path).unwrap(), path, _scratch: scratch }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next task that began to run.
    pub(crate) async fn next(&self) -> Guest {
        let mut stream = BufReader::new(soon(self.listener.accept()).await.unwrap().0);
        let mut line = String::new();
        soon(stream.read_line(&mut line)).await.unwrap();
        let (tag, pid) = serde_json::from_str(&line).unwrap();
        Guest { tag, pid, stream }
    }

    pub(crate) async fn next_few(&self, count: usize) -> Vec<Guest> {
        let mut guests = Vec::new();
        while guests.len() < count {
            guests.push(self.next().await);
        }
        guests
    }
}

impl Guest {
    /// Lets the task go on.
    pub(crate) fn release(self) {
        drop(self.stream);
    }

    /// Waits until the task's side is gone, with the task or with its process.
    pub(crate) async fn gone(&mut self) {
        // What was broken off is gone as well.
        drop(soon(self.stream.read(&mut [0])).await);
    }

    /// Whether the task's side is still there.
    pub(crate) fn is_there(&self) -> bool {
        let nothing = self.stream.get_ref().try_read(&mut [0]);
        nothing.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }
}

/// The task's side: says that it runs.
pub(crate) async fn arrive(gate: &Path, tag: &Value) -> Result<UnixStream, HandlerError> {
    let mut stream = UnixStream::connect(gate).await?;
    let line = format!("{}\n", serde_json::to_string(&(tag, std::process::id()))?);
    stream.write_all(line.as_bytes()).await?;
    Ok(stream)
}

/// Says that it runs, and waits until the test lets it go on or somebody cancels it.
pub(crate) async fn pass(gate: &Path, tag: &Value, cx: &Context) -> Result<(), HandlerError> {
    let mut stream = arrive(gate, tag).await?;
    let mut nothing = [0];
    tokio::select! {
        _ = stream.read(&mut nothing) => Ok(()),
        _ = cx.cancelled() => Err(HandlerError::cancelled()),
    }
}
