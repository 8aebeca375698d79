//! A task that is being written: its payload and what is said about it, before it is submitted. What is wrong with it is
//! said when it is submitted.

use std::fmt;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::names::TaskName;
use taskyard_core::new_task::NewTask;
use taskyard_core::options::Options;
use taskyard_core::task::{Due, KeyLimits, Priority, Retry, Task, TaskDefaults};
use taskyard_core::time::Timestamp;
use taskyard_core::wire::Rejected;

use crate::ids::fresh_id;
use crate::payload::Payload;
use crate::registry::Registry;

/// A task being written. Where it goes is `To`: a [`Yard`](crate::Yard) or, from within a handler, its
/// [`Context`](crate::context::Context); then awaiting it submits it. Without either it is a callback, or one of many.
///
/// What is not said here comes from the defaults of its kind, then from its pool.
#[must_use = "nothing is submitted before it is awaited"]
pub struct Draft<P, To = ()> {
    pub(crate) payload: P,
    pub(crate) id: Option<TaskId>,
    options: Options,
    /// The first thing said that makes no sense.
    flaw: Option<Rejected>,
    pub(crate) to: To,
}

impl<P: Payload> Draft<P> {
    /// A task with this payload, of which nothing else was said yet.
    pub fn new(payload: P) -> Self {
        Self { payload, id: None, options: Options::default(), flaw: None, to: () }
    }
}

impl<P: Payload> From<P> for Draft<P> {
    fn from(payload: P) -> Self {
        Self::new(payload)
    }
}

impl<P, To> Draft<P, To> {
    /// Its id, instead of a new one. A known id changes nothing: the task that has it is followed.
    pub fn id(mut self, id: TaskId) -> Self {
        self.id = Some(id);
        self
    }

    /// Where it is routed, as in `datashare.nlp`.
    pub fn namespace(mut self, namespace: &str) -> Self {
        match namespace.parse() {
            Ok(namespace) => self.options.namespace = Some(namespace),
            Err(bad) => self.flawed(Rejected::field("namespace", format!("cannot be used: {bad}"))),
        }
        self
    }

    /// It starts no earlier than so long after it was taken in; not together with [`eta`](Self::eta).
    pub fn delay(mut self, delay: Duration) -> Self {
        self.options.delay = Some(delay);
        self
    }

    /// It starts no earlier than at this time; not together with [`delay`](Self::delay).
    pub fn eta(mut self, eta: impl Into<Timestamp>) -> Self {
        self.options.eta = Some(eta.into());
        self
    }

    /// It does not start later than so long after it was taken in.
    pub fn expires(mut self, span: Duration) -> Self {
        self.options.expires = Some(Due::In(span));
        self
    }

    /// It does not start at this time or later.
    pub fn expires_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.options.expires = Some(Due::At(time.into()));
        self
    }

    /// How long one run may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// How many tasks with the same key may run and wait, and which goes if there are more.
    pub fn on_duplicate(mut self, limits: KeyLimits) -> Self {
        self.options.limits = Some(limits);
        self
    }

    /// What makes it the same as another task, instead of namespace, name and arguments.
    pub fn key(mut self, key: impl Into<Box<str>>) -> Self {
        self.options.key = Some(key.into());
        self
    }

    /// 0 to 9, 9 first; 5 if nothing is said.
    pub fn priority(mut self, priority: u8) -> Self {
        match Priority::new(priority) {
            Some(priority) => self.options.priority = Some(priority),
            None => self.flawed(Rejected::field("priority", "must be a whole number from 0 to 9")),
        }
        self
    }

    /// How often and how fast it is tried again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.options.retry = Some(retry);
        self
    }

    /// One more task that is posted once this one has succeeded.
    pub fn callback<C: Payload>(mut self, task: impl Into<Draft<C>>) -> Self {
        match task.into().written() {
            Ok(task) => self.options.extras.get_or_insert_default().callbacks.push(task),
            Err(rejected) => self.flawed(rejected.inside("callbacks")),
        }
        self
    }

    /// One more task that is posted once this one has failed for good.
    pub fn errback<C: Payload>(mut self, task: impl Into<Draft<C>>) -> Self {
        match task.into().written() {
            Ok(task) => self.options.extras.get_or_insert_default().errbacks.push(task),
            Err(rejected) => self.flawed(rejected.inside("errbacks")),
        }
        self
    }

    /// The payload.
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// The payload back.
    pub fn into_payload(self) -> P {
        self.payload
    }

    /// The same task, to be submitted there.
    pub(crate) fn to<There>(self, to: There) -> Draft<P, There> {
        let Self { payload, id, options, flaw, .. } = self;
        Draft { payload, id, options, flaw, to }
    }

    fn flawed(&mut self, flaw: Rejected) {
        self.flaw.get_or_insert(flaw);
    }
}

