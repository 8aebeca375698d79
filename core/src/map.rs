//! The hash map of the machines: a fixed seed, so that a run can be replayed. Its order never reaches an effect.

use std::collections::{HashMap, HashSet};

/// How keys are hashed.
pub type Hasher = foldhash::fast::FixedState;
/// A map whose iteration order never reaches an effect.
pub type Map<K, V> = HashMap<K, V, Hasher>;
/// A set whose iteration order never reaches an effect.
pub type Set<K> = HashSet<K, Hasher>;
