//! Of a key whose waiting has no bound only one more than may run is ready or claimed; the others are behind.

use taskyard_core::store::{RowState, Settle};
use taskyard_core::task::{DueAt, KeyLimits, Overflow};

use crate::suite::rig::{A, Rig, done, give_back, only, retry, trash};
use crate::suite::task::{at, task};
use RowState::{Behind, Claimed, Parked, Ready};

/// Four serial twins: the first runs, the second is ready.
fn queue() -> Rig {
    let mut rig = Rig::new();
    rig.post([task(1).serial(), task(2).serial(), task(3).serial(), task(4).serial()]);
    assert_eq!(rig.claim(A, 1), [1]);
    assert_eq!(rig.states([1, 2, 3, 4]), [Claimed, Ready, Behind, Behind]);
    rig
}

/// P27
#[test]
fn a_burst_of_twins_leaves_one_more_than_may_run_to_be_claimed() {
    let mut rig = Rig::new();
    for n in 0..1_000 {
        rig.post([task(n).serial()]);
    }
    assert_eq!(rig.claim(A, 1_000), [0, 1]);
    assert_eq!(rig.counts().behind, 998);
}

#[test]
fn a_limit_of_two_leaves_three() {
    let mut rig = Rig::new();
    let pair = KeyLimits::new(2, KeyLimits::UNLIMITED, Overflow::DropNew);
    for n in 0..5 {
        rig.post([task(n).key(1, pair)]);
    }
    assert_eq!(rig.claim(A, 9), [0, 1, 2]);
}

#[test]
fn another_key_and_the_same_key_in_another_namespace_are_no_twins() {
    let mut rig = Rig::new();
    rig.post([
        task(1).serial(),
        task(2).serial(),
        task(3).serial().lane("a.y", "one"),
        task(4).key(8, KeyLimits::SERIAL),
        task(5).serial().lane("a.x", "two"),
    ]);
    assert_eq!(rig.claim(A, 9), [1, 2, 3, 4]);
    assert_eq!(rig.states([5]), [Behind], "its name does not tell it apart");
}

#[test]
fn the_next_takes_the_place_of_one_that_is_done() {
    for end in [done(), trash(), retry(1_000)] {
        let mut rig = queue();
        rig.settle(1, 1, end.clone());
        assert_eq!(rig.states([2, 3, 4]), [Ready, Ready, Behind], "{end:?}");
    }
}

#[test]
fn the_next_takes_the_place_of_one_that_is_cancelled() {
    let mut rig = queue();
    rig.cancel(only(&[2]));
    assert_eq!(rig.states([3, 4]), [Ready, Behind]);
    rig.cancel(only(&[4]));
    assert_eq!(rig.counts().behind, 0);
}

#[test]
fn the_next_takes_the_place_of_one_that_is_given_another_time() {
    let mut rig = queue();
    rig.reschedule(2, 1_000);
    assert_eq!(rig.states([2, 3, 4]), [Parked, Ready, Behind]);
}

#[test]
fn the_next_takes_the_place_of_one_that_expires() {
    let mut rig = Rig::new();
    rig.post([task(1).serial(), task(2).serial().expires_at(100), task(3).serial()]);
    rig.claim(A, 1);
    rig.pass(100).promote();
    assert_eq!(rig.states([3]), [Ready]);
}

#[test]
fn the_next_takes_the_place_of_one_that_is_found_expired_by_a_claim() {
    let mut rig = Rig::new();
    rig.post([task(1).serial().expires_at(100), task(2).serial().expires_at(100), task(3).serial()]);
    rig.pass(100);
    assert_eq!(rig.claim(A, 9), [3]);
}

#[test]
fn the_next_takes_the_place_of_one_that_pauses() {
    let mut rig = queue();
    rig.settle(
        1,
        1,
        Settle::GiveBack { due: Some(DueAt::Wall(at(500))), setback: true, renew: false, started: true },
    );
    assert_eq!(rig.states([1, 2, 3, 4]), [Parked, Ready, Ready, Behind]);
    rig.pass(500).promote();
    assert_eq!(rig.states([1]), [Behind], "until one of the others has ended");
    rig.claim(A, 1);
    rig.settle(2, 1, done());
    assert_eq!(rig.states([1, 3, 4]), [Ready, Ready, Behind], "and then by rank");
}

/// It went behind its twins once, so that a pause of the pool let a later one past.
#[test]
fn a_twin_that_is_given_back_at_once_stays_before_the_others() {
    let mut rig = queue();
    rig.settle(1, 1, give_back());
    assert_eq!(rig.states([1, 2, 3, 4]), [Ready, Ready, Behind, Behind]);
    assert_eq!(rig.claim(A, 1), [1]);
}

#[test]
fn a_preloaded_twin_counts_as_claimed() {
    let mut rig = Rig::new();
    rig.post([task(1).serial().due_at(100), task(2).serial().due_at(100)]);
    assert_eq!(rig.preload(A, 2_000, 2), [1, 2]);
    rig.post([task(3).serial()]);
    assert_eq!(rig.states([3]), [Behind]);
    rig.settle(1, 1, done());
    assert_eq!(rig.states([3]), [Ready]);
}

#[test]
fn a_key_is_forgotten_with_its_last_row() {
    let mut rig = queue();
    for n in 1..=4 {
        if n > 1 {
            assert_eq!(rig.claim(A, 1), [n]);
        }
        rig.settle(n, 1, done());
    }
    rig.post([task(5).serial(), task(6).serial()]);
    assert_eq!(rig.claim(A, 9), [5, 6]);
}
