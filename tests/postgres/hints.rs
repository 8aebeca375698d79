//! Hints: whoever waits hears that something changed, and loses nothing if it does not.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use taskyard_core::id::PoolSet;
use taskyard_core::store::Status;

use crate::desk::{Desk, POOL, numbers, options};
use crate::server::Schema;
use crate::task::task;

/// Far longer than a hint takes, and shorter than for ever.
const LONG: Duration = Duration::from_mins(1);

/// A dispatcher that hears hints; it listens already.
fn listening(schema: &Schema) -> (Desk, Receiver<()>) {
    let (hint, hints) = channel();
    let desk = Desk::opened(options(schema), move || _ = hint.send(()));
    // Whoever begins to listen looks once.
    hints.recv_timeout(LONG).expect("it listens");
    (desk, hints)
}

fn pool() -> PoolSet {
    [POOL].into_iter().collect()
}

#[test]
fn what_one_posts_another_hears_of_and_sees() {
    let Some(schema) = Schema::new() else { return };
    let mut poster = Desk::at(&schema);
    let (mut other, hints) = listening(&schema);
    assert_eq!(other.look(), None, "nothing waits");
    poster.post([task(1)]);
    hints.recv_timeout(LONG).expect("a hint");
    assert_eq!(other.look().map(|status| status.ready), Some(pool()));
    assert_eq!(numbers(&other.claim(1)), [1]);
    assert_eq!(other.look(), None, "it knows what it did itself");
}

#[test]
fn a_dispatcher_does_not_hear_itself() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, hints) = listening(&schema);
    let mut other = Desk::at(&schema);
    desk.post([task(1)]);
    other.post([task(2)]);
    hints.recv_timeout(LONG).expect("the other's");
    assert!(hints.try_recv().is_err(), "of two notices one was its own");
}

/// B18
#[test]
fn what_nobody_was_told_of_is_seen_when_one_looks() {
    let Some(schema) = Schema::new() else { return };
    let (mut poster, mut deaf) = (Desk::at(&schema), Desk::at(&schema));
    poster.post([task(1), task(2).due_at(u64::from(u32::MAX) * 1_000)]);
    let Status { ready, next_due, .. } = deaf.look().expect("something changed");
    assert_eq!(ready, pool());
    assert!(next_due.is_some());
    assert_eq!(numbers(&deaf.claim(1)), [1]);
}
