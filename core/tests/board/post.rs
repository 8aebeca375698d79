//! What is posted is kept once, and claimed in the same write only if it may run.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Posted, Room, RowState};
use taskyard_core::task::{DueAt, KeyLimits};
use taskyard_core::time::Instant64;

use crate::suite::rig::{A, B, NONE, Rig, done, room};
use crate::suite::task::task;

fn states(posted: &[Posted]) -> Vec<RowState> {
    let state = |posted: &Posted| match posted {
        Posted::Claimed(_) => RowState::Claimed,
        Posted::Kept(state) => *state,
        other => panic!("{other:?}"),
    };
    posted.iter().map(state).collect()
}

/// D19
#[test]
fn a_second_post_of_an_id_changes_nothing() {
    let mut rig = Rig::new();
    let posted = rig.post([task(1).due_at(500), task(1).due_at(900)]);
    assert!(matches!(posted[0], Posted::Kept(RowState::Parked)));
    assert!(matches!(&posted[1], Posted::Known(known) if known.state == RowState::Parked));
    rig.pass(500).promote();
    assert_eq!(rig.claim(A, 5), [1], "the first due time stands");
}

#[test]
fn a_known_task_is_answered_with_its_claim_while_it_runs() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    match &rig.post([task(1)])[0] {
        Posted::Known(known) => {
            assert_eq!(known.state, RowState::Claimed);
            assert_eq!(known.claimed.as_ref().map(|claimed| claimed.epoch), Some(1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_known_task_is_answered_with_its_outcome_once_it_has_ended() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    let posted = rig.post([task(1)]);
    let outcome = |known: &taskyard_core::store::Known| known.outcome.clone();
    assert!(
        matches!(&posted[0], Posted::Known(known) if outcome(known) == Some(Outcome::Succeeded("null".into())))
    );
    assert_eq!(rig.claim(A, 1), NONE, "what has ended does not run again");
}

#[test]
fn a_due_task_is_claimed_in_the_write_that_posts_it_while_its_pool_has_room() {
    let mut rig = Rig::new();
    let posted = rig.post_with(room(2, 0), [task(1), task(2), task(3)]);
    assert_eq!(states(&posted), [RowState::Claimed, RowState::Claimed, RowState::Ready]);
    assert!(matches!(&posted[0], Posted::Claimed(row) if row.epoch == 1 && row.pool == A));
    assert_eq!(rig.claim(A, 5), [3]);
}

#[test]
fn nothing_is_claimed_past_one_that_waits() {
    let mut rig = Rig::new();
    rig.post([task(1).priority(0)]);
    let posted = rig.post_with(room(2, 0), [task(2)]);
    assert_eq!(states(&posted), [RowState::Ready]);
    assert_eq!(rig.claim(A, 2), [2, 1], "by rank, as any claim");
}

#[test]
fn the_room_of_another_pool_is_of_no_use() {
    let mut rig = Rig::new();
    let posted = rig.post_with(room(2, 2), [task(1).lane("b", "one")]);
    assert_eq!(states(&posted), [RowState::Ready]);
    assert_eq!((rig.claim(A, 1), rig.claim(B, 1)), (vec![], vec![1]));
}

#[test]
fn what_is_due_within_the_horizon_is_claimed_with_its_due_time() {
    let mut rig = Rig::new();
    let posted = rig.post_with(room(0, 1), [task(1).due_in(1_500), task(2).due_in(1_600)]);
    assert_eq!(states(&posted), [RowState::Claimed, RowState::Parked]);
    let due = DueAt::Mono(Instant64(1_500_000));
    assert!(
        matches!(&posted[0], Posted::Claimed(row) if row.due == due),
        "on the clock that it was given on"
    );
}

#[test]
fn what_is_due_exactly_at_the_horizon_stays_parked() {
    let mut rig = Rig::new();
    let posted = rig.post_with(room(1, 5), [task(1).due_at(2_000), task(2).due_at(1_999)]);
    assert_eq!(states(&posted), [RowState::Parked, RowState::Claimed]);
}

#[test]
fn nothing_is_claimed_once_the_yard_is_full() {
    let mut rig = Rig::new();
    let full = Room { total: 1, ..room(5, 5) };
    let posted = rig.post_with(full, [task(1), task(2), task(3).due_at(100)]);
    assert_eq!(states(&posted), [RowState::Claimed, RowState::Ready, RowState::Parked]);
}

#[test]
fn what_must_be_judged_is_claimed_outside_of_the_pools_room() {
    let mut rig = Rig::new();
    let any = Room { total: 2, ..room(0, 0) };
    let posted = rig.post_with(
        any,
        [
            task(1).key(1, KeyLimits::DISCARD),
            task(2).key(1, KeyLimits::DISCARD),
            task(3).key(1, KeyLimits::DISCARD),
        ],
    );
    assert_eq!(states(&posted), [RowState::Claimed, RowState::Claimed, RowState::Unjudged]);
    assert!(matches!(&posted[0], Posted::Claimed(row) if row.unjudged));
}

#[test]
fn a_repeated_post_answers_what_became_of_the_first() {
    let mut rig = Rig::new();
    rig.post_with(room(1, 0), [task(1), task(2)]);
    let again = crate::suite::rig::posted(rig.repeat());
    let known = |posted: &Posted| match posted {
        Posted::Known(known) => (known.state, known.claimed.as_ref().map(|claimed| claimed.epoch)),
        other => panic!("{other:?}"),
    };
    let known: Vec<_> = again.iter().map(known).collect();
    assert_eq!(known, [(RowState::Claimed, Some(1)), (RowState::Ready, None)]);
    assert_eq!(rig.counts().claimed, 1);
}
