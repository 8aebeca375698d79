//! How a yard is set up: what was said is checked at the start, so that the order of the calls does not matter. It decides
//! nothing that a running yard decides.

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
use taskyard_core::pool::{self, Pool};
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;
use taskyard_core::task::Retry;

use crate::desk::Desk;
use crate::errors::{ScaleError, StartError};
use crate::yard::{Inner, Yard};

/// A pool to be: alike workers, and the namespaces that they take.
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
    pools: Vec<PoolSpec>,
    retries: BTreeMap<String, Retry>,
    conductor: conductor::Settings,
    observed: bool,
    board: board::Settings,
    clock: Arc<dyn Clock>,
    in_flight: InFlight,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            pools: Vec::new(),
            retries: BTreeMap::new(),
            conductor: conductor::Settings::default(),
            observed: false,
            board: board::Settings::default(),
            clock: Arc::new(RealClock::start()),
            in_flight: InFlight::default(),
        }
    }
}

impl Builder {
    /// Adds a pool.
    pub fn pool(mut self, pool: PoolSpec) -> Self {
        self.pools.push(pool);
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
        self.in_flight = in_flight;
        self
    }

    /// Starts the yard, on a thread of its own. Can be called with or without a runtime around.
    pub fn start(self) -> Result<Yard, StartError> {
        self.check()?;
        let guardian = Guardian::default();
        let desk = Arc::new(Desk::new(guardian.clone()));
        let live = Arc::new(LiveIndex::default());
        let pools: Vec<_> = self.pools.iter().map(|pool| pool.name.clone()).collect();
        let surroundings = Surroundings {
            clock: Arc::clone(&self.clock),
            guardian: guardian.clone(),
            in_flight: self.in_flight.clone(),
        };
        let clock = Arc::clone(&self.clock);
        let (crew_live, edge, closing_desk) = (Arc::clone(&live), Arc::clone(&desk), Arc::clone(&desk));
        let start = move || self.crew(crew_live).start(&surroundings, edge);
        let conductor = thread::spawn(guardian.clone(), start, move || closing_desk.close());
        let conductor = conductor.map_err(StartError::Thread)?;
        Ok(Yard::new(Inner { conductor, desk, guardian, live, clock, pools }))
    }

    fn check(&self) -> Result<(), StartError> {
        if self.pools.is_empty() {
            return Err(StartError::NoPool);
        }
        if self.pools.len() > PoolSet::MAX {
            return Err(StartError::TooManyPools(self.pools.len()));
        }
        for (index, pool) in self.pools.iter().enumerate() {
            let name = || pool.name.clone();
            if self.pools[..index].iter().any(|other| other.name == pool.name) {
                return Err(StartError::SamePool(name()));
            }
            if pool.patterns.is_empty() {
                return Err(StartError::NoPattern(name()));
            }
            let bounds = check_bounds(pool.settings.min, pool.settings.max);
            bounds.map_err(|source| StartError::BadBounds { pool: name(), source })?;
        }
        match self.retries.keys().find(|name| self.pool_id(name).is_none()) {
            Some(name) => Err(StartError::UnknownPool(name.clone())),
            None => Ok(()),
        }
    }

    fn pool_id(&self, name: &str) -> Option<PoolId> {
        self.pools.iter().position(|pool| pool.name == name).map(|index| PoolId(index as u8))
    }

    fn crew(
        mut self,
        live: Arc<LiveIndex>,
    ) -> Crew<Paired<Conductor, Board>, Delayer, Blocker, InProgress, Queuer, Pool> {
        let retries: Vec<_> = self.retries.iter().map(|(name, retry)| (self.pool_id(name), *retry)).collect();
        self.conductor.retry.extend(retries.into_iter().filter_map(|(pool, retry)| Some((pool?, retry))));
        self.conductor.observed |= self.observed;
        let router = self.router();
        let conductor = Conductor::new(self.conductor, self.pools.len(), live);
        Crew {
            conductor: Paired::new(conductor, Board::new(self.board, router.clone())),
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(router),
            pools: self.pools.into_iter().enumerate().map(|(index, pool)| pool_crew(index, pool)).collect(),
        }
    }

    fn router(&self) -> Router {
        let mut router = Router::default();
        for (index, pool) in self.pools.iter().enumerate() {
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

fn pool_crew(index: usize, spec: PoolSpec) -> PoolCrew<Pool> {
    PoolCrew {
        machine: Pool::new(PoolId(index as u8), spec.settings),
        opening: Pool::start,
        launcher: (spec.launcher)(),
        name: spec.name,
    }
}

/// Whether a pool can have these bounds.
pub(crate) fn check_bounds(min: u32, max: u32) -> Result<(), ScaleError> {
    if min > max || max == 0 { Err(ScaleError::BadBounds { min, max }) } else { Ok(()) }
}
