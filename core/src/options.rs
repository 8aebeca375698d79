//! What a producer may say about a task besides its name and arguments, and the bounds of it. Wire and builder share
//! this one way from what was said to the [`Task`]; reading text is not done here.

use std::sync::Arc;
use std::time::Duration;

use crate::id::TaskId;
use crate::keys::NotJson;
use crate::names::{Lane, Namespace, TaskName};
use crate::rfc3339;
use crate::task::{Body, Due, Extras, Key, KeyLimits, Priority, Retry, Task, TaskDefaults};
use crate::time::Timestamp;
use crate::wire::Rejected;

/// The longest span that can be asked for: 100 years. A microsecond in it is still exact as a JSON number.
pub const SPAN_MAX: Duration = Duration::from_hours(876_600);
/// How often a task may be tried.
pub const ATTEMPTS_MAX: u32 = 10_000;
/// How many tasks of one key may be asked to run at once.
pub const RUNNING_MAX: u32 = 1_000_000;
/// By what a pause may grow each time.
pub const FACTOR_MAX: f64 = 1_000.0;
/// The longest key, in bytes.
pub const KEY_MAX: usize = 255;
/// The longest name of a reply channel, in bytes.
pub const REPLY_TO_MAX: usize = 128;
/// The longest trace context, in bytes.
pub const TRACEPARENT_MAX: usize = 255;
/// How many callbacks, and how many errbacks, a task may have.
pub const CALLBACKS_MAX: usize = 100;

/// What was said, typed. What is `None` comes from the task's defaults.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where it is routed.
    pub namespace: Option<Namespace>,
    /// How long after admission it is due; not together with `eta`.
    pub delay: Option<Duration>,
    /// When it is due; not together with `delay`.
    pub eta: Option<Timestamp>,
    /// When it is no longer worth starting.
    pub expires: Option<Due>,
    /// How long one run may take.
    pub timeout: Option<Duration>,
    /// How many twins may run and wait.
    pub limits: Option<KeyLimits>,
    /// What makes it the same as another; otherwise, where twins are limited, lane and arguments do.
    pub key: Option<Box<str>>,
    /// 0 to 9, 9 first.
    pub priority: Option<Priority>,
    /// How often and how fast it is tried again.
    pub retry: Option<Retry>,
    /// What few tasks have.
    pub extras: Option<Box<Extras>>,
}

impl Options {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        let Self { namespace, delay, eta, expires, timeout, limits, key, priority, retry, extras } = self;
        let when = delay.is_none() && eta.is_none() && expires.is_none() && timeout.is_none();
        let twins = limits.is_none() && key.is_none();
        when && twins && namespace.is_none() && priority.is_none() && retry.is_none() && extras.is_none()
    }

    /// The same with these defaults written down, for a reader who does not know them.
    pub fn or(mut self, defaults: &TaskDefaults) -> Self {
        self.namespace = self.namespace.or_else(|| defaults.namespace.clone());
        self.timeout = self.timeout.or(defaults.timeout);
        self.limits = self.limits.or(defaults.limits);
        self.priority = self.priority.or(defaults.priority);
        self.retry = self.retry.or(defaults.retry);
        self
    }

    /// The task that was meant, if all is within bounds.
    pub fn into_task(
        self,
        id: TaskId,
        name: TaskName,
        body: Body,
        defaults: &TaskDefaults,
    ) -> Result<Task, Rejected> {
        self.check()?;
        let namespace = namespace_of(&name, self.namespace.or_else(|| defaults.namespace.clone()))?;
        let lane = Arc::new(Lane { namespace, name });
        let limits = self.limits.or(defaults.limits).unwrap_or(KeyLimits::PARALLEL);
        let key = key_of(&lane, &body, self.key.as_deref(), limits)?;
        Ok(Task {
            id,
            lane,
            body,
            due: due(self.delay, self.eta),
            expires: self.expires,
            timeout: self.timeout.or(defaults.timeout),
            key,
            limits,
            priority: self.priority.or(defaults.priority).unwrap_or_default(),
            retry: self.retry.or(defaults.retry).map(Box::new),
            extras: self.extras,
        })
    }

    fn check(&self) -> Result<(), Rejected> {
        if self.delay.is_some() && self.eta.is_some() {
            return Err(Rejected::field("eta", "give either `delay` or `eta`, not both"));
        }
        self.delay.map_or(Ok(()), |span| check_span("delay", span))?;
        self.eta.map_or(Ok(()), |time| check_time("eta", time))?;
        match self.expires {
            Some(Due::In(span)) => check_span("expires", span)?,
            Some(Due::At(time)) => check_time("expires", time)?,
            Some(Due::Now) | None => {}
        }
        self.timeout.map_or(Ok(()), check_timeout)?;
        self.limits.map_or(Ok(()), check_limits)?;
        self.key.as_deref().map_or(Ok(()), |key| check_length("key", key, KEY_MAX))?;
        self.retry.as_ref().map_or(Ok(()), check_retry)?;
        self.extras.as_deref().map_or(Ok(()), check_extras)
    }
}

