//! Looking changes nothing.

use taskyard_core::store::{Counts, Filter, RowState};
use taskyard_core::task::KeyLimits;

use crate::rig::{A, Rig, done, only, trash};
use crate::task::{at, id, task};

fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

#[test]
fn a_list_is_in_order_of_arrival_and_goes_on_after_a_cursor() {
    let mut rig = Rig::new();
    rig.post([task(9), task(8).priority(9), task(7).due_at(500), task(6), task(5)]);
    rig.claim(A, 1);
    let first = rig.list(all(), 0, 2);
    assert_eq!(first.iter().map(|view| view.id).collect::<Vec<_>>(), [id(9), id(8)]);
    let cursor = first[1].order.unwrap().sequence;
    rig.cancel(only(&[8, 6]));
    let rest = rig.list(all(), cursor, 9);
    assert_eq!(rest.iter().map(|view| view.id).collect::<Vec<_>>(), [id(7), id(5)]);
}

#[test]
fn a_list_shows_what_its_filter_picks_and_nothing_that_ended() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("b", "two"), task(3).lane("a.x", "two")]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    let two = Filter { task: Some("two".parse().unwrap()), ..Filter::default() };
    assert_eq!(rig.list(two, 0, 9).len(), 2);
    assert_eq!(rig.list(all(), 0, 9).len(), 2);
    assert_eq!(rig.list(Filter::default(), 0, 9).len(), 0);
}

#[test]
fn a_view_says_where_a_task_is() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500), task(2).lane("c", "one")]);
    let parked = rig.view(1).unwrap();
    assert_eq!((parked.state, parked.due, parked.epoch), (RowState::Parked, Some(at(500)), 0));
    assert!(!parked.unroutable && parked.outcome.is_none());
    assert!(rig.view(2).unwrap().unroutable);
    assert!(rig.view(3).is_none());
}

#[test]
fn counts_tell_the_states_apart() {
    let mut rig = Rig::new();
    rig.post([
        task(1),
        task(2),
        task(3).due_at(500),
        task(4).key(1, KeyLimits::DISCARD),
        task(5).lane("c", "one"),
    ]);
    rig.claim(A, 2);
    rig.settle(2, 1, trash());
    rig.post([task(6).serial(), task(7).serial(), task(8).serial()]);
    let expected =
        Counts { parked: 1, behind: 1, unjudged: 1, ready: 3, claimed: 1, unroutable: 1, trashed: 1 };
    assert_eq!(rig.counts(), expected);
    assert_eq!(rig.counts(), expected);
}
