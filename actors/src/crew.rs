//! The actors of one yard: opens a mailbox for each role, wires them by their roles and sets them to work. All of them live
//! on the arbiter of the calling thread, so that mail between them is cheap.

use std::sync::Arc;

use actix::{Addr, AsyncContext, Context, Recipient};
use taskyard_core::{Machine, blocker, conductor, delayer, in_progress, pool, queuer};

use crate::inlet::Inlet;
use crate::post::{Edge, Post, Roles};
use crate::shell::{Opening, Role, Shell, Surroundings};
use crate::store::{Gateway, Opened};
use crate::tell::Tell;
use crate::worker::Launcher;
use crate::workers::Workers;

/// The machines of one yard.
pub struct Crew<C, D, B, I, Q, P: Machine> {
    /// The Conductor, with its board if that answers within its turn (see [`Paired`](taskyard_core::paired::Paired)).
    pub conductor: C,
    /// The board, if it is a store with a thread of its own.
    pub store: Option<Opened>,
    /// The Delayer.
    pub delayer: D,
    /// The Blocker.
    pub blocker: B,
    /// The authority on keys.
    pub in_progress: I,
    /// The Queuer.
    pub queuer: Q,
    /// The pools, by [`PoolId`](taskyard_core::id::PoolId).
    pub pools: Vec<PoolCrew<P>>,
}

/// One pool's machine and what launches its workers.
pub struct PoolCrew<P: Machine> {
    /// The pool's name; its workers are called `name-1` and so on.
    pub name: String,
    /// The Pool.
    pub machine: P,
    /// What it does first.
    pub opening: Opening<P>,
    /// Launches its workers.
    pub launcher: Box<dyn Launcher>,
}

impl<C, D, B, I, Q, P> Crew<C, D, B, I, Q, P>
where
    C: Machine<Event = conductor::Event, Effect = conductor::Effect> + 'static,
    D: Machine<Event = delayer::Event, Effect = delayer::Effect> + 'static,
    B: Machine<Event = blocker::Event, Effect = blocker::Effect> + 'static,
    I: Machine<Event = in_progress::Event, Effect = in_progress::Effect> + 'static,
    Q: Machine<Event = queuer::Event, Effect = queuer::Effect> + 'static,
    P: Machine<Event = pool::Event, Effect = pool::Effect> + 'static,
{
    /// Sets everybody to work. Returns the way in.
    ///
    /// # Panics
    /// Outside an actix `System`.
    pub fn start(self, surroundings: &Surroundings, edge: Arc<dyn Edge>) -> Arc<Inlet<conductor::Event>> {
        let conductor = Seat::<C>::open();
        let delayer = Seat::<D>::open();
        let blocker = Seat::<B>::open();
        let in_progress = Seat::<I>::open();
        let queuer = Seat::<Q>::open();
        let pools: Vec<_> = self.pools.iter().map(|_| Seat::<P>::open()).collect();
        let store = self.store.map(|store| (store, Context::<Gateway>::new()));
        let gateway = store.as_ref().map(|(_, seat)| seat.address());
        let roles = Roles {
            conductor: conductor.recipient(),
            board: gateway.clone().map(Addr::recipient),
            lease: gateway.map(Addr::recipient),
            delayer: delayer.recipient(),
            blocker: blocker.recipient(),
            in_progress: in_progress.recipient(),
            queuer: queuer.recipient(),
            pools: pools.iter().map(Seat::recipient).collect(),
            edge,
            in_flight: surroundings.in_flight.clone(),
        };
        for (pool, seat) in self.pools.into_iter().zip(pools) {
            seat.fill_pool(pool, &roles, surroundings);
        }
        queuer.fill("Queuer", self.queuer, &roles, surroundings);
        in_progress.fill("InProgress", self.in_progress, &roles, surroundings);
        blocker.fill("Blocker", self.blocker, &roles, surroundings);
        delayer.fill("Delayer", self.delayer, &roles, surroundings);
        conductor.fill("Conductor", self.conductor, &roles, surroundings);
        let inlet = Inlet::new(roles.conductor, surroundings.in_flight.clone());
        if let Some((store, seat)) = store {
            seat.run(store.begin(&inlet));
        }
        inlet
    }
}

/// A mailbox whose actor is not there yet: everybody's address is known before anybody starts.
struct Seat<M: Role>(Context<Shell<M>>);

impl<M: Role> Seat<M> {
    fn open() -> Self {
        Self(Context::new())
    }

    fn recipient(&self) -> Recipient<Tell<M::Event>> {
        self.0.address().recipient()
    }

    fn fill(self, role: &'static str, machine: M, roles: &Roles, surroundings: &Surroundings) {
        self.0.run(Shell::new(role, machine, Post::new(roles), surroundings));
    }
}

impl<P: Role + Machine<Event = pool::Event>> Seat<P> {
    fn fill_pool(self, pool: PoolCrew<P>, roles: &Roles, surroundings: &Surroundings) {
        let workers = Workers::new(&pool.name, pool.launcher, self.recipient(), &surroundings.in_flight);
        let post = Post::new(roles).with_workers(workers);
        self.0.run(Shell::new("Pool", pool.machine, post, surroundings).opening(pool.opening));
    }
}
