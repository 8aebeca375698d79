//! Which pools take which lane: a trie of patterns, and the names that each pool's workers know.

use crate::id::PoolId;
use crate::names::{Lane, Namespace, Pattern, TaskName};

/// Whether a pattern matches a namespace (AMQP topic rules).
pub fn matches(_pattern: &Pattern, _namespace: &Namespace) -> bool {
    todo!()
}

/// Patterns and known names of all pools. Part of the machines that route (Board, Queuer), each with its own copy.
#[derive(Debug, Clone, Default)]
pub struct Router {}

/// Which pools take a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// These, the one whose matching pattern is most specific first. Never empty.
    Pools(Box<[PoolId]>),
    /// None that is known to; but a pool matches whose workers have not said their names yet.
    Unlearned,
    /// None.
    Unroutable,
}

impl Router {
    /// Adds a pool with its patterns; `names`: what its workers know, `None` until they have said so.
    pub fn bind(&mut self, _pool: PoolId, _patterns: &[Pattern], _names: Option<&[TaskName]>) {
        todo!()
    }

    /// The pool's workers know these names, in addition to what is known.
    pub fn learn(&mut self, _pool: PoolId, _names: &[TaskName]) {
        todo!()
    }

    /// All pools, lowest first.
    pub fn pools(&self) -> impl Iterator<Item = PoolId> {
        std::iter::empty()
    }

    /// Which pools take the lane.
    pub fn route(&self, _lane: &Lane) -> Route {
        todo!()
    }
}
