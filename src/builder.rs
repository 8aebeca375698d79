//! How a yard is set up: what was said is checked at the start, so that the order of the calls does not matter. It decides
//! nothing that a running yard decides.

mod pools;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use taskyard_actors::clock::{Clock, RealClock};
use taskyard_actors::guardian::Guardian;
use taskyard_actors::in_flight::InFlight;
use taskyard_actors::shell::Surroundings;
use taskyard_actors::store::{Closing, Opened};
use taskyard_actors::thread;
use taskyard_actors::worker::Launcher;
use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{self, Conductor};
use taskyard_core::live::LiveIndex;
use taskyard_core::names::{Pattern, TaskName};
use taskyard_core::paired::Paired;
use taskyard_core::pool;
use taskyard_core::task::Retry;

use crate::calls::YardCalls;
use crate::context::Calls;
use crate::desk::Desk;
use crate::errors::{ScaleError, StartError};
use crate::pool::{Pool, Surroundings as PoolSurroundings};
use crate::registry::Registry;
use crate::store::StoreChoice;
use crate::worker;
use crate::yard::{Inner, Yard};
use pools::Pools;

/// The exit status of a worker process whose program forgot to be one.
const NOT_A_WORKER: i32 = 78;

/// A pool of which all is known: alike workers, and the namespaces that they take. Most pools are said with a [`Pool`].
pub struct PoolSpec {
    /// Its name; its workers are called `name-1` and so on.
    pub name: String,
    /// It takes the namespaces that match one of these.
    pub patterns: Vec<Pattern>,
    /// How many workers, and how they are treated.
    pub settings: pool::Settings,
    /// Makes what launches its workers, on the yard's thread.
    pub launcher: Box<dyn FnOnce() -> Box<dyn Launcher> + Send>,
}

impl fmt::Debug for PoolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolSpec")
            .field("name", &self.name)
            .field("patterns", &self.patterns)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Sets up a [`Yard`].
pub struct Builder {
    registry: Registry,
    pools: Vec<Pool>,
    retries: BTreeMap<String, Retry>,
    conductor: conductor::Settings,
    observed: bool,
    max_dispatches: Option<u64>,
    store: StoreChoice,
    /// Left out: as usual for the store.
    board: Option<board::Settings>,
    clock: Arc<dyn Clock>,
    /// Given with a test's clock.
    in_flight: Option<InFlight>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            registry: Registry::default(),
            pools: Vec::new(),
            retries: BTreeMap::new(),
            conductor: conductor::Settings::default(),
            observed: false,
            max_dispatches: None,
            store: StoreChoice::default(),
            board: None,
            clock: Arc::new(RealClock::start()),
            in_flight: None,
        }
    }
}

impl Builder {
    /// The handlers that this binary has: its pools run them, and what is submitted has their defaults.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Adds a pool.
    pub fn pool(mut self, pool: impl Into<Pool>) -> Self {
        self.pools.push(pool.into());
        self
    }

    /// How often and how fast failed tasks of a pool are tried again, if they say nothing of it themselves.
    pub fn retry(mut self, pool: &str, retry: Retry) -> Self {
        self.retries.insert(pool.into(), retry);
        self
    }

    /// Bounds on what is in the yard, and how far ahead it looks.
    pub fn conductor(mut self, settings: conductor::Settings) -> Self {
        self.conductor = settings;
        self
    }

    /// Where tasks are kept; if nothing is said, in memory.
    pub fn store(mut self, store: impl Into<StoreChoice>) -> Self {
        self.store = store.into();
        self
    }

    /// Bounds and order of the board.
    pub fn board(mut self, settings: board::Settings) -> Self {
        self.board = Some(settings);
        self
    }

    /// Says what happens to each task to whoever [observes](Yard::observe). It costs a little per task.
    pub fn observed(mut self) -> Self {
        self.observed = true;
        self
    }

    /// Begins so many dispatches in all, then drains: exactly so many runs, or fewer if the yard ends before. A task that is
    /// tried again is dispatched again.
    pub fn max_dispatches(mut self, dispatches: u64) -> Self {
        self.max_dispatches = Some(dispatches);
        self
    }

