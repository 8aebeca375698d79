//! Checks where tasks are kept.

use super::error::ConfigError;
use super::raw;
use crate::registry;
use crate::store::opening::check_lease;
use crate::store::{StoreChoice, StoreUrl};

/// Names of the tables are derived from it, and Postgres cuts names off at 63 bytes.
const SCHEMA_MAX: usize = 40;

pub(super) fn check(raw: raw::Store) -> Result<StoreChoice, ConfigError> {
    let url = raw.url.as_deref().unwrap_or("memory").parse().map_err(|bad| refuse("url", bad))?;
    fits(&raw, &url)?;
    let mut store = StoreChoice::from(url);
    if let Some(durability) = raw.durability {
        store = store.durability(durability);
    }
    if let Some(lease) = raw.lease {
        check_lease(lease.0)?;
        store = store.lease(lease.0);
    }
    if let Some(schema) = raw.schema {
        store = store.schema(schema_of(schema)?);
    }
    if let Some(bytes) = raw.result_max {
        let max = registry::RESULT_MAX;
        let bytes = usize::try_from(bytes.0).ok().filter(|bytes| *bytes <= max);
        let bytes = bytes.ok_or_else(|| refuse("result_max", format!("must be at most {max} bytes")))?;
        store = store.result_max(bytes);
    }
    if let Some(ttl) = raw.result_ttl {
        store = store.result_ttl(ttl.0);
    }
    let kept = store.kept;
    let age = raw.history.map_or(kept.history, |span| span.0);
    Ok(store.history(age, raw.history_max.unwrap_or(kept.history_max)))
}

/// Whether each key makes sense for the kind of store.
fn fits(raw: &raw::Store, url: &StoreUrl) -> Result<(), ConfigError> {
    let only = |key, given: bool, fits: bool, kind: &str| {
        if given && !fits { Err(refuse(key, format!("only {kind} has it"))) } else { Ok(()) }
    };
    only("schema", raw.schema.is_some(), matches!(url, StoreUrl::Postgres(_)), "a Postgres store")?;
    let (durable, outliving) = (*url != StoreUrl::Memory, "a store that outlives the yard");
    only("durability", raw.durability.is_some(), durable, outliving)?;
    only("lease", raw.lease.is_some(), durable, outliving)?;
    only("result_ttl", raw.result_ttl.is_some(), durable, outliving)?;
    only("result_max", raw.result_max.is_some(), durable, outliving)?;
    only("history", raw.history.is_some(), durable, outliving)?;
    only("history_max", raw.history_max.is_some(), durable, outliving)
}

fn schema_of(name: String) -> Result<String, ConfigError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if begins_well && name.len() <= SCHEMA_MAX && name.chars().all(plain) {
        return Ok(name);
    }
    let reason = format!("must be 1 to {SCHEMA_MAX} of a-z, 0-9 and `_`, and not begin with a digit");
    Err(refuse("schema", reason))
}

fn refuse(key: &str, reason: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("store.{key}"), reason)
}
