//! Batches: a run of some content is finished once it is sealed and its last task has ended, however that ended.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, BatchId, BatchState, Request, Settle};

use crate::suite::rig::{A, LEASE, Rig, done, give_back, only, retry, trash};
use crate::suite::task::{id, task};

fn state(answer: Answer) -> BatchState {
    match answer {
        Answer::Batch(state) => state,
        other => panic!("{other:?}"),
    }
}

fn open(rig: &mut Rig) -> BatchState {
    state(rig.ask(Request::OpenBatch { hash: [7; 32] }))
}

fn seal(rig: &mut Rig, batch: BatchId) {
    assert!(matches!(rig.ask(Request::SealBatch(batch)), Answer::Sealed));
}

/// Whether the batch's run is finished; the next one has begun then.
fn is_finished(rig: &mut Rig, batch: BatchState) -> bool {
    let next = open(rig);
    assert_eq!(next.id == batch.id, next.resumed);
    assert_eq!(next.run, batch.run + u32::from(!next.resumed));
    !next.resumed
}

#[test]
fn an_unfinished_run_is_resumed() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    assert_eq!((batch.run, batch.resumed), (1, false));
    assert_eq!(open(&mut rig), BatchState { resumed: true, ..batch });
    let other = state(rig.ask(Request::OpenBatch { hash: [8; 32] }));
    assert_eq!((other.run, other.resumed), (1, false), "other content");
    assert_ne!(other.id, batch.id);
}

#[test]
fn a_run_is_finished_once_it_is_sealed_and_its_last_task_has_ended() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    rig.post([task(1).batch(batch.id), task(2).batch(batch.id)]);
    rig.claim(A, 2);
    rig.settle(1, 1, done());
    seal(&mut rig, batch.id);
    assert!(!is_finished(&mut rig, batch));
    rig.settle(2, 1, done());
    assert!(is_finished(&mut rig, batch));
    let next = open(&mut rig);
    assert_eq!((next.run, next.resumed), (2, true), "asking began it");
}

#[test]
fn a_run_that_is_not_sealed_may_get_more_tasks() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    rig.post([task(1).batch(batch.id)]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    assert!(!is_finished(&mut rig, batch));
    seal(&mut rig, batch.id);
    assert!(is_finished(&mut rig, batch));
}

#[test]
fn a_run_without_tasks_is_finished_once_it_is_sealed() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    seal(&mut rig, batch.id);
    assert!(is_finished(&mut rig, batch));
}

#[test]
fn however_a_task_ends_it_holds_its_batch_up_no_longer() {
    let discarded = Settle::Done(Outcome::Discarded { lost_to: id(9) });
    let ends: [&dyn Fn(&mut Rig); 6] = [
        &|rig| drop((rig.claim(A, 1), rig.settle(1, 1, trash()))),
        &|rig| drop((rig.claim(A, 1), rig.settle(1, 1, discarded.clone()))),
        &|rig| drop(rig.cancel(only(&[1]))),
        &|rig| drop(rig.pass(500).promote()),
        &|rig| drop(rig.pass(500).claim(A, 1)),
        &|rig| {
            let (first, other) = (rig.owner(), rig.register());
            rig.claim(A, 1);
            rig.as_owner(other).cancel(only(&[1]));
            rig.as_owner(first).settle(1, 1, give_back());
        },
    ];
    for (n, end) in ends.iter().enumerate() {
        let mut rig = Rig::new();
        let batch = open(&mut rig);
        rig.post([task(1).expires_at(500).batch(batch.id)]);
        seal(&mut rig, batch.id);
        end(&mut rig);
        assert!(is_finished(&mut rig, batch), "end {n}");
    }
}

#[test]
fn what_comes_back_holds_its_batch_up_still() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    rig.post([task(1).batch(batch.id)]);
    seal(&mut rig, batch.id);
    rig.claim(A, 1);
    rig.settle(1, 1, retry(0));
    rig.claim(A, 1);
    rig.settle(1, 2, give_back());
    rig.claim(A, 1);
    rig.pass_lease(LEASE);
    let heir = rig.register();
    rig.as_owner(heir).take_over(9);
    assert!(!is_finished(&mut rig, batch));
    rig.claim(A, 1);
    rig.settle(1, 4, done());
    assert!(is_finished(&mut rig, batch));
}

#[test]
fn what_was_known_before_is_not_counted_again() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    let batch = open(&mut rig);
    rig.post([task(1).batch(batch.id), task(3).batch(batch.id)]);
    rig.post([task(3).batch(batch.id)]);
    seal(&mut rig, batch.id);
    rig.cancel(only(&[3]));
    assert!(is_finished(&mut rig, batch));
}

#[test]
fn the_next_run_counts_its_own_tasks() {
    let mut rig = Rig::new();
    let first = open(&mut rig);
    rig.post([task(1).batch(first.id)]);
    seal(&mut rig, first.id);
    rig.cancel(only(&[1]));
    let second = open(&mut rig);
    assert_eq!((second.run, second.resumed), (2, false));
    rig.post([task(2).batch(second.id)]);
    seal(&mut rig, second.id);
    assert!(!is_finished(&mut rig, second));
    rig.cancel(only(&[2]));
    assert!(is_finished(&mut rig, second));
}

/// Else a lost answer would make a new run look like one that was begun before.
#[test]
fn a_batch_that_is_opened_again_under_its_number_is_as_new_as_before() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    assert_eq!(state(rig.repeat()), batch);
}

#[test]
fn a_task_that_is_posted_again_from_the_trash_holds_nothing_up() {
    let mut rig = Rig::new();
    let batch = open(&mut rig);
    rig.post([task(1).batch(batch.id)]);
    seal(&mut rig, batch.id);
    rig.claim(A, 1);
    rig.settle(1, 1, trash());
    rig.ask(Request::Requeue { filter: only(&[1]), up_to: 1 });
    assert!(is_finished(&mut rig, batch));
}
