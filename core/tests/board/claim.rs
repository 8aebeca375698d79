//! Claims and preloads: numbered, in rank order, each row once.

use taskyard_core::store::{Request, RowState};
use taskyard_core::task::{DueAt, KeyLimits};

use crate::suite::rig::{A, B, Rig, claimed, done, give_back, ids};
use crate::suite::task::{at, id, task};

/// B1
#[test]
fn a_row_is_claimed_once() {
    let mut rig = Rig::new();
    rig.post([task(1).lane("a.shared", "one")]);
    assert_eq!(rig.claim(B, 1), [1]);
    assert_eq!((rig.claim(A, 1), rig.claim(B, 1)), (vec![], vec![]));
}

#[test]
fn a_claim_takes_only_what_its_pool_takes() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("b", "one"), task(3).lane("a.shared", "two"), task(4).lane("c", "one")]);
    assert_eq!(rig.claim(B, 9), [2, 3]);
    assert_eq!(rig.claim(A, 9), [1]);
    assert_eq!(rig.counts().ready, 1, "nobody takes the last one");
}

#[test]
fn each_claim_raises_the_epoch() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    for epoch in 1..4 {
        let rows = rig.claim_rows(A, 1, 0);
        assert_eq!((rows[0].epoch, rows[0].due), (epoch, DueAt::Now));
        assert!(rig.settle(1, epoch, give_back()));
    }
}

#[test]
fn a_repeated_claim_gives_the_same_rows() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3)]);
    assert_eq!(rig.claim(A, 2), [1, 2]);
    let (rows, _) = claimed(rig.repeat());
    assert_eq!((ids(&rows), rows[0].epoch), (vec![1, 2], 1));
    assert_eq!(rig.claim(A, 2), [3], "a new number claims anew");
}

#[test]
fn a_repeated_claim_gives_no_row_that_was_settled_meanwhile() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 2);
    let claim = rig.last();
    rig.settle(1, 1, done());
    assert_eq!(ids(&claimed(rig.ask_again(claim)).0), [2]);
}

#[test]
fn a_repeated_claim_says_again_what_had_expired() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(50), task(2)]);
    rig.pass(50);
    let (rows, expired) = claimed(rig.ask(Request::Claim { pool: A, ready: 5, unjudged: 0 }));
    assert_eq!((ids(&rows), expired), (vec![2], vec![1]));
    let (rows, expired) = claimed(rig.repeat());
    assert_eq!((ids(&rows), expired), (vec![2], vec![1]));
    let (rows, expired) = claimed(rig.ask(Request::Claim { pool: A, ready: 5, unjudged: 0 }));
    assert!(rows.is_empty() && expired.is_empty());
}

#[test]
fn preloads_take_what_is_due_soon_in_order_of_due_time() {
    let mut rig = Rig::new();
    rig.post([
        task(1).due_at(900),
        task(2).due_at(300).priority(0),
        task(3).due_at(2_000),
        task(4).due_at(600),
    ]);
    assert_eq!(rig.preload(A, 2_000, 2), [2, 4]);
    assert_eq!(rig.preload(A, 2_000, 9), [1], "what is due exactly then stays");
    assert_eq!(rig.states([3, 1]), [RowState::Parked, RowState::Claimed]);
}

#[test]
fn a_repeated_preload_gives_the_same_rows_with_their_due_times() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500), task(2).due_at(600)]);
    assert_eq!(rig.preload(A, 2_000, 1), [1]);
    let (rows, _) = claimed(rig.repeat());
    assert_eq!((ids(&rows), rows[0].due), (vec![1], DueAt::Wall(at(500))));
}

#[test]
fn claims_and_preloads_of_other_pools_do_not_disturb_a_repetition() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2).lane("b", "one"), task(3).due_at(500)]);
    rig.claim(A, 1);
    let claim = rig.last();
    rig.claim(B, 1);
    rig.preload(A, 2_000, 1);
    assert_eq!(ids(&claimed(rig.ask_again(claim)).0), [1]);
}

#[test]
fn unjudged_rows_are_claimed_outside_the_budget_by_rank() {
    let mut rig = Rig::new();
    let bounded = |n| task(n).key(3, KeyLimits::QUEUE_ONE);
    rig.post([bounded(1).priority(1), bounded(2), bounded(3), task(4)]);
    assert_eq!(rig.claim(A, 9), [4]);
    let rows = rig.claim_rows(A, 0, 2);
    assert_eq!(ids(&rows), [2, 3]);
    assert!(rows.iter().all(|row| row.unjudged && !row.judged));
}

#[test]
fn what_was_judged_comes_back_ready() {
    let mut rig = Rig::new();
    rig.post([task(1).key(3, KeyLimits::DISCARD)]);
    rig.claim_rows(A, 0, 1);
    rig.settle(1, 1, give_back());
    assert_eq!(rig.states([1]), [RowState::Ready]);
    let rows = rig.claim_rows(A, 1, 0);
    assert_eq!((rows[0].judged, rows[0].unjudged), (true, false));
}

#[test]
fn a_preload_that_comes_back_before_it_is_due_is_judged_later() {
    let mut rig = Rig::new();
    rig.post([task(1).key(3, KeyLimits::DISCARD).due_at(500)]);
    rig.preload(A, 2_000, 1);
    let due = Some(DueAt::Wall(at(500)));
    rig.settle(
        1,
        1,
        taskyard_core::store::Settle::GiveBack { due, setback: false, renew: false, started: false },
    );
    rig.pass(500).promote();
    assert_eq!(rig.states([1]), [RowState::Unjudged]);
}

#[test]
fn a_reply_says_for_whom_something_waits_and_what_time_brings() {
    let mut rig = Rig::new();
    rig.post([
        task(1),
        task(2).lane("b", "one").key(1, KeyLimits::DISCARD),
        task(3).due_at(700).expires_at(900),
    ]);
    let said = rig.said();
    assert_eq!(said.status.ready.iter().collect::<Vec<_>>(), [A]);
    assert_eq!(said.status.unjudged.iter().collect::<Vec<_>>(), [B]);
    assert_eq!((said.status.next_due, said.status.next_expiry), (Some(at(700)), Some(at(900))));
    rig.claim(A, 1);
    rig.preload(A, 2_000, 1);
    let said = rig.said();
    assert!(said.status.ready.is_empty());
    assert_eq!(
        (said.status.next_due, said.status.next_expiry),
        (None, None),
        "what is claimed expires in the yard"
    );
    assert_eq!(rig.view(3).unwrap().id, id(3));
}
