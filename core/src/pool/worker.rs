//! What a Pool knows of one worker and of a dispatch it was sent, and which states may do what. Decides nothing.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::dispatch::{Cancel, Dispatch, Reason};
use crate::id::TaskId;
use crate::status::{State, WorkerStatus};
use crate::time::Instant64;
use crate::worker::CancelReason;

/// How far a worker was pressed to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rung {
    /// Not at all.
    Calm,
    /// It was told to stop when nothing runs.
    Asked,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// Why a worker is made to end while tasks run on it: so it is known how they end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doom {
    /// It did not get ready in time.
    Unready,
    /// One of its tasks did not heed a cancel or a time-out.
    Ladder,
    /// The pool drains.
    Drain,
    /// It holds too much memory; the text says how much.
    Memory(String),
    /// It broke the protocol, and nothing more that it says counts; the text says how.
    Fault(String),
}

/// What a worker contributes to the pool's sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offer {
    /// It counts as capacity.
    pub(super) serving: bool,
    /// It does so but is not ready yet.
    pub(super) starting: bool,
    /// Free slots.
    pub(super) free: u32,
    /// Occupied slots.
    pub(super) busy: u32,
    /// How many more it takes in ahead.
    pub(super) room: u32,
    /// How many it has ahead that were not recalled.
    pub(super) ahead: u32,
}

/// What of the pool's settings bears on what a worker can take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) killable: bool,
    pub(super) send_ahead: bool,
    pub(super) max_tasks: Option<u32>,
}

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) state: State,
    pub(super) since: Instant64,
    pub(super) born: Instant64,
    pub(super) was_ready: bool,
    pub(super) concurrency: u32,
    pub(super) ahead: u32,
    /// What it has not answered, in sending order: (number of the sending, task).
    pub(super) sent: VecDeque<(u64, TaskId)>,
    /// Slots that are kept for tasks which may not start yet.
    pub(super) promised: BTreeSet<TaskId>,
    /// Tasks that ended by a time-out here but still run, since this worker can't be killed.
    pub(super) late: BTreeSet<TaskId>,
    /// How many of its tasks were told to end.
    pub(super) told: u32,
    /// How long it has from SIGTERM to SIGKILL, if one of its tasks is another's.
    pub(super) hurry: Option<Duration>,
    /// How many of its tasks were recalled.
    pub(super) recalled: u32,
    pub(super) done: u32,
    pub(super) last_done: Instant64,
    /// It takes nothing new and leaves when nothing runs.
    pub(super) retiring: bool,
    pub(super) rung: Rung,
    pub(super) doom: Option<Doom>,
    /// The next look at it: whether it got ready, whether it starts what it was sent, or the next rung.
    pub(super) alarm: Option<Instant64>,
    /// The next look whether what was sent ahead waits too long.
    pub(super) stall: Option<Instant64>,
    /// It waited too long, and no task has ended since.
    pub(super) stalled: bool,
    /// When it last had a slot freed, as a running number: the most recent one is given the next task.
    pub(super) freed: u64,
    /// What the pool's sums count of it now.
    pub(super) offer: Offer,
}

impl Worker {
    /// A worker that is launched now.
    pub(super) fn new(now: Instant64) -> Self {
        Self {
            state: State::Starting,
            since: now,
            born: now,
            was_ready: false,
            concurrency: 1,
            ahead: 0,
            sent: VecDeque::new(),
            promised: BTreeSet::new(),
            late: BTreeSet::new(),
            told: 0,
            hurry: None,
            recalled: 0,
            done: 0,
            last_done: now,
            retiring: false,
            rung: Rung::Calm,
            doom: None,
            alarm: None,
            stall: None,
            stalled: false,
            freed: 0,
            offer: Offer::default(),
        }
    }

    /// Enters a state, if it is another one.
    pub(super) fn enter(&mut self, state: State, now: Instant64) {
        if self.state != state {
            self.state = state;
            self.since = now;
        }
    }

    /// Whether nothing runs on it and nothing waits in it or for it.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.promised.is_empty() && self.late.is_empty()
    }

    /// Whether what was sent as number `order` waits in it behind its slots.
    pub(super) fn is_ahead(&self, order: u64) -> bool {
        self.sent.get(self.concurrency as usize).is_some_and(|(first, _)| *first <= order)
    }

    /// What waits in it behind its slots, the last sent first.
    pub(super) fn queue(&self) -> impl Iterator<Item = TaskId> {
        self.sent.iter().skip(self.concurrency as usize).rev().map(|(_, id)| *id)
    }

    /// Forgets what was sent as number `order`.
    pub(super) fn forget(&mut self, order: u64) {
        if let Ok(at) = self.sent.binary_search_by_key(&order, |(order, _)| *order) {
            self.sent.remove(at);
        }
    }

    /// What it can contribute now.
    pub(super) fn offers(&self, terms: Terms) -> Offer {
        let leaves = self.retiring || self.rung > Rung::Calm || !self.late.is_empty();
        let serving = self.state.counts_as_capacity() && !leaves;
        // A worker whose told task may have to be killed takes nothing that would be killed with it.
        let open = serving && self.state.may_take() && (self.told == 0 || !terms.killable);
        let held = (self.sent.len() + self.promised.len()) as u32;
        let waiting = held.saturating_sub(self.concurrency);
        let allowed = match terms.max_tasks {
            _ if !open => 0,
            Some(max) => max.saturating_sub(self.done.saturating_add(held)),
            None => u32::MAX,
        };
        let free = self.concurrency.saturating_sub(held).min(allowed);
        // What is sent while a slot is kept must not take it.
        let takes_ahead = terms.send_ahead && self.promised.is_empty() && !self.stalled;
        let ahead = if takes_ahead { self.ahead.saturating_sub(waiting) } else { 0 };
        Offer {
            serving,
            starting: serving && self.state == State::Starting,
            free,
            busy: if serving { held.min(self.concurrency) } else { 0 },
            room: ahead.min(allowed - free),
            ahead: if open { waiting.saturating_sub(self.recalled) } else { 0 },
        }
    }

    /// How a status page shows it.
    pub(super) fn status(&self, number: u32) -> WorkerStatus {
        let slots = self.concurrency as usize;
        let running = self.sent.iter().take(slots).map(|(_, id)| *id).chain(self.late.iter().copied());
        let running = running.collect();
        WorkerStatus { number, state: self.state, running, done: self.done, since: self.since }
    }
}

/// A dispatch that a worker was sent and has not answered.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) dispatch: Box<Dispatch>,
    pub(super) worker: u32,
    /// The running number of its sending.
    pub(super) order: u64,
    pub(super) sent: Instant64,
    pub(super) started: Option<Instant64>,
    /// When its time is up; once it was told to end, when its worker gets SIGTERM.
    pub(super) alarm: Option<Instant64>,
    /// Why it was told to end.
    pub(super) told: Option<CancelReason>,
    /// It was recalled and is neither back nor started.
    pub(super) recalled: bool,
    /// What it was recalled for, if somebody wants it out.
    pub(super) cancel: Option<Cancel>,
}

impl Held {
    /// Whether a person wants it out.
    pub(super) fn is_unwanted(&self) -> bool {
        let asked = self.cancel.as_ref().is_some_and(|cancel| cancel.reason == Reason::User);
        asked || self.told == Some(CancelReason::User)
    }
}
