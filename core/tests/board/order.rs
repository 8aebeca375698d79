//! One order everywhere: rank = max(due, posted) − priority × aging, ties by arrival.

use std::time::Duration;

use taskyard_core::board::Settings;

use crate::suite::rig::{A, Rig, done, give_back, retry};
use crate::suite::task::task;

/// Takes one after the other, as a single slot does.
fn one_by_one(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let [n] = rig.claim(A, 1)[..] {
        let epoch = rig.view(n).unwrap().epoch;
        rig.settle(n, epoch, done());
        order.push(n);
    }
    order
}

const LOWEST: u8 = 0;
const LOW: u8 = 2;
const NORMAL: u8 = 5;
const HIGH: u8 = 8;

/// B14
#[test]
fn one_slot_takes_the_highest_priority_first() {
    let mut rig = Rig::new();
    let priorities = [LOW, HIGH, NORMAL, HIGH, LOWEST, NORMAL];
    let mut n = 0;
    rig.post(priorities.map(|priority| {
        n += 1;
        task(n).priority(priority)
    }));
    assert_eq!(rig.claim(A, 1), [2]);
    rig.settle(2, 1, done());
    rig.post([task(7).priority(9)]);
    assert_eq!(rig.claim(A, 1), [7], "one more at the highest priority is next");
    rig.settle(7, 1, done());
    assert_eq!(one_by_one(&mut rig), [4, 3, 6, 1, 5]);
}

/// R8
#[test]
fn within_an_aging_step_priority_decides_and_then_arrival() {
    for aging in [Duration::from_mins(1), Duration::ZERO] {
        let mut rig = Rig::with(Settings { aging, ..Settings::default() });
        for n in 0..20 {
            rig.pass(10).post([task(n).priority(LOW)]);
        }
        for n in 20..25 {
            rig.pass(10).post([task(n).priority(HIGH)]);
        }
        let expected: Vec<_> = (20..25).chain(0..20).collect();
        assert_eq!(one_by_one(&mut rig), expected, "aging {aging:?}");
    }
}

/// R9
#[test]
fn what_waits_long_enough_goes_before_what_is_more_urgent() {
    let mut rig = Rig::new();
    rig.post([task(1).priority(0)]);
    rig.pass(9 * 60_000 - 1).post([task(2).priority(9)]);
    rig.pass(2).post([task(3).priority(9)]);
    assert_eq!(one_by_one(&mut rig), [2, 1, 3]);
}

/// R8
#[test]
fn without_aging_no_wait_outweighs_a_priority() {
    let mut rig = Rig::with(Settings { aging: Duration::ZERO, ..Settings::default() });
    rig.post([task(1).priority(4)]);
    rig.pass(365 * 86_400_000).post([task(2).priority(5), task(3).priority(5)]);
    assert_eq!(one_by_one(&mut rig), [2, 3, 1]);
}

#[test]
fn a_parked_task_takes_its_place_by_its_due_time() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500)]);
    rig.pass(400).post([task(2)]);
    rig.pass(200).post([task(3)]);
    rig.promote();
    assert_eq!(one_by_one(&mut rig), [2, 1, 3]);
}

/// D4
#[test]
fn a_due_time_in_the_past_gains_nothing() {
    let mut rig = Rig::new();
    rig.pass(1_000).post([task(1)]);
    rig.post([task(2).due_at(10)]);
    assert_eq!(one_by_one(&mut rig), [1, 2]);
}

/// R17
#[test]
fn what_is_given_back_keeps_its_place_and_a_retry_takes_a_new_one() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 2);
    rig.pass(100).post([task(3)]);
    rig.pass(100).settle(1, 1, give_back());
    rig.settle(2, 1, retry(200));
    rig.promote();
    assert_eq!(one_by_one(&mut rig), [1, 3, 2]);
}

#[test]
fn twins_behind_each_other_go_in_the_same_order() {
    let mut rig = Rig::new();
    rig.post([task(1).serial(), task(2).serial(), task(3).serial(), task(4).serial().priority(9)]);
    assert_eq!(one_by_one(&mut rig), [1, 4, 2, 3], "the first two were ready before the urgent one came");
}
