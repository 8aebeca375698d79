//! A whole yard on a board, whose tasks wait at a gate of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::to_raw_value;
use taskyard::context::Context;
use taskyard::core::TaskId;
use taskyard::core::new_task::NewTask;
use taskyard::core::store::TaskView;
use taskyard::core::task::Task;
use taskyard::registry::Registry;
use taskyard::store::{Durability, StoreStatus};
use taskyard::{Builder, Pool, StoreChoice, TaskHandle, Yard};
use tokio::runtime::Runtime;

use crate::common::gate::{Gate, Guest, pass};
use crate::common::soon;
use crate::server::Schema;

/// It runs one task at a time. What is told to end gives a value all the same, which must not stand.
pub(crate) struct Node {
    pub(crate) yard: Yard,
    gate: Gate,
    runtime: Runtime,
}

/// On this schema, by whatever way.
pub(crate) fn on(schema: &Schema, url: &str, lease: Duration) -> StoreChoice {
    StoreChoice::postgres(url).schema(&schema.name).durability(Durability::Normal).lease(lease)
}

pub(crate) fn task() -> Arc<Task> {
    static IDS: AtomicU64 = AtomicU64::new(1);
    let tag = to_raw_value(&["tag"]).ok();
    let task = NewTask::new("t".parse().unwrap(), tag, None);
    Arc::new(task.build(TaskId(IDS.fetch_add(1, Ordering::Relaxed).into())).unwrap())
}

impl Node {
    /// `value`: what its tasks give once they were let go.
    pub(crate) fn start(store: StoreChoice, value: &'static str) -> Self {
        Self::with(store, value, |builder| builder)
    }

    /// With more that is said of the yard.
    pub(crate) fn with(store: StoreChoice, value: &'static str, more: impl Fn(Builder) -> Builder) -> Self {
        let runtime = runtime();
        let gate = {
            let _inside = runtime.enter();
            Gate::open()
        };
        let path = gate.path().to_owned();
        let handler = move |args: Value, _: Value, cx: Context| {
            let path = path.clone();
            async move { Ok(pass(&path, &args[0], &cx).await.map_or("late", |()| value)) }
        };
        let registry = Registry::new().register_fn("t", handler).unwrap();
        let pool = Pool::inline("all").pattern("#").concurrency(1);
        let yard = more(Yard::builder().registry(registry).store(store).pool(pool)).start().unwrap();
        let node = Self { yard, gate, runtime };
        node.eventually("it is ready", StoreStatus::is_ready);
        node
    }

    /// Waits, but not for ever.
    pub(crate) fn wait<F: IntoFuture>(&self, future: F) -> F::Output {
        self.runtime.block_on(async { soon(future).await })
    }

    pub(crate) fn submit(&self) -> TaskHandle {
        self.wait(self.yard.submit_task(task())).expect("taken")
    }

    /// The next task that begins to run here.
    pub(crate) fn guest(&self) -> Guest {
        self.wait(self.gate.next())
    }

    pub(crate) fn view(&self, id: TaskId) -> TaskView {
        self.wait(self.yard.get(id)).expect("answered").expect("known")
    }

    pub(crate) fn status(&self) -> StoreStatus {
        self.yard.store_status()
    }

    /// Waits until it stands so with the store.
    pub(crate) fn eventually(&self, what: &str, is: impl Fn(&StoreStatus) -> bool) {
        until(what, || is(&self.status()));
    }
}

/// What a test waits on that also talks to the server itself.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Waits until something holds that nobody tells. The one place where a test looks again and again.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_mins(1), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