/// Rounds up to a microsecond, so that nothing is early.
pub fn whole_micros(span: Duration) -> Duration {
    let beyond = span.subsec_nanos() % 1_000;
    let missing = if beyond == 0 { 0 } else { 1_000 - beyond };
    span.saturating_add(Duration::from_nanos(missing.into()))
}

fn due(delay: Option<Duration>, eta: Option<Timestamp>) -> Due {
    match (delay, eta) {
        (_, Some(time)) => Due::At(time),
        (None | Some(Duration::ZERO), None) => Due::Now,
        (Some(span), None) => Due::In(whole_micros(span)),
    }
}

/// A task that names no namespace is routed by its name (R18).
fn namespace_of(name: &TaskName, said: Option<Namespace>) -> Result<Namespace, Rejected> {
    said.map_or_else(|| Namespace::of_task(name), Ok).map_err(|bad| {
        Rejected::field("namespace", format!("must be given, as the task's name cannot stand for it: {bad}"))
    })
}

/// A given key counts whatever the policy; without one, only a policy that limits twins needs a key.
fn key_of(lane: &Lane, body: &Body, said: Option<&str>, limits: KeyLimits) -> Result<Option<Key>, Rejected> {
    match said {
        Some(key) => Ok(Some(Key::given(key))),
        None if limits == KeyLimits::PARALLEL => Ok(None),
        None => {
            let refuse = |not_json: NotJson| Rejected::field(not_json.part, not_json.cause.to_string());
            Key::derived(lane, body.args(), body.kwargs()).map(Some).map_err(refuse)
        }
    }
}

fn check_span(field: &'static str, span: Duration) -> Result<(), Rejected> {
    let allowed = || format!("must be a number of seconds from 0 to {}", SPAN_MAX.as_secs());
    if span <= SPAN_MAX { Ok(()) } else { Err(Rejected::field(field, allowed())) }
}

fn check_time(field: &'static str, time: Timestamp) -> Result<(), Rejected> {
    let fits = (rfc3339::MIN..=rfc3339::MAX).contains(&time);
    if fits { Ok(()) } else { Err(Rejected::field(field, "must be a time of the years 0000 to 9999")) }
}

fn check_timeout(span: Duration) -> Result<(), Rejected> {
    if span.is_zero() {
        return Err(Rejected::field(
            "timeout",
            "must be more than 0 seconds; leave it out for the pool's own",
        ));
    }
    check_span("timeout", span)
}

fn check_limits(limits: KeyLimits) -> Result<(), Rejected> {
    let running = limits.running;
    if running != KeyLimits::UNLIMITED && !(1..=RUNNING_MAX).contains(&running) {
        return Err(Rejected::field("on_duplicate.limit", format!("must be from 1 to {RUNNING_MAX}")));
    }
    if limits.bounds_waiting() && limits.waiting > KeyLimits::MAX_WAITING {
        let reason = format!("must be from 0 to {}, or left out for no bound", KeyLimits::MAX_WAITING);
        return Err(Rejected::field("on_duplicate.waiting", reason));
    }
    Ok(())
}

/// Refuses a policy of retries that is out of bounds.
pub fn check_retry(retry: &Retry) -> Result<(), Rejected> {
    if !(1..=ATTEMPTS_MAX).contains(&retry.max_attempts) {
        return Err(Rejected::field("retry.max_attempts", format!("must be from 1 to {ATTEMPTS_MAX}")));
    }
    if !(1.0..=FACTOR_MAX).contains(&retry.factor) {
        return Err(Rejected::field("retry.backoff.factor", format!("must be from 1 to {FACTOR_MAX}")));
    }
    if !(0.0..=1.0).contains(&retry.jitter) {
        return Err(Rejected::field("retry.backoff.jitter", "must be from 0 to 1"));
    }
    check_span("retry.backoff.initial", retry.initial)?;
    check_span("retry.backoff.max", retry.max)
}

fn check_extras(extras: &Extras) -> Result<(), Rejected> {
    extras.reply_to.as_deref().map_or(Ok(()), |text| check_length("reply_to", text, REPLY_TO_MAX))?;
    extras
        .traceparent
        .as_deref()
        .map_or(Ok(()), |text| check_length("traceparent", text, TRACEPARENT_MAX))?;
    for (field, tasks) in [("callbacks", &extras.callbacks), ("errbacks", &extras.errbacks)] {
        check_count(field, tasks.len())?;
    }
    Ok(())
}

/// Refuses more callbacks (or errbacks) than a task may have.
pub(crate) fn check_count(field: &'static str, count: usize) -> Result<(), Rejected> {
    let allowed = || format!("must have at most {CALLBACKS_MAX} tasks, not {count}");
    if count <= CALLBACKS_MAX { Ok(()) } else { Err(Rejected::field(field, allowed())) }
}

/// Refuses a text that is empty or too long.
pub fn check_length(field: &'static str, text: &str, max: usize) -> Result<(), Rejected> {
    let allowed = || format!("must have 1 to {max} bytes, not {}", text.len());
    if (1..=max).contains(&text.len()) { Ok(()) } else { Err(Rejected::field(field, allowed())) }
}
