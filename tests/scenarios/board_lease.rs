//! Two yards on one board, on clocks that the test turns: who holds what, until when, and what comes of a yard that stops.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use taskyard::context::NoCalls;
use taskyard::core::dispatch::Outcome;
use taskyard::core::pool::Settings;
use taskyard::core::store::RowState;
use taskyard::core::worker::{CancelReason, WorkerEnd};
use taskyard::core::{TaskId, conductor};
use taskyard::registry::Registry;
use taskyard::testing::{BEGINNING, Shared, Toys, VirtualClock};
use taskyard::threads::BlockingLauncher;
use taskyard::{PoolSpec, StoreChoice, TaskHandle, Yard};
use taskyard_actors::in_flight::InFlight;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::common::soon;
use crate::rig::{built, inline, task};

/// Others take over after so many seconds without a sign of life.
const LEASE: u32 = 10;

/// A yard whose tasks the test ends by hand, on a clock of its own.
struct Node {
    yard: Yard,
    toys: Toys,
    clock: VirtualClock,
}

/// Two of them on one board, whose leases run on a third clock.
struct Two {
    a: Node,
    b: Node,
    leases: VirtualClock,
    in_flight: InFlight,
}

fn pool(toys: &Toys) -> PoolSpec {
    let toys = toys.clone();
    let names = Some(vec!["t".parse().expect("valid")]);
    let settings = Settings { min: 1, max: 1, names, ..Settings::default() };
    let patterns = vec!["#".parse().expect("valid")];
    PoolSpec { name: "all".into(), patterns, settings, launcher: Box::new(move || toys.launcher()) }
}

impl Node {
    fn start(board: &Shared, in_flight: &InFlight) -> Self {
        Self::with(Toys::by_hand(1, vec!["t".parse().expect("valid")]), board, in_flight)
    }

    fn with(toys: Toys, board: &Shared, in_flight: &InFlight) -> Self {
        let pool = pool(&toys);
        Self::with_pool(toys, pool, board, in_flight)
    }

    fn with_pool(toys: Toys, pool: PoolSpec, board: &Shared, in_flight: &InFlight) -> Self {
        let clock = VirtualClock::at(BEGINNING);
        // So that no yard takes all that is due soon.
        let settings = conductor::Settings { near_max: 100, ..conductor::Settings::default() };
        let builder = Yard::builder().store(StoreChoice::shared(board)).conductor(settings).pool(pool);
        let yard = builder.clock(Arc::new(clock.clone()), in_flight.clone()).start().expect("starts");
        Self { yard, toys, clock }
    }

    async fn submit(&self) -> TaskHandle {
        soon(self.yard.submit_task(built(task("t", 0)))).await.expect("taken")
    }

    async fn epoch(&self, id: TaskId) -> u32 {
        soon(self.yard.get(id)).await.expect("answered").expect("known").epoch
    }
}

impl Two {
    async fn start() -> Self {
        Self::start_with(pool).await
    }

    /// A has another pool.
    async fn start_with(pool: impl FnOnce(&Toys) -> PoolSpec) -> Self {
        let (leases, in_flight) = (VirtualClock::at(BEGINNING), InFlight::default());
        let board = Shared::on(Arc::new(leases.clone()));
        let toys = Toys::by_hand(1, vec!["t".parse().expect("valid")]);
        let pool = pool(&toys);
        let a = Node::with_pool(toys, pool, &board, &in_flight);
        let b = Node::start(&board, &in_flight);
        let two = Self { a, b, leases, in_flight };
        two.quiet().await;
        two
    }

    async fn quiet(&self) {
        soon(self.in_flight.quiet()).await;
    }

    /// Time passes for the board and for these.
    async fn pass(&self, seconds: u32, nodes: &[&Node]) {
        for _ in 0..seconds {
            self.leases.advance(Duration::from_secs(1));
            for node in nodes {
                node.clock.advance(Duration::from_secs(1));
            }
            self.quiet().await;
        }
    }

    fn both(&self) -> [&Node; 2] {
        [&self.a, &self.b]
    }
}

fn done() -> WorkerEnd {
    WorkerEnd::Succeeded("1".into())
}

/// A task that blocks the only thread for tasks until the test lets it go on.
fn blocking_pool(go_on: Receiver<()>, begun: UnboundedSender<()>) -> PoolSpec {
    let go_on = Mutex::new(go_on);
    let handler = move |_: Value, _: Value, _| {
        begun.send(()).expect("the test waits");
        go_on.lock().expect("whole").recv().expect("the test lets it go on");
        async { Ok(1) }
    };
    let registry = Registry::new().register_fn("t", handler).expect("one name");
    let inline = inline("all", &["#"], registry.clone(), 1);
    let settings = Settings { killable: false, ..inline.settings };
    let launcher = Box::new(move || Box::new(BlockingLauncher::new(registry, 0, Arc::new(NoCalls))) as _);
    PoolSpec { settings, launcher, ..inline }
}

/// B4: the executor's only thread is blocked for five leases. That the yard's own thread may be blocked too is tried with
/// the store's gateway.
#[tokio::test]
async fn a_task_of_five_leases_is_never_given_to_another() {
    let ((let_go_on, go_on), (begun, mut runs)) = (channel(), unbounded_channel());
    let two = Two::start_with(|_| blocking_pool(go_on, begun)).await;
    let mut handle = two.a.submit().await;
    soon(runs.recv()).await.expect("it runs");
    two.pass(5 * LEASE, &two.both()).await;
    assert_eq!(two.b.epoch(handle.id()).await, 1);
    assert!(two.b.toys.running().is_empty());
    let owners = soon(two.b.yard.owners()).await.expect("listed");
    assert!(owners.len() == 2 && owners.iter().all(|owner| !owner.fenced), "{owners:?}");
    let_go_on.send(()).expect("it waits");
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("1".into())));
}

