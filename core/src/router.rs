//! Which pools take which lane: a trie of patterns, and the names that each pool's workers know. It never says which of
//! the pools gets a task.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::id::PoolId;
use crate::map::{Map, Set};
use crate::names::{Lane, Namespace, Pattern, TaskName};
use crate::topic::{self, Specificity};
use crate::trie::Trie;

/// Whether a pattern matches a namespace (AMQP topic rules).
pub fn matches(pattern: &Pattern, namespace: &Namespace) -> bool {
    topic::matches(pattern.as_str(), namespace.as_str())
}

/// Patterns and known names of all pools. Part of the machines that route (Board, Queuer), each with its own copy.
#[derive(Debug, Clone, Default)]
pub struct Router {
    patterns: Trie<PoolId>,
    /// Only pools with a binding.
    pools: Map<PoolId, Bound>,
}

/// A pool that is bound.
#[derive(Debug, Clone, Default)]
struct Bound {
    bindings: usize,
    /// `None`: its workers have not said them yet.
    names: Option<Set<TaskName>>,
}

/// Which pools take a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// These, the one whose matching pattern is most [specific](Specificity) first, ties by the pool's id. Never empty.
    Pools(Box<[PoolId]>),
    /// None that is known to; but a pool matches whose workers have not said their names yet.
    Unlearned,
    /// None.
    Unroutable,
}

impl Router {
    /// Adds a pool with its patterns, or more patterns to it; `names`: what its workers know, `None` until they have
    /// said so. The same pattern bound twice must be unbound twice.
    pub fn bind(&mut self, pool: PoolId, patterns: &[Pattern], names: Option<&[TaskName]>) {
        if patterns.is_empty() {
            return;
        }
        for pattern in patterns {
            self.patterns.bind(pattern.as_str(), pool);
        }
        self.pools.entry(pool).or_default().bindings += patterns.len();
        if let Some(names) = names {
            self.learn(pool, names);
        }
    }

    /// Takes one binding of each pattern back. With its last one, all that was known of the pool is forgotten.
    pub fn unbind(&mut self, pool: PoolId, patterns: &[Pattern]) {
        let found = patterns.iter().filter(|pattern| self.patterns.unbind(pattern.as_str(), &pool)).count();
        let Some(bound) = self.pools.get_mut(&pool) else { return };
        bound.bindings -= found;
        if bound.bindings == 0 {
            self.pools.remove(&pool);
        }
    }

    /// All pools that are bound, lowest first.
    pub fn pools(&self) -> impl Iterator<Item = PoolId> {
        let mut pools: Vec<_> = self.pools.keys().copied().collect();
        pools.sort_unstable();
        pools.into_iter()
    }

    /// The pool's workers know these names, in addition to what is known. Nothing is kept of a pool that is not bound.
    pub fn learn(&mut self, pool: PoolId, names: &[TaskName]) {
        if let Some(bound) = self.pools.get_mut(&pool) {
            bound.names.get_or_insert_default().extend(names.iter().cloned());
        }
    }

    /// Which pools take the lane: a pattern matches its namespace, and the workers know its name.
    pub fn route(&self, lane: &Lane) -> Route {
        let mut known = Vec::new();
        let mut unlearned = false;
        for (pool, specificity) in self.matching(&lane.namespace) {
            match self.pools.get(&pool).and_then(|bound| bound.names.as_ref()) {
                Some(names) if names.contains(&lane.name) => known.push((Reverse(specificity), pool)),
                Some(_) => {}
                None => unlearned = true,
            }
        }
        if known.is_empty() {
            return if unlearned { Route::Unlearned } else { Route::Unroutable };
        }
        known.sort_unstable();
        Route::Pools(known.into_iter().map(|(_, pool)| pool).collect())
    }

    /// Each pool that matches, with its most specific matching pattern.
    fn matching(&self, namespace: &Namespace) -> BTreeMap<PoolId, Specificity> {
        let mut best = BTreeMap::new();
        for (specificity, pool) in self.patterns.matches(namespace.as_str()) {
            let slot = best.entry(*pool).or_insert(specificity);
            *slot = specificity.max(*slot);
        }
        best
    }
}
