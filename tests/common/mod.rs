//! Tasks and yards for the black-box tests: in-memory workers whose tasks a test ends by hand.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod gate;
pub(crate) mod handlers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use taskyard::core::TaskId;
use taskyard::core::names::{Lane, Namespace, TaskName};
use taskyard::core::pool;
use taskyard::core::task::{Body, Due, KeyLimits, Priority, Task};
use taskyard::testing::Toys;
use taskyard::{PoolSpec, Yard};

/// A task called `echo`, with an id of its own, due at once.
pub(crate) fn task() -> Task {
    static IDS: AtomicU64 = AtomicU64::new(1);
    Task {
        id: TaskId(u128::from(IDS.fetch_add(1, Ordering::Relaxed))),
        lane: Arc::new(Lane { namespace: "app.echo".parse::<Namespace>().expect("valid"), name: echo() }),
        body: Body::new("{}".into(), 0..0, 0..0).expect("within"),
        due: Due::Now,
        expires: None,
        timeout: None,
        key: None,
        limits: KeyLimits::PARALLEL,
        priority: Priority::default(),
        retry: None,
        extras: None,
    }
}

pub(crate) fn tasks(count: usize) -> Vec<Arc<Task>> {
    (0..count).map(|_| Arc::new(task())).collect()
}

pub(crate) fn echo() -> TaskName {
    "echo".parse().expect("valid")
}

/// One pool for everything, with one worker.
pub(crate) fn pool(toys: &Toys) -> PoolSpec {
    let toys = toys.clone();
    let settings = pool::Settings {
        min: 1,
        max: 1,
        names: Some(vec![echo()]),
        drain_grace: Duration::from_mins(1),
        ..pool::Settings::default()
    };
    PoolSpec {
        name: "all".into(),
        patterns: vec!["#".parse().expect("valid")],
        settings,
        launcher: Box::new(move || toys.launcher()),
    }
}

/// A yard with that pool.
pub(crate) fn yard(toys: &Toys) -> Yard {
    Yard::builder().pool(pool(toys)).start().expect("starts")
}

/// Waits, but not for ever.
pub(crate) async fn soon<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("it did not come within twenty seconds")
}
