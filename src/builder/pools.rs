//! The pools of a yard to be: checks them together, and makes of them what routes and runs tasks.

use std::collections::BTreeSet;

use taskyard_actors::crew::{Crew, PoolCrew};
use taskyard_actors::store::Opened;
use taskyard_core::Machine;
use taskyard_core::blocker::Blocker;
use taskyard_core::delayer::Delayer;
use taskyard_core::id::{PoolId, PoolSet};
use taskyard_core::in_progress::InProgress;
use taskyard_core::names::Pattern;
use taskyard_core::pool;
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;

use super::{PoolSpec, check_bounds};
use crate::errors::StartError;

/// The pools of a yard to be, by [`PoolId`].
pub(super) struct Pools(pub(super) Vec<PoolSpec>);

impl Pools {
    pub(super) fn check(&self) -> Result<(), StartError> {
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
            bounds.map_err(|why| StartError::BadBounds { pool: name(), why })?;
        }
        Ok(())
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|pool| pool.name.clone()).collect()
    }

    pub(super) fn id(&self, name: &str) -> Option<PoolId> {
        self.0.iter().position(|pool| pool.name == name).map(|index| PoolId(index as u8))
    }

    pub(super) fn crew<C: Machine>(
        self,
        conductor: C,
        store: Option<Opened>,
    ) -> Crew<C, Delayer, Blocker, InProgress, Queuer, pool::Pool> {
        Crew {
            conductor,
            store,
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(self.router()),
            pools: self.0.into_iter().enumerate().map(|(index, pool)| pool_crew(index, pool)).collect(),
        }
    }

    /// Of all pools, each once.
    pub(super) fn patterns(&self) -> Vec<Pattern> {
        let patterns: BTreeSet<_> = self.0.iter().flat_map(|pool| &pool.patterns).cloned().collect();
        patterns.into_iter().collect()
    }

    pub(super) fn router(&self) -> Router {
        let mut router = Router::default();
        for (index, pool) in self.0.iter().enumerate() {
            router.bind(PoolId(index as u8), &pool.patterns, pool.settings.names.as_deref());
        }
        router
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
