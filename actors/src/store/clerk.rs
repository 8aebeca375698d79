//! The clerk sits on the store's thread: takes all that waits, has the store answer it in one commit, and hands the replies
//! out, in order. While a commit runs the next batch collects. Beside it runs the Lease, whose requests go first, so that no
//! busy Conductor can starve a renewal. It decides nothing about tasks or leases.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use taskyard_core::lease::{self, Lease};
use taskyard_core::store::{Ask, Reply};
use taskyard_core::time::Instant64;
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Now, Wakeup, conductor};

use super::Store;
use super::batch::{Batch, Waiting};
use super::bell::{Bell, Note};
use super::health::Health;
use crate::clock::Clock;
use crate::in_flight::Flight;
use crate::inlet::Inlet;

/// How often the store is asked whether others changed the board.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the clerk works with.
pub(super) struct Desk {
    pub(super) notes: Receiver<Note>,
    pub(super) bell: Bell,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) conductor: Arc<Inlet<conductor::Event>>,
    pub(super) health: Health,
}

/// See the [module](self).
pub(super) struct Clerk {
    store: Box<dyn Store>,
    desk: Desk,
    lease: Lease,
    /// What the Lease said and was not looked at yet.
    said: Vec<lease::Effect>,
    /// The Lease's requests for the next commit.
    own: Vec<Ask>,
    waiting: Waiting,
    /// When the store is looked at next.
    look: Instant64,
    /// What the Conductor is told next.
    mail: Vec<conductor::Event>,
    /// They land once nothing follows from them any more.
    flights: Vec<Flight>,
    /// How long the next note may be waited for; `None`: until it comes.
    patience: Option<Duration>,
    ended: bool,
}

impl Clerk {
    pub(super) fn new(store: Box<dyn Store>, desk: Desk, lease: lease::Settings) -> Self {
        let look = desk.clock.now().mono + LOOK_EVERY;
        Self {
            store,
            desk,
            lease: Lease::new(lease),
            said: Vec::new(),
            own: Vec::new(),
            waiting: Waiting::default(),
            look,
            mail: Vec::new(),
            flights: Vec::new(),
            patience: Some(Duration::ZERO),
            ended: false,
        }
    }

    /// Works until the yard ends and all is answered that came before.
    pub(super) fn work(mut self) {
        while !self.ended || !self.waiting.is_empty() {
            self.collect();
            self.turn();
            self.rest();
        }
    }

    /// Waits until there is something to do, then takes all that is there.
    fn collect(&mut self) {
        if let Some(note) = self.next_note() {
            self.take(note);
        }
        while !self.waiting.is_full()
            && let Ok(note) = self.desk.notes.try_recv()
        {
            self.take(note);
        }
    }

    /// `None`: there is something to do without one.
    fn next_note(&self) -> Option<Note> {
        let notes = &self.desk.notes;
        match self.patience {
            Some(Duration::ZERO) => None,
            Some(span) => match notes.recv_timeout(span) {
                Err(RecvTimeoutError::Timeout) => None,
                note => Some(note.unwrap_or(Note::End)),
            },
            None => Some(notes.recv().unwrap_or(Note::End)),
        }
    }

    /// Says how long nothing is to be done. The alarm is set before the last flight lands, so that a clock that is turned
    /// when all is quiet is noticed.
    fn rest(&mut self) {
        let busy = self.ended || !self.own.is_empty() || !self.waiting.is_empty();
        let wish = self.lease.next_wakeup().or(Wakeup::mono(Some(self.look)));
        let alarm = || self.desk.clock.doze(wish, &self.desk.bell);
        self.patience = if busy { Some(Duration::ZERO) } else { alarm() };
        // What waits has flights of its own.
        if self.own.is_empty() && (busy || self.patience != Some(Duration::ZERO)) {
            self.flights.clear();
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Asks(asks, flight) => self.waiting.add(asks, flight),
            Note::Lease(events, flight) => {
                let now = self.desk.clock.now();
                for event in events {
                    self.lease.handle(now, event, &mut self.said);
                }
                self.flights.push(flight);
            }
            Note::Notice(flight) => {
                self.look = self.desk.clock.now().mono;
                self.flights.push(flight);
            }
            Note::Turned(flight) => self.flights.push(flight),
            Note::End => self.ended = true,
        }
    }

    fn turn(&mut self) {
        let now = self.desk.clock.now();
        if self.lease.next_wakeup().is_due(now) {
            self.lease.wake(now, &mut self.said);
        }
        self.listen_to_the_lease();
        let Batch { asks, flights } = self.waiting.next(std::mem::take(&mut self.own));
        self.flights.extend(flights);
        if !asks.is_empty() {
            self.brace(now);
            let replies = self.store.answer(now, &asks);
            self.sort(&asks, replies);
        }
        self.look(self.desk.clock.now());
        self.tell();
    }

    fn tell(&mut self) {
        self.desk.conductor.put(self.mail.drain(..));
    }

    fn sort(&mut self, asks: &[Ask], replies: Vec<Reply>) {
        if replies.len() != asks.len() {
            tracing::error!(asks = asks.len(), replies = replies.len(), "the store broke its promise");
        }
        // The commit may have taken a while.
        let now = self.desk.clock.now();
        for (ask, reply) in asks.iter().zip(replies) {
            self.mail.extend(self.desk.health.after(now.wall, &ask.request, &reply.answer));
            match Mail::from(reply) {
                Mail::Lease(event) => self.lease.handle(now, event, &mut self.said),
                mail => self.sort_one(mail),
            }
            self.listen_to_the_lease();
        }
    }

    fn listen_to_the_lease(&mut self) {
        let mut said = std::mem::take(&mut self.said);
        said.drain(..).for_each(|effect| self.sort_one(effect.into()));
        self.said = said;
    }

    fn sort_one(&mut self, mail: Mail) {
        match mail {
            Mail::Conductor(event) => {
                self.desk.health.note(&event);
                self.mail.push(event);
            }
            Mail::Board(ask) => self.own.push(ask),
            other => tracing::error!(?other, "mail that the store has no way for was dropped"),
        }
    }

    /// Before the store is called, which may be long in answering: what is known is told, and the lease will be taken for
    /// lost in time.
    fn brace(&mut self, now: Now) {
        self.tell();
        let left = |end: Instant64| Duration::from_micros(end.since(now.mono).max(0) as u64);
        self.store.limit(self.lease.end().map(left));
    }

    fn look(&mut self, now: Now) {
        if self.look <= now.mono {
            self.desk.bell.heard();
            self.look = now.mono + LOOK_EVERY;
            self.brace(now);
            self.mail.extend(self.store.look(now).map(conductor::Event::Hint));
        }
    }
}
