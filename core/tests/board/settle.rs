//! The four forms of a settlement, what each counts, and that each is recorded once.

use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::store::{RowState, Settle};
use taskyard_core::task::DueAt;

use crate::suite::rig::{A, Rig, done, failure, give_back, retry, settled, trash};
use crate::suite::task::{at, id, task};

fn running() -> Rig {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    assert_eq!(rig.claim(A, 1), [1]);
    rig
}

fn setback(ms: u64) -> Settle {
    Settle::GiveBack { due: Some(DueAt::Wall(at(ms))), setback: true, renew: false, started: true }
}

#[test]
fn done_ends_a_task_for_good() {
    let mut rig = running();
    assert!(rig.settle(1, 1, done()));
    assert_eq!(rig.outcome(1), Some(Outcome::Succeeded("null".into())));
    let counts = rig.counts();
    assert_eq!((counts.claimed, counts.ready, counts.trashed), (0, 0, 0));
}

/// B6
#[test]
fn a_retry_is_counted_and_waits_for_its_time() {
    let mut rig = running();
    assert!(rig.settle(1, 1, retry(1_000)));
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.due, view.attempts), (RowState::Parked, Some(at(1_000)), 1));
    assert_eq!(view.last_error, Some(failure()));
    rig.pass(1_000).promote();
    let rows = rig.claim_rows(A, 1, 0);
    assert_eq!((rows[0].epoch, rows[0].attempts, rows[0].setbacks), (2, 1, 0));
}

/// B6
#[test]
fn what_is_given_back_is_not_counted() {
    let mut rig = running();
    assert!(rig.settle(1, 1, give_back()));
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.attempts), (RowState::Ready, 0));
}

#[test]
fn what_goes_back_as_it_was_is_due_when_it_was() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500)]);
    assert_eq!(rig.preload(A, 2_000, 1), [1]);
    assert!(rig.settle(1, 1, Settle::GiveBack { due: None, setback: false, renew: false, started: false }));
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.due), (RowState::Parked, Some(at(500))));
}

/// B6
#[test]
fn setbacks_add_up_until_an_attempt_is_counted() {
    let mut rig = running();
    for epoch in 1..=3 {
        assert!(rig.settle(1, epoch, setback(0)));
        let rows = rig.claim_rows(A, 1, 0);
        assert_eq!((rows[0].setbacks, rows[0].attempts), (epoch, 0));
    }
    rig.settle(1, 4, give_back());
    assert_eq!(rig.claim_rows(A, 1, 0)[0].setbacks, 3, "an unpenalised return says nothing of them");
    rig.settle(1, 5, retry(0));
    assert_eq!(rig.claim_rows(A, 1, 0)[0].setbacks, 0);
}

/// B16
#[test]
fn nobody_claims_earlier_what_was_given_back_with_a_pause() {
    let mut rig = running();
    rig.settle(1, 1, setback(1_000));
    rig.post([task(2)]);
    rig.pass(999).promote();
    assert_eq!(rig.claim(A, 9), [2], "other tasks go on");
    rig.pass(1).promote();
    assert_eq!(rig.claim(A, 9), [1]);
}

/// B8
#[test]
fn the_trash_keeps_the_task_and_counts_the_last_attempt() {
    let mut rig = running();
    rig.settle(1, 1, retry(0));
    rig.claim(A, 1);
    assert!(rig.settle(1, 2, trash()));
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.attempts, view.epoch), (RowState::Ended, 2, 2));
    assert_eq!(view.task.map(|task| task.id), Some(id(1)));
    assert!(matches!(view.outcome, Some(Outcome::Trashed(_))));
    assert_eq!(rig.counts().trashed, 1);
}

/// B9: seen with a task that was given up for the deaths of its dispatchers, and that nobody saw fail.
#[test]
fn what_is_given_up_without_a_failure_has_no_attempt_more() {
    for trash in [Trash::Crashed { deliveries: 5 }, Trash::Unroutable] {
        let mut rig = running();
        rig.settle(1, 1, retry(0));
        rig.claim(A, 1);
        assert!(rig.settle(1, 2, Settle::Trash(Outcome::Trashed(trash.clone()))));
        assert_eq!(rig.view(1).unwrap().attempts, 1, "{trash}");
    }
}

/// B5
#[test]
fn a_settlement_of_another_epoch_is_stale() {
    let mut rig = running();
    rig.settle(1, 1, retry(0));
    rig.claim(A, 1);
    for settle in [done(), retry(0), give_back(), trash()] {
        assert!(!rig.settle(1, 1, settle));
        assert!(!rig.settle(1, 3, done()));
    }
    assert_eq!(rig.states([1]), [RowState::Claimed]);
    assert!(rig.settle(1, 2, done()));
    assert!(!rig.settle(1, 1, trash()), "also once it has ended");
    assert_eq!(rig.outcome(1), Some(Outcome::Succeeded("null".into())));
}

#[test]
fn a_settlement_of_an_unknown_task_is_stale() {
    assert!(!Rig::new().settle(1, 1, done()));
}

#[test]
fn a_repeated_settlement_is_accepted_and_changes_nothing() {
    for settle in [done(), retry(0), give_back(), setback(0), trash()] {
        let mut rig = running();
        assert!(rig.settle_posting(1, 1, settle.clone(), vec![task(2)]));
        let before = (rig.view(1).map(|view| (view.state, view.attempts, view.due)), rig.counts());
        assert!(rig.settle_posting(1, 1, settle.clone(), vec![task(2)]), "{settle:?}");
        let after = (rig.view(1).map(|view| (view.state, view.attempts, view.due)), rig.counts());
        assert_eq!(before, after, "{settle:?}");
    }
}

#[test]
fn a_repetition_that_comes_after_the_next_claim_is_stale() {
    let mut rig = running();
    rig.settle(1, 1, retry(0));
    let first = rig.last();
    rig.claim(A, 1);
    assert!(!settled(&rig.ask_again(first)));
    assert_eq!(rig.states([1]), [RowState::Claimed]);
}

#[test]
fn callbacks_are_posted_in_the_settling_write() {
    let mut rig = running();
    rig.settle_posting(1, 1, done(), vec![task(2).exempt(), task(3).due_at(500).exempt()]);
    assert_eq!(rig.states([2, 3]), [RowState::Ready, RowState::Parked]);
}

#[test]
fn a_stale_settlement_posts_nothing() {
    let mut rig = running();
    assert!(!rig.settle_posting(1, 2, done(), vec![task(2).exempt()]));
    assert!(rig.view(2).is_none());
}
