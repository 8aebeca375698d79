//! A cancel ends what waits here, by filter or by id, and says which of the named ones had ended before.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Filter, RowState};
use taskyard_core::task::KeyLimits;

use crate::rig::{A, NONE, Rig, cancelled, done, only};
use crate::task::task;

/// D8
#[test]
fn a_parked_task_that_is_cancelled_never_runs() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500)]);
    assert_eq!(rig.cancel(only(&[1])), (vec![1], vec![]));
    rig.pass(500).promote();
    assert_eq!(rig.claim(A, 1), NONE);
    assert_eq!(rig.outcome(1), Some(Outcome::Cancelled));
}

/// D8
#[test]
fn the_claimed_the_ended_and_the_unknown_are_told_apart() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 2);
    rig.settle(1, 1, done());
    assert_eq!(rig.cancel(only(&[1, 2, 3, 4])), (vec![3], vec![1]));
    assert_eq!(rig.states([1, 2, 3]), [RowState::Ended, RowState::Claimed, RowState::Ended]);
}

/// P1
#[test]
fn a_filter_by_name_cancels_all_that_wait_in_order_of_arrival() {
    let mut rig = Rig::new();
    rig.post([
        task(5).priority(9),
        task(4).due_at(900),
        task(3).key(1, KeyLimits::DISCARD),
        task(2).lane("b", "one"),
        task(1).lane("a.x", "two"),
    ]);
    let one = Filter { task: Some("one".parse().unwrap()), ..Filter::default() };
    assert_eq!(rig.cancel(one), (vec![5, 4, 3, 2], vec![]));
    assert_eq!(rig.states([1]), [RowState::Ready]);
}

#[test]
fn all_that_a_filter_says_must_hold() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("b", "one"), task(3), task(4).lane("a.y", "two")]);
    let namespace = Some("a.#".parse().unwrap());
    let filter = Filter { namespace, task: Some("one".parse().unwrap()), ..only(&[1, 2, 4]) };
    assert_eq!(rig.cancel(filter).0, [1]);
}

/// P28
#[test]
fn an_empty_filter_picks_nothing_and_all_means_all() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("c", "one")]);
    assert_eq!(rig.cancel(Filter::default()).0, NONE);
    assert_eq!(rig.cancel(Filter { all: true, ..Filter::default() }).0, [1, 2]);
}

#[test]
fn a_task_that_is_named_twice_ends_once() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    assert_eq!(rig.cancel(only(&[1, 1])), (vec![1], vec![]));
}

/// A repetition whose first answer was only late once ended more tasks, of which nobody was told.
#[test]
fn a_repeated_cancel_says_the_same_and_ends_no_others() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    assert_eq!(rig.cancel(only(&[1, 2, 3])), (vec![2], vec![1]));
    assert_eq!(cancelled(rig.repeat()), (vec![2], vec![1]), "what it ended itself had not ended before");
}

/// As above.
#[test]
fn a_repeated_cancel_leaves_alone_what_was_posted_since() {
    let mut rig = Rig::new();
    assert_eq!(rig.cancel(Filter { all: true, ..Filter::default() }).0, NONE);
    let first = rig.last();
    rig.post_while_open(first.no, [task(5)]);
    assert_eq!(cancelled(rig.ask_again(first)).0, NONE);
    assert_eq!(rig.states([5]), [RowState::Ready]);
}
