//! Dispatches for the tests of the stages and InProgress.

use std::sync::Arc;

use crate::dispatch::{Cancel, Dispatch, DispatchName, Order, Reason};
use crate::id::TaskId;
use crate::live::Live;
use crate::names::{Lane, Namespace, TaskName};
use crate::task::{Body, Due, DueAt, Key, KeyLimits, Priority, Task};
use crate::time::Timestamp;

/// The key that most tests share.
pub(crate) const KEY: Key = Key(7);

/// The first dispatch of task `n`, which arrived as the `n`th.
pub(crate) fn dispatch(n: u64, key: Option<Key>, limits: KeyLimits) -> Dispatch {
    let name: TaskName = "copy".parse().unwrap();
    let task = Task {
        id: TaskId(n.into()),
        lane: Arc::new(Lane { namespace: Namespace::of_task(&name).unwrap(), name }),
        body: Body::new("{}".into(), 0..0, 0..0).unwrap(),
        due: Due::Now,
        expires: None,
        timeout: None,
        key,
        limits,
        priority: Priority::default(),
        retry: None,
        extras: None,
    };
    let live = Arc::new(Live::new(Arc::new(task), n, Timestamp(0), 1, 1));
    Dispatch { live, order: Order { rank: 0, sequence: n }, due: DueAt::Now, judged: false }
}

/// What names the first dispatch of task `n`.
pub(crate) fn name(n: u64) -> DispatchName {
    DispatchName { id: TaskId(n.into()), epoch: 1 }
}

/// A user's cancel of the dispatch.
pub(crate) fn cancel(dispatch: &Dispatch) -> Cancel {
    Cancel { live: Arc::clone(&dispatch.live), reason: Reason::User }
}
