//! How a Conductor is set up.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::defaults;
use crate::id::PoolId;
use crate::task::Retry;

/// How the Conductor is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many tasks may be in the yard.
    pub live_max: usize,
    /// How many not yet due tasks a pool may have in the yard.
    pub near_max: usize,
    /// How far ahead of its due time a parked task is taken into the Delayer.
    pub horizon: Duration,
    /// For tasks that say nothing of retries, by pool.
    pub retry: BTreeMap<PoolId, Retry>,
    /// Whether the board is shared with other dispatchers, or outlives this one: it registers as an owner, keeps its lease
    /// alive and looks for what others did.
    pub shared: bool,
    /// How many deliveries in a row may end with nobody left to report it, before the task is trashed.
    pub max_deliveries: u32,
    /// How many dispatches are begun in all, those that come back without having started left out. After the end of the
    /// last the yard drains by itself, and tells its end to token 0, which nobody has. `None`: no bound.
    pub max_dispatches: Option<u64>,
    /// How long a submit waits for a store that fails, before it fails too.
    pub submit_patience: Duration,
    /// How long a shared board remembers what ended.
    pub history_for: Duration,
    /// How many ended tasks a shared board remembers.
    pub history_max: usize,
    /// How long a shared board keeps the values of what ended.
    pub result_ttl: Duration,
    /// Whether anybody observes, so that [`Effect::Happened`](super::Effect::Happened) is worth sending.
    pub observed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            live_max: defaults::LIVE_MAX,
            near_max: defaults::NEAR_MAX,
            horizon: defaults::HORIZON,
            retry: BTreeMap::new(),
            shared: false,
            max_deliveries: defaults::MAX_DELIVERIES,
            max_dispatches: None,
            submit_patience: defaults::SUBMIT_PATIENCE,
            history_for: defaults::HISTORY_FOR,
            history_max: defaults::HISTORY_MAX,
            result_ttl: defaults::RESULT_TTL,
            observed: false,
        }
    }
}
