//! What comes into the yard, and how much at once.

use taskyard_core::Machine;
use taskyard_core::conductor::{Answer, Event, Settings};
use taskyard_core::store::{self, Filter, Request};

use crate::yard::{POOL, Yard, bounded, delayed, success, task};

/// B15
#[test]
fn no_more_is_claimed_than_the_pool_has_slots() {
    let mut yard = Yard::new(2);
    yard.submit([task(1), task(2), task(3), task(4)]);
    assert_eq!(yard.live(), [1, 2]);
    yard.tell(Event::Capacity { pool: POOL, slots: 3 });
    assert_eq!(yard.live(), [1, 2, 3]);
    yard.tell(Event::Capacity { pool: POOL, slots: 0 });
    yard.end(1, success());
    assert_eq!(yard.live(), [2, 3], "a paused pool claims nothing");
}

#[test]
fn what_waits_for_its_key_makes_room_for_others_and_takes_it_back() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), task(2), task(3)]);
    let first = yard.dispatches[&1].name();
    yard.tell(Event::Blocked(first));
    assert_eq!(yard.live(), [1, 2]);
    yard.tell(Event::Unblocked(first));
    yard.end(2, success());
    assert_eq!(yard.live(), [1], "its slot is used again");
}

#[test]
fn never_more_is_in_the_yard_than_may_be() {
    let mut yard = Yard::with(9, Settings { live_max: 2, ..Settings::default() });
    yard.submit([task(1), bounded(2), bounded(3), delayed(4, 100), task(5)]);
    assert_eq!(yard.conductor.live(), 2);
    for n in [1, 2] {
        yard.end(n, success());
        assert_eq!(yard.conductor.live(), 2);
    }
}

#[test]
fn answers_on_their_way_count_as_in_the_yard() {
    let mut yard = Yard::with(9, Settings { live_max: 2, ..Settings::default() });
    yard.board_is_up = false;
    for n in 1..=3 {
        yard.submit_as([bounded(n)], false);
    }
    while yard.answer_one() {
        assert!(yard.conductor.live() <= 2);
    }
    assert_eq!(yard.live(), [1, 2]);
}

/// D10
#[test]
fn a_pool_takes_in_only_so_many_that_are_not_due_and_the_next_once_one_is() {
    let mut yard = Yard::with(9, Settings { near_max: 2, ..Settings::default() });
    yard.submit([delayed(1, 500), delayed(2, 600), delayed(3, 700), task(4)]);
    assert_eq!(yard.live(), [1, 2, 4], "and they do not use up the room of those that are due");
    yard.tell(Event::Due(yard.dispatches[&1].name()));
    assert_eq!(yard.live(), [1, 2, 3, 4]);
}

#[test]
fn the_basket_is_looked_into_when_its_head_comes_near() {
    let mut yard = Yard::new(1);
    yard.submit([delayed(1, 10_000)]);
    assert!(yard.live().is_empty());
    yard.pass(8_000);
    assert!(yard.live().is_empty(), "due in exactly one horizon");
    let wakeup = yard.conductor.next_wakeup().sleep(yard.now).unwrap();
    assert_eq!(wakeup.as_micros(), 1);
    yard.pass(1);
    assert_eq!(yard.live(), [1]);
}

#[test]
fn a_name_that_a_pool_learns_brings_what_waited_for_it() {
    let mut yard = Yard::new(1);
    let lane = taskyard_core::names::Lane { namespace: "a".parse().unwrap(), name: "two".parse().unwrap() };
    yard.submit([taskyard_core::task::Task { lane: lane.into(), ..task(1) }]);
    assert!(yard.live().is_empty());
    yard.tell(Event::Learned { pool: POOL, names: vec!["two".parse().unwrap()] });
    assert_eq!(yard.live(), [1]);
}

#[test]
fn looking_changes_nothing() {
    let mut yard = Yard::new(1);
    yard.submit([task(1), task(2)]);
    let filter = || Filter { all: true, ..Filter::default() };
    let mut query = |request| {
        yard.tell(Event::Query { request: Box::new(request), reply: 5 });
        match yard.answer(5) {
            Answer::Board(answer) => answer.expect("the board is well"),
            other => panic!("{other:?}"),
        }
    };
    let list = query(Request::List { filter: filter(), after: 0, limit: 9 });
    assert!(matches!(list, store::Answer::Tasks { tasks, more: None } if tasks.len() == 2));
    let counts = query(Request::Count);
    assert!(matches!(counts, store::Answer::Counts(counts) if (counts.claimed, counts.ready) == (1, 1)));
    let one = query(Request::Get(crate::yard::id(2)));
    assert!(matches!(one, store::Answer::Task(Some(view)) if view.id == crate::yard::id(2)));
}

/// What others put there, what they lost sight of, and what is to be forgotten.
#[test]
fn a_shared_board_is_looked_after_by_the_way() {
    let settings = Settings {
        history_for: std::time::Duration::from_secs(1_000),
        result_ttl: std::time::Duration::from_secs(100),
        history_max: 7,
        ..crate::shared::settings()
    };
    let mut yard = Yard::with(1, settings);
    yard.register();
    yard.board_is_up = false;
    let mut prunes = Vec::new();
    for second in 1..=130_u64 {
        yard.pass(1_000);
        for ask in &yard.asks {
            if let Request::Prune { ended_before, results_before, keep, .. } = &*ask.request {
                let now = crate::yard::at(second * 1_000);
                prunes.push((
                    second,
                    now.since(*ended_before) / 1_000_000,
                    now.since(*results_before) / 1_000_000,
                    *keep,
                ));
            }
        }
        while yard.answer_one() {}
    }
    assert_eq!(prunes, [(60, 1_000, 100, 7), (120, 1_000, 100, 7)]);
}

#[test]
fn pruning_goes_on_at_once_while_there_is_more() {
    let mut yard = crate::shared::yard(1);
    yard.board_is_up = false;
    yard.pass(60_000);
    yard.asks.retain(|ask| matches!(*ask.request, Request::Prune { .. }));
    for more in [true, true, false] {
        assert_eq!(yard.asked(), ["prune"]);
        yard.script(Ok(store::Answer::Pruned { rows: 1_000, more }), store::Status::default());
    }
    assert!(yard.asked().is_empty());
}
