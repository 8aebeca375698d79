//! The Lease decides when a dispatcher registers, renews its lease and takes over from others, and when its own lease must be
//! taken for lost. It lives with the store, so that no busy arbiter can starve a renewal, and renews only while the Conductor
//! gives signs of life. It holds no task and claims none.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::id::TaskId;
use crate::machine::Machine;
use crate::store::{Answer, Ask, Asker, OwnerId, Registration, Renewal, Reply, Request, Status, StoreError};
use crate::time::{Instant64, Now, Wakeup};

/// How many rows one take-over gives back.
const TAKE_OVER: usize = 1_000;
/// A strict lease is taken for lost so long before it can have ended: the time in which what runs is killed.
const MARGIN: Duration = Duration::from_secs(1);

/// After so many renewals it takes over though nobody is known to have left anything behind: registrations of those who died
/// with nothing at hand are removed that way.
const TIDY: u64 = 30;

/// How the Lease is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who registers, and for how long a lease holds.
    pub registration: Registration,
    /// `true`: the lease is taken for lost one second before it can have ended (counted from when the last accepted renewal
    /// was asked for): another may reach the store while this one cannot (Postgres). `false`: only once the store says so;
    /// who cannot reach the store can be sure that nobody else does (SQLite).
    pub strict: bool,
}

/// What the Lease can be told.
#[derive(Debug)]
pub enum Event {
    /// From the Conductor, each second: it is alive.
    Pulse,
    /// From the board: the answer to a request.
    Reply(Box<Reply>),
    /// From the Conductor: all is settled, the registration can go.
    Release,
}