    /// Another clock, and a count of the mail in flight; for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>, in_flight: InFlight) -> Self {
        self.clock = clock;
        self.in_flight = Some(in_flight);
        self
    }

    /// Starts the yard, on a thread of its own. Can be called with or without a runtime around.
    ///
    /// In a process that was started as a worker and did not call [`run_if_worker`](crate::worker::run_if_worker) it says
    /// so and exits with status 78: each worker would be a yard with workers of its own.
    pub fn start(mut self) -> Result<Yard, StartError> {
        if worker::was_forgotten() {
            eprintln!(
                "this process was started as a worker and builds a yard instead: \
                 `main` must begin with taskyard::worker::run_if_worker(&registry)"
            );
            std::process::exit(NOT_A_WORKER);
        }
        let calls = YardCalls::default();
        let pools = Pools(self.specs(&calls)?);
        pools.check()?;
        self.apply_retries(&pools)?;
        let yard = self.start_with(pools)?;
        calls.open(&yard);
        Ok(yard)
    }

    fn specs(&mut self, calls: &YardCalls) -> Result<Vec<PoolSpec>, StartError> {
        let calls: Arc<dyn Calls> = Arc::new(calls.clone());
        self.retries.extend(self.pools.iter().filter_map(Pool::said_retry));
        let around = PoolSurroundings {
            registry: &self.registry,
            calls: &calls,
            in_flight: self.in_flight.as_ref(),
            thread: OnceCell::new(),
        };
        std::mem::take(&mut self.pools).into_iter().map(|pool| pool.into_spec(&around)).collect()
    }

    fn apply_retries(&mut self, pools: &Pools) -> Result<(), StartError> {
        for (name, retry) in std::mem::take(&mut self.retries) {
            let Some(pool) = pools.id(&name) else { return Err(StartError::UnknownPool(name)) };
            self.conductor.retry.insert(pool, retry);
        }
        Ok(())
    }

    /// Keys hold within one dispatcher, and on such a store there may be several.
    fn warn_of_keys(&self) {
        let limited: Vec<_> = self.registry.limited().map(TaskName::as_str).collect();
        if self.store.is_remote() && !limited.is_empty() {
            tracing::warn!(
                tasks = limited.join(", "),
                "each dispatcher of a shared board limits these alone"
            );
        }
    }

    fn start_with(mut self, pools: Pools) -> Result<Yard, StartError> {
        self.warn_of_keys();
        self.conductor.observed |= self.observed;
        self.store.inform(&mut self.conductor);
        self.conductor.max_dispatches = self.max_dispatches.or(self.conductor.max_dispatches);
        let guardian = Guardian::default();
        let surroundings = Surroundings {
            clock: self.clock,
            guardian: guardian.clone(),
            in_flight: self.in_flight.unwrap_or_default(),
        };
        let board = self.board.unwrap_or_else(|| self.store.usual_board());
        let setup = self.store.setup(pools.router(), board.clone(), &self.registry);
        let (store, closing) = self.store.open(&surroundings, setup, pools.patterns())?.unzip();
        let health = store.as_ref().map(Opened::health);
        let (live, desk) = (Arc::new(LiveIndex::default()), Arc::new(Desk::new(guardian.clone())));
        let conductor = Conductor::new(self.conductor, pools.0.len(), Arc::clone(&live));
        let (names, clock, edge) = (pools.names(), Arc::clone(&surroundings.clock), Arc::clone(&desk));
        let start = move || match store {
            // A board in memory answers within the Conductor's turn.
            None => {
                let conductor = Paired::new(conductor, Board::new(board, pools.router()));
                pools.crew(conductor, None).start(&surroundings, edge)
            }
            store => pools.crew(conductor, store).start(&surroundings, edge),
        };
        let closing_desk = Arc::clone(&desk);
        let finally = move || {
            closing_desk.close();
            closing.into_iter().for_each(Closing::wait);
        };
        let conductor = thread::spawn(guardian.clone(), start, finally).map_err(StartError::Thread)?;
        let (pools, registry) = (names, self.registry);
        Ok(Yard::new(Inner { conductor, desk, guardian, live, health, clock, pools, registry }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("pools", &self.pools).finish_non_exhaustive()
    }
}

/// Whether a pool can have these bounds.
pub(crate) fn check_bounds(min: u32, max: u32) -> Result<(), ScaleError> {
    if min > max || max == 0 { Err(ScaleError::BadBounds { min, max }) } else { Ok(()) }
}
