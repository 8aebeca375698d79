//! A task made in this program: typed, checked as one from the wire is, and written as the wire would have it.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::id::TaskId;
use crate::names::{Namespace, TaskName};
use crate::options::Options;
use crate::task::{Body, Due, Extras, KeyLimits, Priority, Retry, Task, TaskDefaults};
use crate::time::Timestamp;
use crate::wire::{self, Rejected};

/// A task to submit. What is not said comes from the task's defaults.
#[derive(Debug, Clone)]
pub struct NewTask {
    name: TaskName,
    args: Option<Box<RawValue>>,
    kwargs: Option<Box<RawValue>>,
    id: Option<TaskId>,
    options: Options,
}

impl NewTask {
    /// A task with its arguments: `args` a JSON array, `kwargs` a JSON object.
    pub fn new(name: TaskName, args: Option<Box<RawValue>>, kwargs: Option<Box<RawValue>>) -> Self {
        Self { name, args, kwargs, id: None, options: Options::default() }
    }

    /// All that may be said besides name and arguments, at once; replaces what was said before.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Its id; submitting a known id again changes nothing.
    pub fn id(mut self, id: TaskId) -> Self {
        self.id = Some(id);
        self
    }

    /// Where it is routed, instead of by its name.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.options.namespace = Some(namespace);
        self
    }

    /// It is due so long after it was taken in; not together with [`eta`](Self::eta).
    pub fn delay(mut self, delay: Duration) -> Self {
        self.options.delay = Some(delay);
        self
    }

    /// It is due at this time; not together with [`delay`](Self::delay).
    pub fn eta(mut self, eta: Timestamp) -> Self {
        self.options.eta = Some(eta);
        self
    }

    /// It is not worth starting so long after it was taken in.
    pub fn expires_in(mut self, span: Duration) -> Self {
        self.options.expires = Some(Due::In(span));
        self
    }

    /// It is not worth starting at or after this time.
    pub fn expires_at(mut self, time: Timestamp) -> Self {
        self.options.expires = Some(Due::At(time));
        self
    }

    /// How long one run may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// How many twins may run and wait.
    pub fn on_duplicate(mut self, limits: KeyLimits) -> Self {
        self.options.limits = Some(limits);
        self
    }

    /// What makes it the same as another task, instead of namespace, name and arguments.
    pub fn key(mut self, key: impl Into<Box<str>>) -> Self {
        self.options.key = Some(key.into());
        self
    }

    /// 0 to 9, 9 first.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = Some(priority);
        self
    }

    /// How often and how fast it is tried again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.options.retry = Some(retry);
        self
    }

    /// One more task to post after it succeeded.
    pub fn callback(mut self, task: Task) -> Self {
        self.extras().callbacks.push(task);
        self
    }

    /// One more task to post after it failed for good.
    pub fn errback(mut self, task: Task) -> Self {
        self.extras().errbacks.push(task);
        self
    }

    /// The W3C trace context of whoever submits it.
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.extras().traceparent = Some(traceparent.into());
        self
    }

    /// Whether a foreign handler is given its own context as first argument.
    pub fn bind(mut self, bind: bool) -> Self {
        self.extras().bind = bind;
        self
    }

    /// Its name.
    pub fn name(&self) -> &TaskName {
        &self.name
    }

    fn extras(&mut self) -> &mut Extras {
        self.options.extras.get_or_insert_default()
    }

    /// The task, if all is within bounds; `fresh_id` becomes its id if none was given.
    pub fn build(self, fresh_id: TaskId) -> Result<Task, Rejected> {
        self.build_with(fresh_id, &TaskDefaults::default())
    }

    /// The same, with these defaults for what was not said.
    pub fn build_with(self, fresh_id: TaskId, defaults: &TaskDefaults) -> Result<Task, Rejected> {
        let body = self.body()?;
        self.options.into_task(self.id.unwrap_or(fresh_id), self.name, body, defaults)
    }

    fn body(&self) -> Result<Body, Rejected> {
        let args = part("args", self.args.as_deref(), '[', "a JSON array")?;
        let kwargs = part("kwargs", self.kwargs.as_deref(), '{', "a JSON object")?;
        wire::write::body(&self.name, args, kwargs, self.id, &self.options)
    }
}