/// What the Lease wants told.
#[derive(Debug)]
pub enum Effect {
    /// To the board.
    Ask(Ask),
    /// To the Conductor: see [`conductor::Event::Owned`](crate::conductor::Event::Owned).
    Owned(OwnerId),
    /// To the Conductor: see [`conductor::Event::Disowned`](crate::conductor::Event::Disowned).
    Disowned,
    /// To the Conductor: see [`conductor::Event::Marked`](crate::conductor::Event::Marked).
    Marked(Vec<TaskId>),
    /// To the Conductor: rows came back to the board, by a take-over.
    Hint(Status),
    /// To the Conductor: the registration is given up.
    Released,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Lease {
    settings: Settings,
    owner: OwnerId,
    phase: Phase,
    last: u64,
    /// The request without an answer, and when it is asked again (or, without one, when the next is due).
    open: Option<(u64, Arc<Request>)>,
    next: Instant64,
    /// When the last sign of life came.
    pulse: Option<Instant64>,
    /// No sign of life for a lease: nothing is asked before the next one.
    silent: bool,
    /// When the last accepted renewal (or the registration) was asked for.
    renewed: Instant64,
    /// When it began to leave.
    left: Instant64,
    /// When the open request was first asked.
    asked: Instant64,
    /// Somebody else's tasks can be taken over.
    lapsed: bool,
    /// How often it was renewed.
    renewals: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Without a registration.
    Out,
    /// Registered.
    In,
    /// The registration is to go.
    Leaving,
    /// It is gone.
    Gone,
}

impl Lease {
    /// A Lease that registers at the first pulse.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            owner: OwnerId::SOLE,
            phase: Phase::Out,
            last: 0,
            open: None,
            next: Instant64::default(),
            pulse: None,
            silent: false,
            renewed: Instant64::default(),
            left: Instant64::default(),
            asked: Instant64::default(),
            lapsed: false,
            renewals: 0,
        }
    }

    /// Renewed three times within a lease, so that one lost renewal is no harm.
    fn interval(&self) -> Duration {
        self.settings.registration.lease / 3
    }

    /// How soon a request without an answer is asked again.
    fn patience(&self) -> Duration {
        self.settings.registration.lease / 10
    }

    fn was_heard(&self, now: Now) -> bool {
        self.pulse.is_some_and(|pulse| now.mono < pulse + self.settings.registration.lease)
    }

    /// When a strict lease is taken for lost, unless it is renewed before; or when whoever leaves waits no longer, as the
    /// others do not either.
    pub fn end(&self) -> Option<Instant64> {
        let lease = self.settings.registration.lease;
        match self.phase {
            Phase::In if self.settings.strict => Some(self.renewed + lease.saturating_sub(MARGIN)),
            Phase::Leaving => Some(self.left + lease),
            _ => None,
        }
    }

    fn ask(&mut self, now: Now, request: Request, effects: &mut Vec<Effect>) {
        self.last += 1;
        self.asked = now.mono;
        self.open = Some((self.last, Arc::new(request)));
        self.ask_again(now, effects);
    }

    fn ask_again(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let Some((no, request)) = &self.open else { return };
        let (no, request) = (*no, Arc::clone(request));
        self.next = now.mono + self.patience();
        effects.push(Effect::Ask(Ask {
            owner: self.owner,
            from: Asker::Lease,
            no,
            request,
            oldest_open: no,
        }));
    }

    /// Asks for what is due next, if nothing is open.
    fn go_on(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.end().is_some_and(|end| end <= now.mono) {
            self.disown(effects);
        }
        // To leave is no claim to be alive.
        self.silent = self.phase != Phase::Leaving && !self.was_heard(now);
        if self.silent {
            return;
        }
        if self.next <= now.mono {
            self.leave_take_over();
        }
        if self.open.is_some() {
            if self.next <= now.mono {
                self.ask_again(now, effects);
            }
            return;
        }
        match self.phase {
            Phase::Out => self.ask(now, Request::Register(self.settings.registration.clone()), effects),
            Phase::In if self.next <= now.mono => self.ask(now, Request::Renew, effects),
            Phase::In if std::mem::take(&mut self.lapsed) => {
                self.ask(now, Request::TakeOver { up_to: TAKE_OVER }, effects);
            }
            Phase::Leaving => self.ask(now, Request::Release, effects),
            Phase::In | Phase::Gone => {}
        }
    }

    /// A take-over that is not answered stands aside: the next renewal says whether there is still something to take over.
    fn leave_take_over(&mut self) -> bool {
        let is_take_over =
            |(_, request): &mut (u64, Arc<Request>)| matches!(**request, Request::TakeOver { .. });
        self.open.take_if(is_take_over).is_some()
    }

    fn disown(&mut self, effects: &mut Vec<Effect>) {
        self.open = None;
        self.lapsed = false;
        if self.phase == Phase::Leaving {
            return self.gone(effects);
        }
        self.phase = Phase::Out;
        self.owner = OwnerId::SOLE;
        effects.push(Effect::Disowned);
    }

    fn leave(&mut self, now: Now) {
        self.phase = Phase::Leaving;
        self.left = now.mono;
    }

    fn gone(&mut self, effects: &mut Vec<Effect>) {
        self.open = None;
        self.phase = Phase::Gone;
        effects.push(Effect::Released);
    }

    fn answered(&mut self, now: Now, answer: Answer, status: Status, effects: &mut Vec<Effect>) {
        match answer {
            Answer::Registered(owner) => {
                self.owner = owner;
                self.renewed = self.asked;
                // At once: what others left behind need not wait for the first interval.
                self.next = now.mono;
                if self.phase == Phase::Out {
                    self.phase = Phase::In;
                    effects.push(Effect::Owned(owner));
                }
            }
            Answer::Renewed(Renewal { marked, lapsed }) => {
                self.renewed = self.asked;
                self.next = self.asked + self.interval();
                self.renewals += 1;
                self.lapsed = lapsed || self.renewals.is_multiple_of(TIDY);
                if !marked.is_empty() {
                    effects.push(Effect::Marked(marked));
                }
            }
            Answer::TakenOver { returned, more } => {
                self.next = self.renewed + self.interval();
                self.lapsed = more;
                if returned > 0 {
                    effects.push(Effect::Hint(status));
                }
            }
            Answer::Released => self.gone(effects),
            _ => {}
        }
    }

    /// A take-over waits for the next renewal; all else is asked again when its patience is over.
    fn failed(&mut self) {
        if self.leave_take_over() {
            self.next = self.renewed + self.interval();
        }
    }

    fn reply(&mut self, now: Now, reply: Reply, effects: &mut Vec<Effect>) {
        if self.open.as_ref().is_none_or(|(no, _)| *no != reply.no) {
            return;
        }
        match reply.answer {
            Ok(answer) => {
                self.open = None;
                self.answered(now, answer, reply.status, effects);
            }
            Err(StoreError::Fenced) => self.disown(effects),
            Err(_) => self.failed(),
        }
    }
}

impl Machine for Lease {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Pulse => self.pulse = Some(now.mono),
            Event::Reply(reply) => self.reply(now, *reply, effects),
            Event::Release => match self.phase {
                Phase::In => {
                    self.open = None;
                    self.leave(now);
                }
                Phase::Out if self.open.is_none() => self.gone(effects),
                // It may be registered any moment, and then that is undone.
                Phase::Out => self.leave(now),
                Phase::Leaving | Phase::Gone => {}
            },
        }
        self.go_on(now, effects);
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.go_on(now, effects);
    }

    fn next_wakeup(&self) -> Wakeup {
        let waits = self.open.is_some() || self.phase == Phase::In;
        let next = (waits && !self.silent).then_some(self.next);
        Wakeup::mono(next).or(Wakeup::mono(self.end()))
    }

    fn check_invariants(&self) {
        assert!(self.phase != Phase::In || self.owner != OwnerId::SOLE, "registered as nobody");
    }
}
