//! The one actor around every machine: reads the clock, feeds the machine, carries out what it says, keeps its one timer.
//! It decides nothing.

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle, WrapFuture};
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Now, Wakeup};

use crate::clock::Clock;
use crate::guardian::{Guardian, Tripwire};
use crate::in_flight::{Flight, InFlight};
use crate::post::Post;
use crate::tell::Tell;

/// A machine that a shell can run: its events can be sent, and what it says is mail.
pub trait Role: Machine<Event: Send + 'static, Effect: Into<Mail>> + 'static {}

impl<M: Machine<Event: Send + 'static, Effect: Into<Mail>> + 'static> Role for M {}

/// What every shell of a yard shares.
#[derive(Clone)]
pub struct Surroundings {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Learns of a shell that breaks.
    pub guardian: Guardian,
    /// Counts the mail.
    pub in_flight: InFlight,
}

/// What a machine does once, before its first event.
pub type Opening<M> = fn(&mut M, Now, &mut Vec<<M as Machine>::Effect>);

/// An actor around a machine. Its messages are [`Tell`]s of the machine's events.
pub struct Shell<M: Machine> {
    machine: M,
    clock: Arc<dyn Clock>,
    in_flight: InFlight,
    post: Post,
    effects: Vec<M::Effect>,
    opening: Option<Opening<M>>,
    /// Lands at the end of its first turn.
    beginning: Option<Flight>,
    armed: Option<Alarm>,
    /// Held, not read: its drop is the news.
    _tripwire: Tripwire,
}

/// The one timer.
struct Alarm {
    wakeup: Wakeup,
    timer: SpawnHandle,
}

impl<M: Role> Shell<M> {
    /// A shell that is not yet running; `role` is what the guardian calls it. It counts as mail until it has had its first
    /// turn, or is dropped.
    pub fn new(role: &'static str, machine: M, post: Post, surroundings: &Surroundings) -> Self {
        Self {
            machine,
            clock: Arc::clone(&surroundings.clock),
            in_flight: surroundings.in_flight.clone(),
            post,
            effects: Vec::new(),
            opening: None,
            beginning: Some(surroundings.in_flight.launch()),
            armed: None,
            _tripwire: surroundings.guardian.tripwire(role),
        }
    }

    /// With something that the machine does once, before its first event.
    pub fn opening(mut self, opening: Opening<M>) -> Self {
        self.opening = Some(opening);
        self
    }

    /// One turn: `step` tells the machine what there is, then all that it said is sent.
    fn turn(&mut self, ctx: &mut Context<Self>, step: impl FnOnce(&mut M, Now, &mut Vec<M::Effect>)) {
        let now = self.clock.now();
        step(&mut self.machine, now, &mut self.effects);
        self.machine.end_turn(now, &mut self.effects);
        self.effects.drain(..).for_each(|effect| self.post.put(effect.into()));
        self.post.deliver();
        self.rearm(ctx);
    }

    /// Sees to it that the timer goes off no later than the machine wishes. Earlier is harmless and kept: arming anew for
    /// each turn would cost more than a needless look at the clock.
    fn rearm(&mut self, ctx: &mut Context<Self>) {
        let wish = self.machine.next_wakeup();
        if self.armed.as_ref().is_some_and(|alarm| covers(alarm.wakeup, wish)) {
            return;
        }
        if let Some(alarm) = self.armed.take() {
            ctx.cancel_future(alarm.timer);
        }
        if wish != Wakeup::NEVER {
            let sleep = self.clock.sleep(wish, &self.in_flight).into_actor(self);
            let timer = ctx.spawn(sleep.map(|flight, shell, ctx| {
                shell.ring(ctx);
                drop(flight);
            }));
            self.armed = Some(Alarm { wakeup: wish, timer });
        }
    }

    /// The timer went off, perhaps only because the wall clock must be looked at again.
    fn ring(&mut self, ctx: &mut Context<Self>) {
        self.armed = None;
        if self.machine.next_wakeup().is_due(self.clock.now()) {
            self.turn(ctx, M::wake);
        } else {
            self.rearm(ctx);
        }
    }
}

/// Whether an alarm for `armed` goes off early enough for `wish`.
fn covers(armed: Wakeup, wish: Wakeup) -> bool {
    fn early_enough<T: Ord>(armed: Option<T>, wish: Option<T>) -> bool {
        match (armed, wish) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(armed), Some(wish)) => armed <= wish,
        }
    }
    early_enough(armed.mono, wish.mono) && early_enough(armed.wall, wish.wall)
}

/// Nothing in it is ever pinned.
impl<M: Machine> Unpin for Shell<M> {}

impl<M: Role> Actor for Shell<M> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let opening = self.opening.take();
        self.turn(ctx, |machine, now, effects| {
            if let Some(open) = opening {
                open(machine, now, effects);
            }
        });
        self.beginning = None;
    }
}

impl<M: Role> Handler<Tell<M::Event>> for Shell<M> {
    type Result = ();

    fn handle(&mut self, tell: Tell<M::Event>, ctx: &mut Context<Self>) {
        let (events, _flight) = tell.open();
        self.turn(ctx, |machine, now, effects| {
            for event in events {
                machine.handle(now, event, effects);
            }
        });
    }
}
