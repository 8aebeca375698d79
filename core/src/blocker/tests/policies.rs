//! What each policy does with twins.

use std::time::{Duration, Instant};

use super::world::{Role, World, ranked, retried};
use crate::dispatch::{End, Failure, Loss};
use crate::keys::fixture::{self, KEY};
use crate::live;
use crate::task::{Key, KeyLimits, Overflow};

fn burst(limits: KeyLimits, tasks: u64) -> World {
    let mut world = World::default();
    (1..=tasks).for_each(|n| world.submit(n, limits));
    world
}

fn limits(running: u32, waiting: u32, overflow: Overflow) -> KeyLimits {
    KeyLimits { running, waiting, overflow }
}

/// P15
#[test]
fn of_ten_twins_the_right_number_runs_waits_and_is_discarded() {
    let table = [
        (KeyLimits::PARALLEL, 10, 0, 0),
        (KeyLimits::DISCARD, 1, 0, 9),
        (KeyLimits::SERIAL, 1, 9, 0),
        (KeyLimits::QUEUE_ONE, 1, 1, 8),
        (KeyLimits::REPLACE, 1, 1, 8),
        (limits(3, 2, Overflow::DropNew), 3, 2, 5),
        (limits(2, 0, Overflow::DropWaiting), 2, 0, 8),
        (limits(2, 3, Overflow::DropWaiting), 2, 3, 5),
    ];
    for (limits, running, blocked, discarded) in table {
        let world = burst(limits, 10);
        let counts = (world.running().len(), world.blocked().len(), world.discarded().len());
        assert_eq!(counts, (running, blocked, discarded), "{limits:?}");
        assert_eq!(world.held().len(), blocked, "{limits:?}");
    }
}

#[test]
fn a_task_without_a_key_asks_nobody() {
    let mut world = World::default();
    let live = world.dispatch(fixture::dispatch(1, None, KeyLimits::PARALLEL));
    world.deliver((Role::Delayer, Role::Blocker));
    assert!(world.mail.keys().eq([&(Role::Blocker, Role::Queuer)]));
    assert_eq!(live.stage(), live::Stage::Delayed, "it never waited here");
}

/// P2: it runs once more after the second submit.
#[test]
fn the_one_that_queue_one_lets_wait_runs_when_the_first_ended() {
    let mut world = burst(KeyLimits::QUEUE_ONE, 2);
    assert_eq!((world.running(), world.held()), (vec![1], vec![2]));
    world.succeed();
    assert_eq!(world.running(), [2]);
    world.succeed();
    world.assert_nothing_left();
}

/// P3
#[test]
fn a_twin_starts_when_the_worker_of_the_first_was_lost() {
    let mut world = burst(KeyLimits::SERIAL, 2);
    let loss = Loss { status: "signal 9".into(), output: String::new() };
    world.end(0, End::Failed(Failure::Lost(Box::new(loss))), Role::Pool);
    world.settle();
    assert_eq!((world.ended.len(), world.running()), (1, vec![2]));
    assert!(world.blocked().is_empty());
}

#[test]
fn twins_run_in_order_of_rank_and_then_of_arrival() {
    let mut world = burst(KeyLimits::SERIAL, 3);
    world.submit_with(4, KeyLimits::SERIAL, ranked(-1));
    assert_eq!(world.held(), [4, 2, 3]);
    for next in [4, 2, 3] {
        world.succeed();
        assert_eq!(world.running(), [next]);
    }
}

#[test]
fn a_discarded_task_names_the_one_in_progress() {
    assert_eq!(burst(KeyLimits::DISCARD, 3).discarded(), [(2, 1), (3, 1)]);
    assert_eq!(burst(KeyLimits::QUEUE_ONE, 4).discarded(), [(3, 1), (4, 1)]);
}

#[test]
fn replace_keeps_the_highest_sequence_and_names_it() {
    let mut world = burst(KeyLimits::REPLACE, 4);
    assert_eq!(world.discarded(), [(2, 3), (3, 4)]);
    assert_eq!((world.running(), world.held(), world.blocked()), (vec![1], vec![4], vec![4]));
    world.succeed();
    assert_eq!(world.running(), [4]);
}

#[test]
fn replace_drops_the_arriving_one_if_a_newer_one_waits() {
    let mut world = burst(KeyLimits::REPLACE, 1);
    world.submit(9, KeyLimits::REPLACE);
    world.submit(5, KeyLimits::REPLACE);
    assert_eq!((world.discarded(), world.held()), (vec![(5, 9)], vec![9]));
}

#[test]
fn replace_drops_only_what_never_ran() {
    let mut world = burst(KeyLimits::REPLACE, 2);
    world.submit_with(3, KeyLimits::REPLACE, retried);
    assert_eq!((world.discarded(), world.held()), (vec![], vec![2, 3]), "a retry never overflows");
    world.submit(4, KeyLimits::REPLACE);
    assert_eq!((world.discarded(), world.held()), (vec![(2, 4)], vec![3, 4]));
}

#[test]
fn replace_drops_the_arriving_one_if_only_retries_wait() {
    let mut world = burst(KeyLimits::REPLACE, 1);
    world.submit_with(2, KeyLimits::REPLACE, retried);
    world.submit(3, KeyLimits::REPLACE);
    assert_eq!((world.discarded(), world.held()), (vec![(3, 2)], vec![2]));
}

#[test]
fn a_retry_waits_even_where_twins_are_discarded() {
    let mut world = burst(KeyLimits::DISCARD, 1);
    world.submit_with(2, KeyLimits::DISCARD, retried);
    assert_eq!((world.discarded(), world.blocked()), (vec![], vec![2]));
    world.succeed();
    assert_eq!(world.running(), [2]);
}

#[test]
fn each_is_judged_by_its_own_policy() {
    let mut world = burst(KeyLimits::SERIAL, 2);
    world.submit(3, KeyLimits::DISCARD);
    world.submit(4, KeyLimits::QUEUE_ONE);
    assert_eq!(world.discarded(), [(3, 1), (4, 1)]);
    world.submit(5, KeyLimits::SERIAL);
    world.submit(6, limits(2, 0, Overflow::DropNew));
    world.submit(7, KeyLimits::PARALLEL);
    assert_eq!((world.running(), world.held()), (vec![1, 6, 7], vec![2, 5]));
    for _ in 0..5 {
        world.succeed();
    }
    world.assert_nothing_left();
}

#[test]
fn keys_do_not_touch_each_other() {
    let mut world = World::default();
    for n in 1..=3 {
        world.dispatch(fixture::dispatch(n, Some(Key(n.into())), KeyLimits::DISCARD));
    }
    world.settle();
    assert_eq!(world.running(), [1, 2, 3]);
    assert_eq!(world.in_progress_of(KEY), 0);
}

/// P27: a scan of what is held would take minutes here.
#[test]
fn a_hundred_thousand_serial_tasks_cost_no_more_each_than_a_few() {
    let started = Instant::now();
    for keys in [1, 100_000] {
        let mut world = World::default();
        world.unchecked = true;
        for n in 0..100_000 {
            world.dispatch(fixture::dispatch(n, Some(Key(u128::from(n) % keys)), KeyLimits::SERIAL));
        }
        world.settle();
        assert_eq!(world.running().len() as u128, keys);
        while let Some(last) = world.passed.pop() {
            world.passed.push(last);
            let at = world.passed.len() - 1;
            world.end(at, End::Cancelled, Role::Pool);
            world.settle();
        }
        assert_eq!(world.ended.len(), 100_000);
        world.assert_nothing_left();
    }
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}
