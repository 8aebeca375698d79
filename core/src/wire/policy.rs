//! Reads the two policies that are objects on the wire: `on_duplicate` and `retry`. A misspelt word in them is an error.

use serde::Deserialize;

use super::field::{Field, Given};
use super::rejected::Rejected;
use crate::options::{ATTEMPTS_MAX, FACTOR_MAX, RUNNING_MAX};
use crate::task::{KeyLimits, Overflow, Retry};

const NAMED: [(&str, KeyLimits); 5] = [
    ("parallel", KeyLimits::PARALLEL),
    ("serial", KeyLimits::SERIAL),
    ("discard", KeyLimits::DISCARD),
    ("queue_one", KeyLimits::QUEUE_ONE),
    ("replace", KeyLimits::REPLACE),
];

const OVERFLOWS: [(&str, Overflow); 2] =
    [("drop_new", Overflow::DropNew), ("drop_waiting", Overflow::DropWaiting)];

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
struct WireLimits<'a> {
    limit: Given<'a>,
    waiting: Given<'a>,
    overflow: Given<'a>,
}

/// `on_duplicate`: a name, or `{"limit": n, "waiting": m, "overflow": …}`.
pub(super) fn on_duplicate(field: Field<'_>) -> Result<KeyLimits, Rejected> {
    if !field.is_object() {
        return field.one_of(&NAMED);
    }
    let said: WireLimits<'_> = field.object()?;
    let running = said.limit.read("on_duplicate.limit", |field| field.whole(1..=RUNNING_MAX))?;
    let waiting =
        said.waiting.read("on_duplicate.waiting", |field| field.whole(0..=KeyLimits::MAX_WAITING))?;
    let overflow = said.overflow.read("on_duplicate.overflow", |field| field.one_of(&OVERFLOWS))?;
    let Some(running) = running else {
        return Err(Rejected::field("on_duplicate.limit", "is missing: how many may run at once"));
    };
    let waiting = waiting.unwrap_or(KeyLimits::UNLIMITED);
    Ok(KeyLimits::new(running, waiting, overflow.unwrap_or(Overflow::DropNew)))
}

/// What `on_duplicate` says for these limits.
pub(super) fn on_duplicate_json(limits: KeyLimits) -> serde_json::Value {
    if let Some((name, _)) = NAMED.iter().find(|(_, named)| *named == limits) {
        return (*name).into();
    }
    let mut said = serde_json::json!({ "limit": limits.running });
    if limits.bounds_waiting() {
        let overflow = OVERFLOWS.iter().find(|(_, overflow)| *overflow == limits.overflow);
        said["waiting"] = limits.waiting.into();
        said["overflow"] = overflow.map(|(name, _)| *name).into();
    }
    said
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
struct WireRetry<'a> {
    max_attempts: Given<'a>,
    backoff: Given<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
struct WireBackoff<'a> {
    initial: Given<'a>,
    factor: Given<'a>,
    max: Given<'a>,
    jitter: Given<'a>,
}

/// `retry`: what it leaves out is as in `base`.
pub(super) fn retry(field: Field<'_>, base: Retry) -> Result<Retry, Rejected> {
    let said: WireRetry<'_> = field.object()?;
    let attempts = said.max_attempts.read("retry.max_attempts", |field| field.whole(1..=ATTEMPTS_MAX))?;
    let backoff = said.backoff.read("retry.backoff", Field::object::<WireBackoff<'_>>)?.unwrap_or_default();
    let initial = backoff.initial.read("retry.backoff.initial", Field::seconds)?;
    let factor = backoff.factor.read("retry.backoff.factor", |field| field.number(1.0..=FACTOR_MAX))?;
    let max = backoff.max.read("retry.backoff.max", Field::seconds)?;
    let jitter = backoff.jitter.read("retry.backoff.jitter", |field| field.number(0.0..=1.0))?;
    Ok(Retry {
        max_attempts: attempts.unwrap_or(base.max_attempts),
        initial: initial.unwrap_or(base.initial),
        factor: factor.unwrap_or(base.factor),
        max: max.unwrap_or(base.max),
        jitter: jitter.unwrap_or(base.jitter),
    })
}

/// What `retry` says for this policy.
pub(super) fn retry_json(retry: &Retry) -> serde_json::Value {
    serde_json::json!({
        "max_attempts": retry.max_attempts,
        "backoff": {
            "initial": retry.initial.as_secs_f64(),
            "factor": retry.factor,
            "max": retry.max.as_secs_f64(),
            "jitter": retry.jitter,
        },
    })
}
