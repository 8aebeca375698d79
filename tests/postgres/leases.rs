//! Yards that share a board, and leases that end: who runs a task, until when, and whose result stands.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::OwnerId;
use taskyard::core::time::{Timestamp, micros};
use taskyard::registry::Registry;
use taskyard::testing::VirtualClock;
use taskyard::{Builder, Pool, Yard};
use taskyard_actors::in_flight::InFlight;

use crate::node::{Node, on, task, until};
use crate::proxy::{Fault, Proxy};
use crate::server::Schema;

/// Of the server's time, which nobody can turn.
const LEASE: Duration = Duration::from_secs(3);

fn given(value: &str) -> Outcome {
    Outcome::Succeeded(format!("\"{value}\"").into())
}

impl Schema {
    /// When the lease of an owner ends who is not fenced, by the server's clock.
    fn lease_end(&self, owner: OwnerId) -> Option<i64> {
        let end = format!("SELECT until FROM {}.owners WHERE owner = $1 AND NOT fenced", self.name);
        self.direct.rows(&end, &[&(owner.0 as i64)]).first().map(|row| row.get(0))
    }

    /// By the same clock.
    fn now(&self) -> i64 {
        self.direct.rows("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", &[])[0].get(0)
    }

    /// How many are registered.
    fn owners(&self) -> i64 {
        self.direct.rows(&format!("SELECT count(*) FROM {}.owners", self.name), &[])[0].get(0)
    }
}

fn owner(node: &Node) -> OwnerId {
    node.status().owner.expect("registered")
}

/// A yard is cut off for longer than its lease, and comes back.
fn cut_off(fault: Fault) {
    let Some(schema) = Schema::new() else { return };
    let proxy = Proxy::to(&schema.url);
    let a = Node::start(on(&schema, &proxy.url, LEASE), "a");
    let mut handle = a.submit();
    let mut of_a = a.guest();
    let b = Node::start(on(&schema, &schema.url, LEASE), "b");
    let before = owner(&a);

    proxy.set(fault);
    a.wait(of_a.gone());
    let end = schema.lease_end(before).expect("nobody else has its tasks while it runs them");
    assert!(schema.now() < end, "it still runs what another may run");
    let of_b = b.guest();
    assert!(schema.now() >= end, "another runs it before the lease has ended");

    proxy.set(Fault::None);
    a.eventually("it is back as another owner", |status| status.is_ready() && status.owner > Some(before));
    of_b.release();
    assert_eq!(a.wait(handle.outcome()), Ok(given("b")), "the other's result stands");
    assert_eq!(b.view(handle.id()).epoch, 2);
    until("the owner that was is gone", || schema.owners() == 2);
}

/// B17: for more than a lease.
#[test]
fn a_yard_that_is_cut_off_ends_what_it_runs_before_its_lease_ends() {
    cut_off(Fault::Cut);
}

/// B17: for more than a lease. Seen: its thread waited for the server, and the task ran on beside the other's.
#[test]
fn a_yard_that_hears_nothing_ends_what_it_runs_before_its_lease_ends() {
    cut_off(Fault::Silence);
}

/// B3, in one process: the owner is gone at once, as after SIGKILL.
#[test]
fn what_a_dead_yard_held_runs_elsewhere_after_its_lease_and_not_before() {
    let Some(schema) = Schema::new() else { return };
    let a = Node::start(on(&schema, &schema.url, LEASE), "a");
    let (id, mut of_a, dead) = (a.submit().id(), a.guest(), owner(&a));
    let b = Node::start(on(&schema, &schema.url, LEASE), "b");
    drop(a);
    b.wait(of_a.gone());
    let end = schema.lease_end(dead).expect("nobody else has its tasks yet");
    let of_b = b.guest();
    assert!(schema.now() >= end, "its lease still held");
    of_b.release();
    assert_eq!(b.wait(b.yard.outcome(id)), Ok(given("b")));
    assert_eq!(b.view(id).epoch, 2);
}

/// B5: for A no time passes, as after SIGSTOP.
#[test]
fn a_yard_that_was_stopped_past_its_lease_is_refused_and_goes_on_as_another_owner() {
    let Some(schema) = Schema::new() else { return };
    let clock = VirtualClock::at(Timestamp::from(SystemTime::now()));
    let stopped = |builder: Builder| builder.clock(Arc::new(clock.clone()), InFlight::default());
    let a = Node::with(on(&schema, &schema.url, LEASE), "a", stopped);
    let (id, of_a, before) = (a.submit().id(), a.guest(), owner(&a));
    let b = Node::start(on(&schema, &schema.url, LEASE), "b");

    let of_b = b.guest();
    assert!(of_a.is_there(), "it runs twice: the one is stopped");
    of_a.release();
    a.eventually("it is refused", |status| status.stale_writes > 0);
    clock.advance(LEASE);
    a.eventually("it is back as another owner", |status| status.is_ready() && status.owner > Some(before));
    of_b.release();
    assert_eq!(b.wait(b.yard.outcome(id)), Ok(given("b")), "the other's result stands");
    assert_eq!(b.view(id).epoch, 2);
}

/// B4: the only thread for tasks is blocked all the while.
#[test]
fn a_task_of_five_leases_is_never_given_to_another() {
    let Some(schema) = Schema::new() else { return };
    let ((let_go_on, go_on), (begun, runs)) = (channel(), channel());
    let go_on = Mutex::new(go_on);
    let handler = move |_: Value, _: Value, _| {
        begun.send(()).expect("the test waits");
        go_on.lock().expect("whole").recv().expect("the test lets it go on");
        async { Ok("a") }
    };
    let registry = Registry::new().register_fn("t", handler).unwrap();
    let store = || on(&schema, &schema.url, LEASE);
    let builder = Yard::builder().registry(registry).store(store()).pool(Pool::inline("all").pattern("#"));
    let a = builder.start().unwrap();
    let b = Node::start(store(), "b");
    b.yard.pause("all", true).unwrap();
    let mut handle = b.wait(a.submit_task(task())).expect("taken");
    runs.recv_timeout(Duration::from_mins(1)).expect("it runs");
    b.yard.pause("all", false).unwrap();

    let before = a.store_status();
    let holder = before.owner.expect("registered");
    let end = || schema.lease_end(holder).expect("never fenced");
    let fifth = end() + 5 * micros(LEASE);
    until("five leases have passed", || end() >= fifth);
    let view = b.view(handle.id());
    assert_eq!((view.epoch, view.owner), (1, Some(holder)));
    let_go_on.send(()).expect("it waits");
    assert_eq!(b.wait(handle.outcome()), Ok(given("a")));
    assert_eq!(runs.try_recv().ok(), None, "it ran once");
    assert_eq!(a.store_status(), before);
}