impl<P: Payload, To> Draft<P, To> {
    /// The task, with the defaults of its kind as they are registered.
    pub(crate) fn build(&self, registry: &Registry) -> Result<Task, Rejected> {
        let task = match registry.kind(self.payload.name()) {
            Some((name, defaults)) => self.build_as(name.clone(), self.options.clone(), defaults),
            None => self.build_as(self.name()?, self.options.clone(), &self.payload.defaults()),
        };
        task.map(|task| registry.share_lane(task))
    }

    /// The task, with the defaults of its kind written down: whoever reads it may not know the kind.
    pub(crate) fn written(&self) -> Result<Task, Rejected> {
        let options = self.options.clone().or(&self.payload.defaults());
        self.build_as(self.name()?, options, &TaskDefaults::default())
    }

    fn name(&self) -> Result<TaskName, Rejected> {
        let name = self.payload.name().parse();
        name.map_err(|bad| Rejected::field("task", format!("cannot be a name: {bad}")))
    }

    fn build_as(&self, name: TaskName, options: Options, defaults: &TaskDefaults) -> Result<Task, Rejected> {
        if let Some(flaw) = &self.flaw {
            return Err(flaw.clone());
        }
        let arguments = self.payload.arguments();
        let arguments = arguments.map_err(|error| Rejected::message(format!("the payload: {error}")))?;
        let task = NewTask::new(name, arguments.args, arguments.kwargs).options(options);
        match self.id {
            Some(id) => task.id(id).build_with(id, defaults),
            None => task.build_with(fresh_id(), defaults),
        }
    }
}

/// Payloads may hold secrets: only the name is shown.
impl<P: Payload, To> fmt::Debug for Draft<P, To> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("task", &self.payload.name())
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Named;
    use serde_json::{Value, json};

    fn named(args: Vec<Value>) -> Draft<Named> {
        Draft::new(Named { name: "app.mail".into(), args, kwargs: serde_json::Map::new() })
    }

    fn build(draft: &Draft<Named>) -> Result<Task, String> {
        draft.build(&Registry::new()).map_err(|rejected| rejected.to_string())
    }

    #[test]
    fn what_is_said_is_in_the_task_and_nothing_else() {
        let task = build(&named(vec![json!(1)])).unwrap();
        assert_eq!(task.body.text(), r#"{"task":"app.mail","args":[1]}"#);
        let task =
            build(&named(Vec::new()).namespace("a.b").priority(9).delay(Duration::from_secs(2))).unwrap();
        assert_eq!(task.body.text(), r#"{"task":"app.mail","namespace":"a.b","delay":2.0,"priority":9}"#);
        assert_eq!((task.lane.namespace.as_str(), task.priority.get()), ("a.b", 9));
    }

    #[test]
    fn the_first_flaw_is_told_with_its_field() {
        let error = |draft: Draft<Named>| build(&draft).unwrap_err();
        assert!(error(named(Vec::new()).namespace("a..b").priority(10)).starts_with("`namespace`: "));
        assert!(error(named(Vec::new()).priority(10)).starts_with("`priority`: "));
        assert!(error(named(Vec::new()).timeout(Duration::ZERO)).starts_with("`timeout`: "));
        let inner = named(Vec::new()).timeout(Duration::ZERO);
        assert!(error(named(Vec::new()).callback(inner)).starts_with("`callbacks.timeout`: "));
        let nameless = Named { name: String::new(), args: Vec::new(), kwargs: serde_json::Map::new() };
        assert!(error(Draft::new(nameless)).starts_with("`task`: "));
    }
}
