//! What wakes the store's thread: a note, or the bell. It carries; it decides nothing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use taskyard_core::lease;
use taskyard_core::store::Ask;

use crate::in_flight::{Flight, InFlight};

/// What the store's thread is told. What comes of it counts as in flight until it was delivered.
pub(super) enum Note {
    /// Requests of the Conductor.
    Asks(Vec<Ask>, Flight),
    /// For the Lease.
    Lease(Vec<lease::Event>, Flight),
    /// The bell was rung.
    Notice(Flight),
    /// Time has passed on a clock that is turned by hand.
    Turned(Flight),
    /// The yard ends: nothing comes after this.
    End,
}

/// Wakes a store's thread, so that it [looks](super::Store::look) at once: others may have changed the board. Can be rung
/// from any thread and as often as one likes; a store that rings for nothing costs a look.
#[derive(Clone)]
pub struct Bell(Arc<Rope>);

struct Rope {
    notes: Sender<Note>,
    in_flight: InFlight,
    /// Rung and not heard yet.
    rung: AtomicBool,
}

impl Bell {
    pub(super) fn new(notes: Sender<Note>, in_flight: InFlight) -> Self {
        Self(Arc::new(Rope { notes, in_flight, rung: AtomicBool::new(false) }))
    }

    /// Wakes the thread. If that has ended, nobody hears it.
    pub fn ring(&self) {
        if !self.0.rung.swap(true, Ordering::AcqRel) {
            drop(self.0.notes.send(Note::Notice(self.0.in_flight.launch())));
        }
    }

    /// For a clock that is turned by hand: the time has come for which the thread waits.
    pub fn turned(&self) {
        drop(self.0.notes.send(Note::Turned(self.0.in_flight.launch())));
    }

    /// Whether both wake the same thread.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whoever rings from now on rings for something that this look may not see.
    pub(super) fn heard(&self) {
        self.0.rung.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}
