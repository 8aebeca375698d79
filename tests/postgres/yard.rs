//! A whole yard on a server that is really stopped and started again.

use std::time::Duration;

use futures::FutureExt as _;
use taskyard::core::conductor::{self, SubmitRefusal};
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::StoreError;
use taskyard::store::Durability;
use taskyard::{Closed, NotTaken};

use crate::node::{Node, on, task, until};
use crate::private::PrivateServer;
use crate::server::Schema;

/// Far longer than a server is away here.
const LEASE: Duration = Duration::from_mins(1);

/// B17: for less than a lease.
#[test]
fn a_task_that_runs_while_its_server_is_away_ends_once_and_is_recorded_when_it_is_back() {
    let Some(server) = PrivateServer::start("yard", &[]) else { return };
    let schema = Schema::at(&server.url);
    let settings =
        conductor::Settings { submit_patience: Duration::from_millis(500), ..conductor::Settings::default() };
    let store = on(&schema, &server.url, LEASE).durability(Durability::Full);
    let node = Node::with(store, "done", |builder| builder.conductor(settings.clone()));
    let mut handle = node.submit();
    let guest = node.guest();
    let owner = node.status().owner;

    server.stop();
    let error = node.wait(node.yard.submit_task(task())).expect_err("there is no server");
    assert!(matches!(error.why, NotTaken::Refused(SubmitRefusal::Store(_))), "{error}");
    assert!(error.why.is_temporary(), "{error}");
    let down = node.status().down.expect("it is known");
    assert!(matches!(down.why, StoreError::Unavailable(_) | StoreError::Unknown(_)), "{down:?}");
    assert!(!node.status().is_ready());
    assert!(guest.is_there(), "what runs goes on");
    guest.release();
    until("it ends", || node.yard.running().is_empty());
    assert_eq!(handle.outcome().now_or_never(), None, "nobody is told what is not recorded");

    server.start_again();
    assert_eq!(node.wait(handle.outcome()), Ok(Outcome::Succeeded("\"done\"".into())));
    let status = node.status();
    assert!(status.is_ready(), "{status:?}");
    assert_eq!((status.owner, status.stale_writes), (owner, 0));
    assert_eq!(node.view(handle.id()).epoch, 1, "it ran once");

    let mut again = node.wait(node.yard.submit_task(error.task)).expect("the same task is taken now");
    node.guest().release();
    assert_eq!(node.wait(again.outcome()), Ok(Outcome::Succeeded("\"done\"".into())));
}

/// P18, as far as it is the board's: what a drain does not finish is there for the next yard, and nobody waits for a lease.
#[test]
fn what_a_drain_leaves_runs_in_the_next_yard_at_once() {
    let Some(schema) = Schema::new() else { return };
    let store = || on(&schema, &schema.url, LEASE);
    let first = Node::start(store(), "first");
    let mut running = first.submit();
    let guest = first.guest();
    let queued: Vec<_> = (0..3).map(|_| first.submit().id()).collect();
    first.yard.stop(LEASE);
    guest.release();
    assert_eq!(first.wait(running.outcome()), Ok(Outcome::Succeeded("\"first\"".into())), "what runs ends");
    assert_eq!(first.wait(first.yard.closed()), Closed::Drained);

    let next = Node::start(store(), "next");
    for id in queued {
        next.guest().release();
        assert_eq!(next.wait(next.yard.outcome(id)), Ok(Outcome::Succeeded("\"next\"".into())));
    }
    let owners = next.wait(next.yard.owners()).expect("listed");
    assert_eq!(owners.iter().map(|owner| Some(owner.id)).collect::<Vec<_>>(), [next.status().owner]);
}
