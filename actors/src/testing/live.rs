//! A task on its way to a worker, for tests of links and workers.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::live::Live;
use taskyard_core::names::{Lane, Namespace, TaskName};
use taskyard_core::task::{Body, Due, KeyLimits, Priority, Task};
use taskyard_core::time::Timestamp;

/// The first pass of a task without anything special: `args` a JSON array and `kwargs` a JSON object, or nothing. Panics
/// if the name is none.
pub fn live(id: u128, name: &str, args: &str, kwargs: &str) -> Arc<Live> {
    let name: TaskName = name.parse().expect("a name");
    let namespace = Namespace::of_task(&name).expect("a namespace");
    let end = args.len() + kwargs.len();
    let body = Body::new(format!("{args}{kwargs}").into(), 0..args.len(), args.len()..end);
    let task = Task {
        id: TaskId(id),
        lane: Arc::new(Lane { namespace, name }),
        body: body.expect("within"),
        due: Due::Now,
        expires: None,
        timeout: None,
        key: None,
        limits: KeyLimits::PARALLEL,
        priority: Priority::default(),
        retry: None,
        extras: None,
    };
    Arc::new(Live::new(Arc::new(task), 1, Timestamp(0), 1, 1))
}