fn part<'a>(
    field: &'static str,
    json: Option<&'a RawValue>,
    open: char,
    kind: &str,
) -> Result<Option<&'a str>, Rejected> {
    let Some(json) = json.map(RawValue::get) else { return Ok(None) };
    if !json.starts_with(open) {
        return Err(Rejected::field(field, format!("must be {kind}")));
    }
    wire::shape::check_nesting(json, 1)?;
    Ok(Some(json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Overflow;

    const FRESH: TaskId = TaskId(7);

    fn new(args: Option<&str>, kwargs: Option<&str>) -> NewTask {
        let raw = |json: &str| RawValue::from_string(json.into()).unwrap();
        NewTask::new("app.mail.send".parse().unwrap(), args.map(raw), kwargs.map(raw))
    }

    /// What was built reads back from its own text as the same task.
    #[track_caller]
    fn check(new: NewTask, text: &str) {
        let built = new.build(FRESH).unwrap();
        assert_eq!(built.body.text(), text);
        let read = wire::parse_task(text, FRESH, &|_| TaskDefaults::default()).unwrap();
        assert_eq!(format!("{built:?}"), format!("{read:?}"));
        assert_eq!((built.body.args(), built.body.kwargs()), (read.body.args(), read.body.kwargs()));
    }

    #[track_caller]
    fn refuse(new: NewTask, expected: &str) {
        assert_eq!(new.build(FRESH).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_small_task_is_written_bare() {
        check(new(None, None), r#"{"task":"app.mail.send"}"#);
        check(new(Some("[1,2]"), None), r#"{"task":"app.mail.send","args":[1,2]}"#);
        check(
            new(Some("[]"), Some(r#"{"a":"🦀"}"#)),
            r#"{"task":"app.mail.send","args":[],"kwargs":{"a":"🦀"}}"#,
        );
    }

    #[test]
    fn a_name_is_escaped() {
        let name = r#"say "hi\ho""#.parse().unwrap();
        let new = NewTask::new(name, None, None).namespace("a".parse().unwrap());
        check(new, r#"{"task":"say \"hi\\ho\"","namespace":"a"}"#);
    }

    #[test]
    fn all_that_was_said_is_written() {
        let retry = Retry { max_attempts: 2, ..Retry::default() };
        let said = new(Some("[1]"), None)
            .id(TaskId(1))
            .namespace("a.b".parse().unwrap())
            .delay(Duration::from_micros(2_500_123))
            .expires_at(Timestamp(86_400_000_001))
            .timeout(Duration::from_secs(3))
            .on_duplicate(KeyLimits::new(2, 3, Overflow::DropWaiting))
            .key("k\"")
            .priority(Priority::new(9).unwrap())
            .retry(retry)
            .bind(true)
            .traceparent("00-x");
        check(
            said,
            concat!(
                r#"{"task":"app.mail.send","args":[1],"uuid":"00000000-0000-0000-0000-000000000001","namespace":"a.b","#,
                r#""delay":2.500123,"expires":"1970-01-02T00:00:00.000001Z","timeout":3.0,"#,
                r#""on_duplicate":{"limit":2,"overflow":"drop_waiting","waiting":3},"key":"k\"","priority":9,"#,
                r#""retry":{"backoff":{"factor":2.0,"initial":1.0,"jitter":0.2,"max":600.0},"max_attempts":2},"#,
                r#""bind":true,"traceparent":"00-x"}"#,
            ),
        );
        check(
            new(None, None)
                .eta(crate::rfc3339::MAX)
                .on_duplicate(KeyLimits::SERIAL)
                .expires_in(Duration::ZERO),
            concat!(
                r#"{"task":"app.mail.send","eta":"9999-12-31T23:59:59.999999Z","expires":0.0,"#,
                r#""on_duplicate":"serial"}"#,
            ),
        );
    }

    #[test]
    fn callbacks_are_written_as_their_own_text() {
        let after = new(Some("[2]"), None).build(FRESH).unwrap();
        let built = new(None, None).callback(after.clone()).errback(after).build(FRESH).unwrap();
        let inner = r#"[{"task":"app.mail.send","args":[2]}]"#;
        let text = format!(r#"{{"task":"app.mail.send","callbacks":{inner},"errbacks":{inner}}}"#);
        assert_eq!(built.body.text(), text);
    }

    /// P4, D12: the checks are those of the wire.
    #[test]
    fn what_the_wire_refuses_is_refused_here() {
        let far = Duration::from_secs(3_155_760_001);
        refuse(new(None, None).delay(far), "`delay`: must be a number of seconds from 0 to 3155760000");
        refuse(new(None, None).eta(Timestamp(i64::MAX)), "`eta`: must be a time of the years 0000 to 9999");
        refuse(
            new(None, None).eta(Timestamp(0)).delay(Duration::ZERO),
            "`eta`: give either `delay` or `eta`, not both",
        );
        refuse(
            new(None, None).timeout(Duration::ZERO),
            "`timeout`: must be more than 0 seconds; leave it out for the pool's own",
        );
        refuse(new(None, None).key(""), "`key`: must have 1 to 255 bytes, not 0");
        refuse(
            new(None, None).on_duplicate(KeyLimits::new(1, 1_001, Overflow::DropNew)),
            "`on_duplicate.waiting`: must be from 0 to 1000, or left out for no bound",
        );
        refuse(
            new(None, None).retry(Retry { max_attempts: 0, ..Retry::default() }),
            "`retry.max_attempts`: must be from 1 to 10000",
        );
        refuse(
            new(None, None).retry(Retry { factor: f64::NAN, ..Retry::default() }),
            "`retry.backoff.factor`: must be from 1 to 1000",
        );
        refuse(new(Some("{}"), None), "`args`: must be a JSON array");
        refuse(new(None, Some("[]")), "`kwargs`: must be a JSON object");
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        refuse(new(Some(&deep), None), "the message nests deeper than 128 levels");
        let long = format!("[\"{}\"]", "x".repeat(1 << 20));
        refuse(new(Some(&long), None), "the message has 1048612 bytes, at most 1048576 are allowed");
    }
}
