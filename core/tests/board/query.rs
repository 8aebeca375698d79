//! Looking changes nothing.

use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::store::{Counts, Filter, RowState};
use taskyard_core::task::KeyLimits;

use crate::suite::rig::{A, NONE, Rig, all, done, failure, only, pages, trash};
use crate::suite::task::{at, id, task};

#[test]
fn a_list_is_in_order_of_arrival_and_goes_on_after_a_cursor() {
    let mut rig = Rig::new();
    rig.post([task(9), task(8).priority(9), task(7).due_at(500), task(6), task(5)]);
    rig.claim(A, 1);
    let (first, more) = rig.page(all(), 0, 2);
    assert_eq!(first, [9, 8]);
    rig.cancel(only(&[8, 6]));
    let cursor = more.expect("there are more");
    assert_eq!(pages(|after| rig.page(all(), after.max(cursor), 9)), [7, 5]);
}

#[test]
fn a_list_shows_what_its_filter_picks_and_nothing_that_ended() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("b", "two"), task(3).lane("a.x", "two")]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    let two = Filter { task: Some("two".parse().unwrap()), ..Filter::default() };
    assert_eq!(rig.list(two.clone(), 9), [2, 3]);
    assert_eq!(rig.list(all(), 9), [2, 3]);
    assert_eq!(rig.list(Filter::default(), 9), NONE);
    assert_eq!(rig.list(Filter { ids: vec![id(3), id(1), id(3)], ..two }, 9), [3]);
}

#[test]
fn the_pages_of_a_list_are_the_list_whatever_their_size() {
    let mut rig = Rig::new();
    rig.post_many((0..30).map(|n| task(n).lane(if n % 3 == 0 { "b" } else { "a.x" }, "one")));
    let third = Filter { namespace: Some("b".parse().unwrap()), ..Filter::default() };
    for size in [1, 2, 7, 30, 100, usize::MAX - 1, usize::MAX] {
        assert_eq!(rig.list(all(), size), (0..30).collect::<Vec<_>>());
        assert_eq!(rig.list(third.clone(), size), (0..30).step_by(3).collect::<Vec<_>>());
        assert_eq!(rig.list(only(&[5, 3, 99, 4]), size), [3, 4, 5]);
    }
}

#[test]
fn outcomes_are_told_of_what_ended_and_of_what_nobody_knows() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3), task(4)]);
    rig.claim(A, 3);
    rig.settle(1, 1, done());
    rig.settle(2, 1, trash());
    rig.cancel(only(&[4]));
    let value = Some(Outcome::Succeeded("null".into()));
    let refused = Some(Outcome::Trashed(Trash::Refused(failure())));
    let expected = [(1, value), (2, refused), (4, Some(Outcome::Cancelled)), (5, None)];
    assert_eq!(rig.outcomes(&[1, 2, 3, 4, 5]), expected);
    assert_eq!(rig.outcomes(&[]), []);
}

#[test]
fn a_view_says_who_has_a_task_and_when_it_ended() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    assert_eq!(rig.view(1).unwrap().owner, None);
    rig.claim(A, 1);
    let view = rig.view(1).unwrap();
    assert_eq!((view.owner, view.ended), (Some(rig.owner()), None));
    rig.pass(70).settle(1, 1, done());
    let view = rig.view(1).unwrap();
    assert_eq!((view.owner, view.ended, view.epoch), (None, Some(at(70)), 1));
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

#[test]
fn what_a_filter_picks_is_counted_by_state() {
    let mut rig = Rig::new();
    rig.post([
        task(1),
        task(2).lane("a.x", "two"),
        task(3).lane("a.x", "two").due_at(500),
        task(4).lane("c", "two"),
        task(5).lane("c", "one").key(1, KeyLimits::DISCARD),
        task(6).lane("a.x", "two"),
    ]);
    rig.claim(A, 2);
    rig.settle(1, 1, trash());
    let two = Filter { task: Some("two".parse().unwrap()), ..Filter::default() };
    let expected = Counts { parked: 1, ready: 2, claimed: 1, unroutable: 1, ..Counts::default() };
    assert_eq!(rig.counts_of(&two), expected);
    let c = Filter { namespace: Some("c".parse().unwrap()), ..Filter::default() };
    let expected = Counts { ready: 1, unjudged: 1, unroutable: 2, ..Counts::default() };
    assert_eq!(rig.counts_of(&c), expected);
    let both = Filter { namespace: c.namespace.clone(), ..two.clone() };
    assert_eq!(rig.counts_of(&both), Counts { ready: 1, unroutable: 1, ..Counts::default() });
    let named = Filter { ids: vec![id(3), id(1), id(4), id(5), id(3), id(9)], ..two };
    assert_eq!(rig.counts_of(&named), Counts { parked: 1, ready: 1, unroutable: 1, ..Counts::default() });
    assert_eq!(rig.counts_of(&all()), Counts { trashed: 0, ..rig.counts() });
    assert_eq!(rig.counts_of(&Filter::default()), Counts::default());
}

#[test]
fn a_count_of_many_goes_over_all_pages() {
    let mut rig = Rig::new();
    rig.post_many((0..20_001).map(|n| task(n).lane(if n % 3 == 0 { "b" } else { "a.x" }, "one")));
    let third = Filter { namespace: Some("b".parse().unwrap()), ..Filter::default() };
    assert_eq!(rig.counts_of(&third).unfinished(), 6_667);
    assert_eq!(rig.counts_of(&all()).unfinished(), 20_001);
}
