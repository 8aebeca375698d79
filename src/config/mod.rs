//! The configuration: what was typed ([`Config`]) and, once checked, what it means ([`Settings`]). Nothing is started.

mod error;
mod pools;
pub mod raw;
mod schedules;
mod store;
mod values;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use taskyard_core::{board, conductor, defaults};

pub use error::ConfigError;
pub use pools::{Command, PoolSettings};
pub use raw::{Config, Kind};
pub use schedules::{ScheduleSettings, When};
pub use values::{Size, Span};

use crate::store::StoreChoice;

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For the Conductor, with the retries of each pool.
    pub conductor: conductor::Settings,
    /// Where tasks are kept.
    pub store: StoreChoice,
    /// For the board.
    pub board: board::Settings,
    /// The pools; the place of each is its [`PoolId`](taskyard_core::id::PoolId). At least one.
    pub pools: Vec<PoolSettings>,
    /// Where the Unix socket is; `None`: there is none.
    pub socket: Option<PathBuf>,
    /// What is posted again and again.
    pub schedules: Vec<ScheduleSettings>,
    /// Tasks, as on the wire, that are posted at each start.
    pub on_start: Vec<String>,
}

/// Whether the program that reads the configuration has handlers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handlers {
    /// It has: a pool without a command runs them.
    Own,
    /// It has none: every pool needs a command.
    None,
}

impl Config {
    /// Reads TOML text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let toml = toml::Deserializer::parse(text).map_err(|error| ConfigError::new("", error))?;
        serde_path_to_error::deserialize(toml).map_err(|error| {
            let path = error.path().to_string();
            ConfigError::new(path.trim_matches('.'), error.inner().message())
        })
    }

    /// What it means, if it can be.
    pub fn check(self, handlers: Handlers) -> Result<Settings, ConfigError> {
        let socket = self.socket.map(|socket| socket.path);
        if socket.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err(ConfigError::new("socket.path", "is empty"));
        }
        let yard = &self.yard;
        let drain_grace = yard.drain_grace.map_or(defaults::DRAIN_GRACE, |span| span.0);
        let pools = pools::check(self.pools, handlers, drain_grace)?;
        let store = store::check(self.store)?;
        Ok(Settings {
            conductor: conductor(yard, &pools)?,
            board: board(yard, store.usual_board())?,
            store,
            pools,
            socket,
            schedules: schedules::check(self.schedules)?,
            on_start: schedules::on_start(self.on_start)?,
        })
    }
}

impl Settings {
    /// Reads TOML text and checks it.
    pub fn parse(text: &str, handlers: Handlers) -> Result<Self, ConfigError> {
        Config::parse(text)?.check(handlers)
    }
}

fn conductor(yard: &raw::Yard, pools: &[PoolSettings]) -> Result<conductor::Settings, ConfigError> {
    let default = conductor::Settings::default();
    Ok(conductor::Settings {
        live_max: at_least_one("yard.live_max", yard.live_max)?.unwrap_or(default.live_max),
        near_max: at_least_one("yard.near_max", yard.near_max)?.unwrap_or(default.near_max),
        horizon: yard.horizon.map_or(default.horizon, |span| span.0),
        retry: pools.iter().filter_map(|pool| Some((pool.id, pool.retry?))).collect(),
        ..default
    })
}

fn board(yard: &raw::Yard, default: board::Settings) -> Result<board::Settings, ConfigError> {
    Ok(board::Settings {
        board_max: at_least_one("yard.board_max", yard.board_max)?.unwrap_or(default.board_max),
        aging: yard.aging.map_or(default.aging, |span| span.0),
        reject_unroutable: yard.unroutable == raw::Unroutable::Reject,
        ..default
    })
}

fn at_least_one<T: PartialEq + From<u8>>(path: &str, value: Option<T>) -> Result<Option<T>, ConfigError> {
    if value == Some(T::from(0)) { Err(ConfigError::new(path, "must be at least 1")) } else { Ok(value) }
}
