//! A cancel ends what waits here, by filter or by id, and says which of the named ones had ended before.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Filter, OwnerId, Request, RowState};
use taskyard_core::task::KeyLimits;

use crate::suite::rig::{
    A, LEASE, NONE, Rig, all, cancelled, done, give_back, only, pages, retry, room, trash,
};
use crate::suite::task::{id, task};

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
    assert_eq!(rig.cancel(all()).0, [1, 2]);
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
    assert_eq!(rig.cancel(all()).0, NONE);
    let first = rig.last();
    rig.post_while_open(first.no, [task(5)]);
    assert_eq!(cancelled(rig.ask_again(first)).0, NONE);
    assert_eq!(rig.states([5]), [RowState::Ready]);
}

#[test]
fn a_filter_goes_through_all_rows_step_by_step() {
    let mut rig = Rig::new();
    rig.post_many((0..30).map(|n| task(n).lane(if n % 2 == 0 { "b" } else { "a.x" }, "one")));
    let even = Filter { namespace: Some("b".parse().unwrap()), ..Filter::default() };
    let step = |after| {
        let (tasks, _, more) = rig.cancel_from(even.clone(), after);
        (tasks, more)
    };
    assert_eq!(pages(step), (0..30).step_by(2).collect::<Vec<_>>());
    assert_eq!(rig.list(all(), 99), (1..30).step_by(2).collect::<Vec<_>>());
}

#[test]
fn a_cursor_leaves_alone_what_arrived_before_it() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3)]);
    let second = rig.view(2).unwrap().order.unwrap().sequence;
    assert_eq!(rig.cancel_from(all(), second).0, [3]);
    assert_eq!(rig.states([1, 2]), [RowState::Ready; 2]);
}

/// A task of another owner, and the two owners: who has it, and who asks.
fn elsewhere() -> (Rig, OwnerId, OwnerId) {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.as_owner(other);
    (rig, first, other)
}

#[test]
fn what_another_has_is_marked_and_told_at_each_renewal_until_it_is_settled() {
    let (mut rig, first, other) = elsewhere();
    rig.post([task(2)]);
    assert_eq!(rig.claim(A, 1), [2]);
    let (gone, elsewhere, _) = rig.cancel_from(only(&[1, 2]), 0);
    assert_eq!((gone, elsewhere), (vec![], vec![1]), "its own it must look for itself");
    assert_eq!(rig.renew().marked, []);
    rig.as_owner(first);
    assert_eq!((rig.renew().marked, rig.renew().marked), (vec![id(1)], vec![id(1)]));
    assert!(rig.settle(1, 1, done()));
    assert_eq!(rig.renew().marked, []);
    assert_eq!(rig.outcome(1), Some(Outcome::Succeeded("null".into())), "its end counts");
    rig.as_owner(other);
    assert_eq!(rig.states([2]), [RowState::Claimed]);
}

#[test]
fn a_filter_marks_what_another_has() {
    let (mut rig, first, _) = elsewhere();
    rig.post_with(room(1, 0), [task(2), task(3)]);
    let (gone, elsewhere, _) = rig.cancel_from(all(), 0);
    assert_eq!((gone, elsewhere), (vec![3], vec![1]));
    assert_eq!(rig.as_owner(first).renew().marked, [id(1)]);
}

#[test]
fn a_repeated_cancel_marks_no_others() {
    let (mut rig, first, other) = elsewhere();
    rig.cancel_from(all(), 0);
    let cancel = rig.last();
    rig.as_owner(first).post_with(room(1, 0), [task(2)]);
    rig.as_owner(other).ask_again(cancel);
    assert_eq!(rig.as_owner(first).renew().marked, [id(1)]);
}

#[test]
fn what_is_marked_and_comes_back_ends_cancelled() {
    for settle in [retry(0), retry(500), give_back()] {
        let (mut rig, first, _) = elsewhere();
        rig.post([task(2).serial(), task(3).serial(), task(4).serial()]);
        rig.cancel_from(only(&[1]), 0);
        rig.as_owner(first);
        assert!(rig.settle(1, 1, settle.clone()), "{settle:?}");
        assert_eq!(rig.outcome(1), Some(Outcome::Cancelled), "{settle:?}");
        assert!(rig.settle(1, 1, settle), "recorded");
        assert_eq!(rig.renew().marked, []);
        assert_eq!(rig.claim(A, 9), [2, 3]);
    }
}

#[test]
fn what_is_marked_and_fails_for_good_is_in_the_trash() {
    let (mut rig, first, _) = elsewhere();
    rig.cancel_from(only(&[1]), 0);
    assert!(rig.as_owner(first).settle(1, 1, trash()));
    assert!(matches!(rig.outcome(1), Some(Outcome::Trashed(_))));
    assert_eq!(rig.renew().marked, []);
}

#[test]
fn what_is_marked_ends_cancelled_when_its_owner_dies_or_goes() {
    for dies in [true, false] {
        let (mut rig, first, other) = elsewhere();
        rig.post([task(2)]);
        rig.as_owner(first).claim(A, 1);
        rig.as_owner(other).cancel_from(only(&[1]), 0);
        if dies {
            rig.pass_lease(LEASE).renew();
            rig.take_over(9);
        } else {
            rig.as_owner(first).ask(Request::Release);
            rig.as_owner(other);
        }
        assert_eq!(rig.outcome(1), Some(Outcome::Cancelled));
        assert_eq!(rig.claim(A, 9), [2], "what was not marked goes on");
    }
}

/// D8
#[test]
fn what_was_cancelled_is_known_to_have_ended() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.cancel(only(&[1]));
    rig.post([task(1)]);
    assert_eq!(rig.claim(A, 9), NONE);
    assert_eq!(rig.cancel(only(&[1])), (vec![], vec![1]));
}
