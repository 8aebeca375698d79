//! What ended long ago is forgotten, its value sooner; the trash only by its number.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, Request, RowState};
use taskyard_core::time::Timestamp;

use crate::suite::rig::{A, Rig, done, only, trash};
use crate::suite::task::{at, task};

/// Nothing is older than this.
const NEVER: Timestamp = Timestamp(0);
/// So many that it means nothing.
const ANY: usize = 1_000;

/// Tasks 1 to 4, ended at 100, 200, 300 and 400.
fn four() -> Rig {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3), task(4)]);
    rig.claim(A, 4);
    for n in 1..=4 {
        rig.pass(100).settle(n, 1, done());
    }
    rig
}

/// How many were forgotten, in as many requests as it takes.
fn prune(
    rig: &mut Rig,
    ended_before: Timestamp,
    results_before: Timestamp,
    keep: usize,
    up_to: usize,
) -> usize {
    let mut forgotten = 0;
    for _ in 0..100 {
        match rig.ask(Request::Prune { ended_before, results_before, keep, up_to }) {
            Answer::Pruned { rows, more } => {
                assert!(rows <= 2 * up_to);
                forgotten += rows;
                if !more {
                    return forgotten;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("there is always more");
}

fn known(rig: &mut Rig) -> [bool; 4] {
    [1, 2, 3, 4].map(|n| rig.view(n).is_some())
}

#[test]
fn what_ended_before_a_time_is_forgotten() {
    let mut rig = four();
    assert_eq!(prune(&mut rig, at(300), NEVER, ANY, 100), 2);
    assert_eq!(known(&mut rig), [false, false, true, true]);
    assert_eq!(rig.outcomes(&[1]), [(1, None)]);
    rig.post([task(1)]);
    assert_eq!(rig.claim(A, 1), [1], "its id is free");
}

#[test]
fn it_is_forgotten_step_by_step() {
    let mut rig = four();
    let step = Request::Prune { ended_before: at(400), results_before: NEVER, keep: ANY, up_to: 2 };
    assert!(matches!(rig.ask(step), Answer::Pruned { rows: 2, more: true }));
    assert_eq!(known(&mut rig), [false, false, true, true]);
    assert_eq!(prune(&mut rig, at(400), NEVER, ANY, 2), 1);
    assert_eq!(known(&mut rig), [false, false, false, true]);
}

#[test]
fn of_more_than_so_many_the_oldest_are_forgotten() {
    let mut rig = four();
    assert_eq!(prune(&mut rig, NEVER, NEVER, 1, 2), 3);
    assert_eq!(known(&mut rig), [false, false, false, true]);
}

#[test]
fn a_value_is_forgotten_sooner_than_its_task() {
    let mut rig = four();
    assert_eq!(prune(&mut rig, NEVER, at(300), ANY, 1), 0);
    let value = Some(Outcome::Succeeded("null".into()));
    let gone = Some(Outcome::ValueGone);
    assert_eq!([1, 2, 3].map(|n| rig.outcome(n)), [gone.clone(), gone, value]);
    assert_eq!(rig.states([1]), [RowState::Ended]);
}

#[test]
fn an_end_without_a_value_keeps_its_name() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.cancel(only(&[1]));
    rig.pass(100);
    prune(&mut rig, NEVER, at(100), ANY, 100);
    assert_eq!(rig.outcome(1), Some(Outcome::Cancelled));
}

#[test]
fn the_trash_is_forgotten_by_its_number_alone() {
    let mut rig = four();
    rig.post([task(5), task(6), task(7)]);
    rig.claim(A, 3);
    for n in 5..=7 {
        rig.settle(n, 1, trash());
    }
    prune(&mut rig, at(10_000), at(10_000), 3, 100);
    assert_eq!(known(&mut rig), [false; 4]);
    assert_eq!(rig.states([5, 6, 7]), [RowState::Ended; 3]);
    assert_eq!(prune(&mut rig, NEVER, NEVER, 2, 100), 1);
    assert!(rig.view(5).is_none() && rig.view(6).is_some());
    assert_eq!(rig.counts().trashed, 2);
}

#[test]
fn what_is_unfinished_is_never_forgotten() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3).due_at(500)]);
    rig.claim(A, 1);
    rig.pass(10_000);
    assert_eq!(prune(&mut rig, at(10_000), at(10_000), 0, 100), 0);
    assert_eq!(rig.states([1, 2, 3]), [RowState::Claimed, RowState::Ready, RowState::Parked]);
}
