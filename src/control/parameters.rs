//! What is said with a control command: each parameter by its name, its type and its bounds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use taskyard_core::TaskId;
use taskyard_core::store::Filter;
use taskyard_core::task::Due;
use taskyard_core::wire::{Field, Given, Rejected};
use tracing::level_filters::LevelFilter;

/// How many ids a filter may name.
const IDS_MAX: usize = 10_000;
/// How many workers a pool may be scaled to.
const WORKERS_MAX: u32 = 10_000;
/// How many tasks a list shows that says nothing of it, and how many it may ask for.
const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;
/// What can be logged, the least first.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// What stands in `control_data`.
#[derive(Default, Deserialize)]
pub(super) struct Parameters<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Parameters<'a> {
    /// Refuses every other one.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), Rejected> {
        let Some(unknown) = self.0.keys().find(|name| !allowed.contains(&name.as_ref())) else {
            return Ok(());
        };
        let unknown: String = unknown.chars().take(40).collect();
        let allowed = if allowed.is_empty() { "none".into() } else { allowed.join(", ") };
        Err(Rejected::message(format!("{unknown:?} is not a parameter of this command; allowed: {allowed}")))
    }

    fn read<T>(
        &self,
        name: &'static str,
        reader: impl FnOnce(Field<'a>) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        Given(self.0.get(name).copied()).read(name, reader)
    }

    fn needed<T>(
        &self,
        name: &'static str,
        reader: impl FnOnce(Field<'a>) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        self.read(name, reader)?.ok_or_else(|| Rejected::field(name, "is missing"))
    }

    pub(super) fn pool(&self) -> Result<String, Rejected> {
        self.needed("pool", Field::text).map(Cow::into_owned)
    }

    pub(super) fn name(&self) -> Result<String, Rejected> {
        self.needed("name", Field::text).map(Cow::into_owned)
    }

    pub(super) fn id(&self) -> Result<TaskId, Rejected> {
        self.needed("uuid", Field::parsed)
    }

    pub(super) fn level(&self) -> Result<LevelFilter, Rejected> {
        self.needed("level", |field| field.one_of(&LEVELS))
    }

    pub(super) fn task(&self) -> Result<String, Rejected> {
        let object = |field: Field<'a>| {
            if field.is_object() { Ok(field.raw.get().to_owned()) } else { Err(field.must_be("a task")) }
        };
        self.needed("task", object)
    }

    pub(super) fn filter(&self) -> Result<Filter, Rejected> {
        Ok(Filter {
            ids: self.read("uuid", ids)?.unwrap_or_default(),
            task: self.read("task", Field::parsed)?,
            namespace: self.read("namespace", Field::parsed)?,
            all: self.read("all", Field::flag)?.unwrap_or_default(),
        })
    }

    /// Where a list goes on, and how long it may be.
    pub(super) fn page(&self) -> Result<(u64, usize), Rejected> {
        let after = self.read("after", cursor)?.unwrap_or_default();
        let limit = self.read("limit", |field| field.whole(1..=LIMIT_MAX))?.unwrap_or(LIMIT);
        Ok((after, limit as usize))
    }

    /// How many workers, at least and at most.
    pub(super) fn bounds(&self) -> Result<(u32, u32), Rejected> {
        let min = self.needed("min", |field| field.whole(0..=WORKERS_MAX))?;
        let max = self.needed("max", |field| field.whole(1..=WORKERS_MAX))?;
        if min > max {
            return Err(Rejected::field("min", format!("{min} is more than max ({max})")));
        }
        Ok((min, max))
    }

    pub(super) fn due(&self) -> Result<Due, Rejected> {
        match (self.read("delay", Field::seconds)?, self.read("eta", Field::time)?) {
            (Some(delay), None) if delay.is_zero() => Ok(Due::Now),
            (Some(delay), None) => Ok(Due::In(delay)),
            (None, Some(eta)) => Ok(Due::At(eta)),
            _ => Err(Rejected::field("eta", "give either `delay` or `eta`")),
        }
    }
}

/// One id, or a list of them that is not empty.
fn ids(field: Field<'_>) -> Result<Vec<TaskId>, Rejected> {
    if !field.raw.get().starts_with('[') {
        return field.parsed().map(|id| vec![id]);
    }
    let items = field.list()?;
    if !(1..=IDS_MAX).contains(&items.len()) {
        return Err(field.refused(format!("must have 1 to {IDS_MAX} ids, not {}", items.len())));
    }
    items.into_iter().map(|raw| Field { name: field.name, raw }.parsed()).collect()
}

/// What a list said in `more`.
fn cursor(field: Field<'_>) -> Result<u64, Rejected> {
    serde_json::from_str(field.raw.get()).map_err(|_| field.must_be("a whole number, as `more` gave it"))
}
