//! The yard's own thread: an arbiter for all its actors, beside whatever runtime the host has, or none. It never touches
//! the host's `System`.

use std::io;
use std::sync::mpsc;
use std::thread;

use actix::System;

use crate::guardian::{Closed, Guardian};

/// Starts a thread with an actix `System` of its own, calls `start` on it and lives until the guardian says that the yard
/// ends. Returns what `start` made, or why there is no thread.
///
/// Blocks until `start` has returned, some microseconds. `finally` runs on the thread after all actors were dropped, even
/// after a panic.
pub fn spawn<T: Send + 'static>(
    guardian: Guardian,
    start: impl FnOnce() -> T + Send + 'static,
    finally: impl FnOnce() + Send + 'static,
) -> io::Result<T> {
    let (started, outcome) = mpsc::sync_channel(1);
    thread::Builder::new().name("taskyard".into()).spawn(move || {
        let _end = End { guardian: guardian.clone(), finally: Some(finally) };
        // Dropped before the end is said, even if it is never called.
        let start = start;
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(started.send(Err(error))),
        };
        System::with_tokio_rt(move || runtime).block_on(async move {
            // A receiver that is gone is a caller that panicked; its guardian handle is dropped like any other.
            drop(started.send(Ok(start())));
            guardian.closing().await;
        });
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the yard's thread panicked while it started")))
}

/// Declared first, so dropped last: after the runtime and all actors on it.
struct End<F: FnOnce()> {
    guardian: Guardian,
    finally: Option<F>,
}

impl<F: FnOnce()> Drop for End<F> {
    fn drop(&mut self) {
        self.guardian.close(Closed::Broken { role: "thread" });
        if let Some(finally) = self.finally.take() {
            finally();
        }
        self.guardian.ended();
    }
}
