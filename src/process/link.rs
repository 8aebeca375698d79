//! The yard's end of a worker process: turns commands into frames and signals. What the worker answers is the attendant's.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustix::process::Pid;
use serde_json::Value;
use taskyard_actors::Link;
use taskyard_core::worker::{Command, Signal};
use tokio::sync::Notify;

use super::child::signal_group;
use super::conversation::Unanswered;
use super::outbox::Outbox;
use crate::protocol::to_worker;

/// What link and attendant share; both live on the yard's thread.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) outbox: RefCell<Outbox>,
    /// What was sent and is not answered.
    pub(super) unanswered: RefCell<Unanswered>,
    target: Cell<Target>,
    /// How many calls of its handlers are being answered.
    pub(super) calls: Cell<usize>,
    /// The worker does not read what it asks for.
    pub(super) deaf: Cell<bool>,
    /// Something for the attendant to look at.
    pub(super) changed: Notify,
}

/// Whom signals go to.
#[derive(Clone, Copy)]
enum Target {
    /// Nobody yet; a signal that came too early waits.
    Unborn(Option<Signal>),
    Alive(Pid),
    Dead,
}

impl Default for Target {
    fn default() -> Self {
        Self::Unborn(None)
    }
}

impl Shared {
    pub(super) fn hello(&self, worker: &str, pool: &str) {
        to_worker::hello(self.outbox.borrow_mut().frames(), worker, pool);
    }

    /// The process is there; it gets the signal that came before it.
    pub(super) fn born(&self, pid: Pid) {
        if let Target::Unborn(Some(signal)) = self.target.replace(Target::Alive(pid)) {
            signal_group(pid, signal);
        }
    }

    /// The process is about to be reaped: its number may soon be another's.
    pub(super) fn died(&self) {
        self.target.set(Target::Dead);
    }

    pub(super) fn flush(&self) {
        let mut outbox = self.outbox.borrow_mut();
        outbox.flush();
        if !outbox.is_empty() {
            self.changed.notify_one();
        }
    }

    /// Answers a call.
    pub(super) fn answer(&self, seq: u64, answer: &Result<Value, String>) {
        self.calls.set(self.calls.get() - 1);
        let reads = self.outbox.borrow_mut().answer(|out| to_worker::reply(out, seq, answer));
        self.deaf.set(!reads);
        self.flush();
        self.changed.notify_one();
    }

    fn signal(&self, signal: Signal) {
        match self.target.get() {
            Target::Alive(pid) => signal_group(pid, signal),
            Target::Unborn(earlier) => self.target.set(Target::Unborn(earlier.max(Some(signal)))),
            Target::Dead => {}
        }
    }
}

/// The yard's end of a worker process.
pub(super) struct ProcessLink(pub(super) Rc<Shared>);

impl Link for ProcessLink {
    fn tell(&mut self, command: Command) {
        let mut outbox = self.0.outbox.borrow_mut();
        let out = outbox.frames();
        match command {
            Command::Run { live, timeout } => {
                to_worker::run(out, &live, timeout);
                self.0.unanswered.borrow_mut().add(live);
            }
            Command::Cancel { id, reason } => to_worker::cancel(out, id, reason),
            Command::Recall { id } => to_worker::recall(out, id),
            Command::Stop => to_worker::stop(out),
            Command::Signal(signal) => self.0.signal(signal),
            Command::Launch => {}
        }
    }

    fn flush(&mut self) {
        self.0.flush();
    }
}

impl Drop for ProcessLink {
    fn drop(&mut self) {
        self.0.signal(Signal::Kill);
    }
}
