//! Whole yards on one file, on a clock that the test turns.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use taskyard::core::TaskId;
use taskyard::core::dispatch::Outcome;
use taskyard::core::new_task::NewTask;
use taskyard::registry::Registry;
use taskyard::store::sqlite::{BootClock, Options};
use taskyard::store::{Sqlite, Store};
use taskyard::testing::{BEGINNING, VirtualClock};
use taskyard::threads::BlockingLauncher;
use taskyard::{Pool, StoreChoice, Yard};
use taskyard_actors::clock::Clock as _;
use taskyard_actors::in_flight::InFlight;
use tokio::sync::mpsc::unbounded_channel;

use crate::common::soon;
use crate::folder::Folder;

/// Others take over after so many seconds without a sign of life.
const LEASE: u32 = 10;

/// Leases run on the same clock as the yards.
#[derive(Clone)]
struct Boot(VirtualClock);

impl BootClock for Boot {
    fn boot(&self) -> &'static str {
        "the only one"
    }

    fn micros(&self) -> i64 {
        self.0.now().mono.0
    }
}

/// Two yards that share a file.
struct Site {
    folder: Folder,
    clock: VirtualClock,
    in_flight: InFlight,
}

impl Site {
    fn new() -> Self {
        Self { folder: Folder::new(), clock: VirtualClock::at(BEGINNING), in_flight: InFlight::default() }
    }

    fn start(&self, registry: Registry) -> Yard {
        let (path, boot) = (self.folder.path("board.db"), Boot(self.clock.clone()));
        let store = StoreChoice::custom(move |setup, _| {
            let options = Options { clock: Some(Box::new(boot.clone())), ..Options::new(setup) };
            Ok(Box::new(Sqlite::open(&path, options)?) as Box<dyn Store>)
        });
        // Whoever waits for quiet does not wait for what such a pool runs.
        let launcher = |calls| Box::new(BlockingLauncher::new(registry, 0, calls)) as _;
        let pool = Pool::custom("all", launcher).pattern("#").workers(1..=1);
        let builder = Yard::builder().store(store).pool(pool);
        builder.clock(Arc::new(self.clock.clone()), self.in_flight.clone()).start().expect("starts")
    }

    async fn pass(&self, seconds: u32) {
        soon(self.in_flight.quiet()).await;
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            soon(self.in_flight.quiet()).await;
        }
    }
}

/// B4: the only thread for tasks is blocked all the while.
#[tokio::test]
async fn a_task_of_five_leases_is_never_given_to_another() {
    let site = Site::new();
    let ((let_go_on, go_on), (begun, mut runs)) = (channel(), unbounded_channel());
    let go_on = Mutex::new(go_on);
    let blocks = move |_: Value, _: Value, _| {
        begun.send(()).expect("the test waits");
        go_on.lock().expect("whole").recv().expect("the test lets it go on");
        async { Ok("a") }
    };
    let elsewhere = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&elsewhere);
    let counts = move |_: Value, _: Value, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok("b") }
    };
    let a = site.start(Registry::new().register_fn("t", blocks).expect("one name"));
    site.pass(1).await;
    let task = NewTask::new("t".parse().expect("valid"), None, None).build(TaskId(1)).expect("within bounds");
    let mut handle = soon(a.submit_task(Arc::new(task))).await.expect("taken");
    soon(runs.recv()).await.expect("it runs");
    let b = site.start(Registry::new().register_fn("t", counts).expect("one name"));

    site.pass(5 * LEASE).await;
    let view = soon(b.get(handle.id())).await.expect("answered").expect("known");
    assert_eq!((view.epoch, view.owner), (1, a.store_status().owner));
    let owners = soon(b.owners()).await.expect("listed");
    assert!(owners.len() == 2 && owners.iter().all(|owner| !owner.fenced), "{owners:?}");
    let_go_on.send(()).expect("it waits");
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("\"a\"".into())));
    assert_eq!((runs.try_recv().ok(), elsewhere.load(Ordering::Relaxed)), (None, 0), "it ran once");
}
