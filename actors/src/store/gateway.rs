//! The gateway stands in the board's and the Lease's place among the actors, and passes everything to the store's own
//! thread. It decides nothing and keeps nothing.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use actix::{Actor, Context, Handler};
use taskyard_core::store::Ask;
use taskyard_core::{conductor, lease};

use super::Store;
use super::bell::{Bell, Note};
use super::clerk::{Clerk, Desk};
use super::health::Health;
use crate::guardian::{Guardian, Tripwire};
use crate::inlet::Inlet;
use crate::shell::Surroundings;
use crate::tell::Tell;

/// What the guardian calls it.
const ROLE: &str = "store";

/// A store on its thread, open, of which nothing was asked yet. If this is dropped the thread closes it and ends.
pub struct Opened {
    notes: Sender<Note>,
    begin: SyncSender<Duty>,
    guardian: Guardian,
    health: Health,
}

/// What the thread needs to begin.
struct Duty {
    conductor: Arc<Inlet<conductor::Event>>,
    tripwire: Tripwire,
}

/// The end of a store's thread.
pub struct Closing(JoinHandle<()>);

impl Closing {
    /// Waits until the store is closed; until then all that was asked before the yard's end is answered.
    pub fn wait(self) {
        // A panic was told to the guardian by its tripwire.
        drop(self.0.join());
    }
}

/// Opens a store on a thread of its own, where it stays: `open` is called there. Blocks until it has returned.
///
/// The outer error says that there is no thread, or that `open` panicked.
pub fn open<E: Send + 'static>(
    surroundings: &Surroundings,
    lease: lease::Settings,
    open: impl FnOnce(Bell) -> Result<Box<dyn Store>, E> + Send + 'static,
) -> io::Result<Result<(Opened, Closing), E>> {
    let (notes, received) = mpsc::channel();
    let (begin, duty) = mpsc::sync_channel::<Duty>(1);
    let (tell, told) = mpsc::sync_channel(1);
    let bell = Bell::new(notes.clone(), surroundings.in_flight.clone());
    let clock = Arc::clone(&surroundings.clock);
    let health = Health::default();
    let shown = health.clone();
    let run = move || {
        let store = match open(bell.clone()) {
            Ok(store) => store,
            Err(error) => return drop(tell.send(Err(error))),
        };
        drop(tell.send(Ok(())));
        let Ok(Duty { conductor, tripwire }) = duty.recv() else { return };
        let _tripwire = tripwire;
        Clerk::new(store, Desk { notes: received, bell, clock, conductor, health }, lease).work();
    };
    let thread = thread::Builder::new().name("taskyard-store".into()).spawn(run)?;
    let panicked = |_| io::Error::other("the store panicked while it was opened");
    let opened = Opened { notes, begin, guardian: surroundings.guardian.clone(), health: shown };
    Ok(told.recv().map_err(panicked)?.map(|()| (opened, Closing(thread))))
}

/// See the module.
pub struct Gateway {
    notes: Sender<Note>,
    /// Held, not read: its drop is the news.
    _tripwire: Tripwire,
}

impl Opened {
    /// How the store is, now and later.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Sets the thread to work: what the store answers goes to `conductor`.
    pub fn begin(self, conductor: &Arc<Inlet<conductor::Event>>) -> Gateway {
        let tripwire = || self.guardian.tripwire(ROLE);
        // The thread waits for this; if it does not, its panic was or will be told.
        drop(self.begin.send(Duty { conductor: Arc::clone(conductor), tripwire: tripwire() }));
        Gateway { _tripwire: tripwire(), notes: self.notes }
    }
}

impl Gateway {
    fn pass_on(&self, note: Note) {
        // Who has panicked answers nothing any more; the guardian knows.
        drop(self.notes.send(note));
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.pass_on(Note::End);
    }
}

impl Actor for Gateway {
    type Context = Context<Self>;
}

impl Handler<Tell<Ask>> for Gateway {
    type Result = ();

    fn handle(&mut self, tell: Tell<Ask>, _: &mut Context<Self>) {
        let (asks, flight) = tell.open();
        self.pass_on(Note::Asks(asks, flight));
    }
}

impl Handler<Tell<lease::Event>> for Gateway {
    type Result = ();

    fn handle(&mut self, tell: Tell<lease::Event>, _: &mut Context<Self>) {
        let (events, flight) = tell.open();
        self.pass_on(Note::Lease(events, flight));
    }
}
