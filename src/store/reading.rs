//! A stored task, read back: its own JSON, with what the row says of it. It never guesses: what can't be understood is said
//! to be unreadable, with the reason.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::Trash;
use taskyard_core::names::{Lane, Namespace, TaskName};
use taskyard_core::task::{Key, KeyLimits, Priority, Task, TaskDefaults};
use taskyard_core::wire;

use super::setup::Defaults;

/// What a row says of its task: it was decided when the task was submitted and holds whatever defaults hold now.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// The id; of a task that brought none it stands nowhere else.
    pub(crate) id: TaskId,
    /// Namespace and name.
    pub(crate) lane: Arc<Lane>,
    /// Its priority.
    pub(crate) priority: Priority,
    /// Its key.
    pub(crate) key: Option<Key>,
    /// The limits of its key.
    pub(crate) limits: KeyLimits,
}

/// The task of a body and a row.
pub(crate) fn task(body: &[u8], stored: Stored, defaults: &Defaults) -> Result<Arc<Task>, Trash> {
    let text = std::str::from_utf8(body).map_err(|error| Trash::Unreadable(error.to_string()))?;
    let defaults = |name: &TaskName| placed(defaults(name), name, &stored.lane);
    let read = wire::parse_task(text, stored.id, &defaults)
        .map_err(|rejected| Trash::Unreadable(rejected.to_string()))?;
    let Stored { id, lane, priority, key, limits } = stored;
    Ok(Arc::new(Task { id, lane, priority, key, limits, ..read }))
}

/// The defaults of a task that needs one for its namespace, here perhaps unknown: its row (or its parent's) stands in.
fn placed(mut defaults: TaskDefaults, name: &TaskName, lane: &Lane) -> TaskDefaults {
    if defaults.namespace.is_none() && Namespace::of_task(name).is_err() {
        defaults.namespace = Some(lane.namespace.clone());
    }
    defaults
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard_core::task::Due;

    use super::*;

    fn stored(namespace: &str, name: &str) -> Stored {
        Stored {
            id: TaskId(7),
            lane: Arc::new(Lane { namespace: namespace.parse().unwrap(), name: name.parse().unwrap() }),
            priority: Priority::new(9).unwrap(),
            key: Some(Key(5)),
            limits: KeyLimits::SERIAL,
        }
    }

    fn plain() -> Defaults {
        Arc::new(|_| TaskDefaults::default())
    }

    #[track_caller]
    fn reason(body: &[u8]) -> String {
        match task(body, stored("a", "a"), &plain()) {
            Err(Trash::Unreadable(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_row_says_what_was_decided_at_submit_and_the_body_the_rest() {
        let body = br#"{"task":"a","priority":1,"delay":5,"timeout":30,"args":[1],"unknown":"kept"}"#;
        let read = task(body, stored("b.c", "a"), &plain()).unwrap();
        assert_eq!((read.id, read.lane.namespace.as_str()), (TaskId(7), "b.c"));
        assert_eq!((read.priority.get(), read.key, read.limits), (9, Some(Key(5)), KeyLimits::SERIAL));
        assert_eq!(
            (read.timeout, read.due),
            (Some(Duration::from_secs(30)), Due::In(Duration::from_secs(5)))
        );
        assert_eq!((read.body.args(), read.body.text().as_bytes()), ("[1]", body.as_slice()));
    }

    #[test]
    fn what_the_body_does_not_say_comes_from_the_defaults() {
        let defaults: Defaults = Arc::new(|name| TaskDefaults {
            timeout: (name.as_str() == "a").then_some(Duration::from_secs(3)),
            ..TaskDefaults::default()
        });
        let read = task(br#"{"task":"a"}"#, stored("a", "a"), &defaults).unwrap();
        assert_eq!(read.timeout, Some(Duration::from_secs(3)));
    }

    /// Its handler, which gave it its namespace, may be known to others only.
    #[test]
    fn a_name_that_is_no_namespace_needs_no_handler_here() {
        let read = task(br#"{"task":"send mail"}"#, stored("a.mail", "send mail"), &plain()).unwrap();
        assert_eq!(read.lane.namespace.as_str(), "a.mail");
    }

    /// D16
    #[test]
    fn what_cannot_be_understood_is_unreadable_for_a_reason() {
        assert!(reason(b"\xff\xfe").contains("utf-8"));
        assert!(reason(b"").contains("not a JSON object"));
        assert!(reason(br#"{"task":"#).contains("task"));
        assert!(reason(br#"{"args":[]}"#).contains("`task`: is missing"));
        assert!(reason(br#"{"task":"a","delay":"soon"}"#).contains("`delay`"));
    }
}