/// B3, in one process: the owner is gone at once, as after SIGKILL.
#[tokio::test]
async fn what_a_dead_yard_held_runs_elsewhere_after_its_lease_and_not_before() {
    let Two { a, b, leases, in_flight } = Two::start().await;
    let handle = a.submit().await;
    let (id, toys) = (handle.id(), a.toys.clone());
    toys.started(id).await;
    drop((handle, a));
    soon(toys.let_go()).await;

    let pass = async |seconds: u32| {
        for _ in 0..seconds {
            leases.advance(Duration::from_secs(1));
            b.clock.advance(Duration::from_secs(1));
            soon(in_flight.quiet()).await;
        }
    };
    pass(LEASE - 1).await;
    assert!(b.toys.running().is_empty(), "the lease still holds");
    pass(LEASE / 2).await;
    b.toys.started(id).await;
    assert_eq!(b.epoch(id).await, 2);
    b.toys.finish(id, done());
    assert_eq!(soon(b.yard.outcome(id)).await, Ok(Outcome::Succeeded("1".into())));
}

/// B5, in one process: for A no time passes, as after SIGSTOP; what it ends afterwards is refused.
#[tokio::test]
async fn a_yard_that_was_stopped_past_its_lease_is_refused_and_goes_on_as_another_owner() {
    let two = Two::start().await;
    let mut handle = two.a.submit().await;
    let id = handle.id();
    two.a.toys.started(id).await;
    let before = two.a.yard.store_status();

    two.pass(2 * LEASE, &[&two.b]).await;
    two.b.toys.started(id).await;
    two.a.toys.finish(id, WorkerEnd::Succeeded("\"late\"".into()));
    two.quiet().await;
    two.pass(LEASE, &two.both()).await;
    let after = two.a.yard.store_status();
    assert!(after.is_ready() && after.owner > before.owner, "{before:?} {after:?}");
    assert!(after.stale_writes > before.stale_writes, "{after:?}");

    two.b.toys.finish(id, done());
    two.quiet().await;
    two.pass(2, &two.both()).await;
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("1".into())), "the other's result stands");
    assert_eq!(two.b.epoch(id).await, 2);
}

/// B5: what still runs there is told to end.
#[tokio::test]
async fn a_yard_that_lost_its_lease_cancels_what_it_runs() {
    let two = Two::start().await;
    let handle = two.a.submit().await;
    two.a.toys.started(handle.id()).await;
    two.pass(2 * LEASE, &[&two.b]).await;
    two.b.toys.started(handle.id()).await;
    // By A's own clock the next renewal is due.
    two.pass(LEASE / 3 + 1, &two.both()).await;
    soon(two.a.toys.told_to_end(handle.id())).await;
    let cancels = two.a.toys.cancels();
    assert_eq!(cancels, [(handle.id(), CancelReason::Shutdown)]);
}

/// A yard that drains gives back what it does not finish: nobody waits for a lease.
#[tokio::test]
async fn what_a_drain_gives_back_runs_elsewhere_at_once() {
    let two = Two::start().await;
    let (first, second) = (two.a.submit().await, two.a.submit().await);
    two.a.toys.started(first.id()).await;
    two.b.toys.started(second.id()).await;
    two.a.yard.stop(Duration::ZERO);
    two.quiet().await;
    two.pass(1, &two.both()).await;
    let view = soon(two.b.yard.get(first.id())).await.expect("answered").expect("known");
    assert_eq!((view.state, view.attempts), (RowState::Ready, 0));
    two.b.toys.finish(second.id(), done());
    two.b.toys.started(first.id()).await;
    assert!(soon(two.a.yard.wait(Duration::from_secs(20))).await);
}

/// D6, in small: many are due at one instant; one yard dies half-way, and the other does the rest.
#[tokio::test]
async fn what_falls_due_at_once_is_done_although_one_yard_dies_half_way() {
    const MANY: usize = 500;
    let (leases, in_flight) = (VirtualClock::at(BEGINNING), InFlight::default());
    let board = Shared::on(Arc::new(leases.clone()));
    let a = Node::start(&board, &in_flight);
    let names = vec!["t".parse().expect("valid")];
    let b = Node::with(Toys::instant(1, names), &board, &in_flight);
    let pass = async |nodes: &[&Node], seconds: u32| {
        for _ in 0..seconds {
            leases.advance(Duration::from_secs(1));
            for node in nodes {
                node.clock.advance(Duration::from_secs(1));
            }
            soon(in_flight.quiet()).await;
        }
    };
    let due: Vec<_> =
        (0..MANY).map(|number| built(task("t", number).delay(Duration::from_mins(1)))).collect();
    let ids: Vec<_> = due.iter().map(|task| task.id).collect();
    assert!(soon(a.yard.post_tasks(due)).await.iter().all(Result::is_ok));
    pass(&[&a, &b], 62).await;
    let half = soon(b.yard.totals()).await.expect("counted").succeeded as usize;
    assert!(!a.toys.running().is_empty() && half > 0 && half < MANY, "{half} of {MANY}");

    let toys = a.toys.clone();
    drop(a);
    soon(toys.let_go()).await;
    pass(&[&b], LEASE + LEASE / 2).await;
    for id in ids {
        assert_eq!(soon(b.yard.outcome(id)).await, Ok(Outcome::Succeeded("null".into())));
        assert!(b.epoch(id).await <= 2);
    }
    assert_eq!(soon(b.yard.totals()).await.expect("counted").succeeded as usize, MANY);
}
