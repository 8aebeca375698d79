//! What names a task, a dispatch, a pool, a worker and a question.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// A task's id, for its whole life: a UUID, given by the producer or made (version 7) at the edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u128);

impl TaskId {
    /// An id derived from a parent's and what tells its children apart (callbacks, `once` labels): the same input
    /// gives the same id, so that a repeated settlement or a retried handler posts nothing twice. A UUID version 8.
    pub fn derived(self, label: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("taskyard child id 1");
        hasher.update(&self.0.to_be_bytes());
        hasher.update(label);
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid().as_u128())
    }

    /// The id of what is posted when this task's pass `epoch` ended it: its callback or errback of this place.
    pub fn follow_up(self, kind: FollowUp, epoch: Epoch, index: usize) -> Self {
        let kind = match kind {
            FollowUp::Callback => "callback",
            FollowUp::Errback => "errback",
        };
        self.derived(format!("{kind} {epoch} {index}").as_bytes())
    }
}

/// What follows a task's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUp {
    /// After a success.
    Callback,
    /// After the trash.
    Errback,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from_u128(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a UUID (as in 0192e4a0-7c1b-7000-8000-000000000001)")]
pub struct BadTaskId(String);

impl FromStr for TaskId {
    type Err = BadTaskId;
    fn from_str(text: &str) -> Result<Self, BadTaskId> {
        let shown = || BadTaskId(text.chars().take(64).collect());
        Uuid::try_parse(text).map(|id| Self(id.as_u128())).map_err(|_| shown())
    }
}

impl serde::Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Which pass of a task through the yard: it rises with every claim. (task id, epoch) names a dispatch.
pub type Epoch = u32;
/// The order of arrival at the board; never reused.
pub type Sequence = u64;
/// Names who waits for an answer at the edge. Opaque to every machine.
pub type Token = u64;

/// A pool, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u8);

/// One worker of a pool; a refilled slot gets a new number, never reused within the yard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId {
    /// Its pool.
    pub pool: PoolId,
    /// Its number in the pool, from 1.
    pub number: u32,
}

/// A set of pools. A yard has at most [`PoolSet::MAX`] of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSet(u64);

impl PoolSet {
    /// How many pools a yard may have.
    pub const MAX: usize = 64;

    /// Adds a pool.
    pub fn insert(&mut self, pool: PoolId) {
        self.0 |= 1 << pool.0;
    }

    /// Removes a pool.
    pub fn remove(&mut self, pool: PoolId) {
        self.0 &= !(1 << pool.0);
    }

    /// Whether the pool is in it.
    pub fn contains(self, pool: PoolId) -> bool {
        self.0 & (1 << pool.0) != 0
    }

    /// Whether no pool is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All pools that are in either.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The pools, lowest first.
    pub fn iter(self) -> impl Iterator<Item = PoolId> {
        (0..Self::MAX as u8).map(PoolId).filter(move |pool| self.contains(*pool))
    }
}

impl FromIterator<PoolId> for PoolSet {
    fn from_iter<I: IntoIterator<Item = PoolId>>(pools: I) -> Self {
        let mut set = Self::default();
        pools.into_iter().for_each(|pool| set.insert(pool));
        set
    }
}
