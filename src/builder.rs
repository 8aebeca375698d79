//! How a yard is set up: what was said is checked at the start, so that the order of the calls does not matter. It decides
//! nothing that a running yard decides.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use taskyard_actors::clock::{Clock, RealClock};
use taskyard_actors::crew::{Crew, PoolCrew};
use taskyard_actors::guardian::Guardian;
use taskyard_actors::in_flight::InFlight;
use taskyard_actors::shell::Surroundings;
use taskyard_actors::thread;
use taskyard_actors::worker::Launcher;
use taskyard_core::blocker::Blocker;
use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{self, Conductor};
use taskyard_core::delayer::Delayer;
use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::in_progress::InProgress;
use taskyard_core::live::LiveIndex;
use taskyard_core::names::Pattern;
use taskyard_core::paired::Paired;
use taskyard_core::pool;
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;
use taskyard_core::task::Retry;

use crate::calls::YardCalls;
use crate::context::Calls;
use crate::desk::Desk;
use crate::errors::{ScaleError, StartError};
use crate::pool::{Pool, Surroundings as PoolSurroundings};
use crate::registry::Registry;
use crate::worker;
use crate::yard::{Inner, Yard};

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
    board: board::Settings,
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
            board: board::Settings::default(),
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

    /// Bounds and order of the memory board.
    pub fn board(mut self, settings: board::Settings) -> Self {
        self.board = settings;
        self
    }

    /// Says what happens to each task to whoever [observes](Yard::observe). It costs a little per task.
    pub fn observed(mut self) -> Self {
        self.observed = true;
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

    fn start_with(mut self, pools: Pools) -> Result<Yard, StartError> {
        self.conductor.observed |= self.observed;
        let guardian = Guardian::default();
        let desk = Arc::new(Desk::new(guardian.clone()));
        let live = Arc::new(LiveIndex::default());
        let names = pools.0.iter().map(|pool| pool.name.clone()).collect();
        let clock = self.clock;
        let surroundings = Surroundings {
            clock: Arc::clone(&clock),
            guardian: guardian.clone(),
            in_flight: self.in_flight.unwrap_or_default(),
        };
        let (crew_live, edge, closing_desk) = (Arc::clone(&live), Arc::clone(&desk), Arc::clone(&desk));
        let start = move || pools.crew(self.conductor, self.board, crew_live).start(&surroundings, edge);
        let conductor = thread::spawn(guardian.clone(), start, move || closing_desk.close());
        let conductor = conductor.map_err(StartError::Thread)?;
        Ok(Yard::new(Inner { conductor, desk, guardian, live, clock, pools: names, registry: self.registry }))
    }
}

/// The pools of a yard to be, by [`PoolId`].
struct Pools(Vec<PoolSpec>);

impl Pools {
    fn check(&self) -> Result<(), StartError> {
        if self.0.is_empty() {
            return Err(StartError::NoPool);
        }
        if self.0.len() > PoolSet::MAX {
            return Err(StartError::TooManyPools(self.0.len()));
        }
        for (index, pool) in self.0.iter().enumerate() {
            let name = || pool.name.clone();
            if self.0[..index].iter().any(|other| other.name == pool.name) {
                return Err(StartError::SamePool(name()));
            }
            if pool.patterns.is_empty() {
                return Err(StartError::NoPattern(name()));
            }
            let bounds = check_bounds(pool.settings.min, pool.settings.max);
            bounds.map_err(|source| StartError::BadBounds { pool: name(), source })?;
        }
        Ok(())
    }

    fn id(&self, name: &str) -> Option<PoolId> {
        self.0.iter().position(|pool| pool.name == name).map(|index| PoolId(index as u8))
    }

    fn crew(
        self,
        settings: conductor::Settings,
        board: board::Settings,
        live: Arc<LiveIndex>,
    ) -> Crew<Paired<Conductor, Board>, Delayer, Blocker, InProgress, Queuer, pool::Pool> {
        let router = self.router();
        let conductor = Conductor::new(settings, self.0.len(), live);
        Crew {
            conductor: Paired::new(conductor, Board::new(board, router.clone())),
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(router),
            pools: self.0.into_iter().enumerate().map(|(index, pool)| pool_crew(index, pool)).collect(),
        }
    }

    fn router(&self) -> Router {
        let mut router = Router::default();
        for (index, pool) in self.0.iter().enumerate() {
            router.bind(PoolId(index as u8), &pool.patterns, pool.settings.names.as_deref());
        }
        router
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("pools", &self.pools).finish_non_exhaustive()
    }
}

fn pool_crew(index: usize, spec: PoolSpec) -> PoolCrew<pool::Pool> {
    PoolCrew {
        machine: pool::Pool::new(PoolId(index as u8), spec.settings),
        opening: pool::Pool::start,
        launcher: (spec.launcher)(),
        name: spec.name,
    }
}

/// Whether a pool can have these bounds.
pub(crate) fn check_bounds(min: u32, max: u32) -> Result<(), ScaleError> {
    if min > max || max == 0 { Err(ScaleError::BadBounds { min, max }) } else { Ok(()) }
}
