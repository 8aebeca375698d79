//! Several owners at one board.

use taskyard_core::dispatch::Outcome;
use taskyard_core::id::PoolId;
use taskyard_core::store::{AttemptEnd, OwnerId, Posted, RowState, Settle};
use taskyard_core::task::KeyLimits;

use crate::suite::rig::{
    A, B, LEASE, NONE, Rig, claimed, done, expired, give_back, ids, only, retry, settlement, trash,
};
use crate::suite::task::{at, task};

fn owners(rig: &mut Rig, n: usize) -> Vec<OwnerId> {
    (0..n).map(|_| rig.register()).collect()
}

/// B1
#[test]
fn of_fifty_owners_one_gets_the_task() {
    let mut rig = Rig::new();
    let owners = owners(&mut rig, 50);
    for n in 0..20 {
        rig.post([task(n)]);
        let mut winners = Vec::new();
        for owner in &owners {
            winners.extend(rig.as_owner(*owner).claim(A, 1).iter().map(|_| *owner));
        }
        assert_eq!(winners, owners[..1]);
        rig.as_owner(owners[0]);
        assert!(rig.settle(n, 1, done()));
    }
}

/// B1
#[test]
fn whatever_many_owners_claim_each_row_goes_to_one() {
    let mut rig = Rig::new();
    let owners = owners(&mut rig, 7);
    for n in 0..100 {
        let task = task(n);
        let task = if n % 3 == 0 { task.due_at(500) } else { task.lane("a.shared", "one") };
        rig.post([if n % 5 == 0 { task.key(n.into(), KeyLimits::DISCARD) } else { task }]);
    }
    let mut got = Vec::new();
    for turn in 0..100 {
        rig.as_owner(owners[turn % owners.len()]);
        got.extend(ids(&rig.claim_rows(PoolId((turn % 2) as u8), 3, 1)));
        got.extend(rig.preload(A, 1_000, 2));
    }
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<_>>());
    assert_eq!(rig.counts().claimed, 100);
}

#[test]
fn a_claim_is_repeated_to_its_owner_alone() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.post([task(1), task(2)]);
    assert_eq!(rig.claim(A, 1), [1]);
    let mut claim = rig.last();
    assert_eq!(ids(&claimed(rig.ask_again(claim.clone())).0), [1]);
    claim.owner = other;
    assert_eq!(ids(&claimed(rig.ask_again(claim)).0), [2], "its number is another's");
}

#[test]
fn a_repeated_claim_gives_no_row_that_another_has_meanwhile() {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1), task(2)]);
    assert_eq!(rig.claim(A, 2), [1, 2]);
    let claim = rig.last();
    rig.settle(1, 1, give_back());
    assert_eq!(rig.as_owner(other).claim(A, 2), [1]);
    assert_eq!(ids(&claimed(rig.as_owner(first).ask_again(claim)).0), [2]);
}

#[test]
fn who_has_a_task_is_told_so_when_it_is_posted_again_and_nobody_else() {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1)]);
    rig.claim(A, 1);
    let mut known = |owner| match &rig.as_owner(owner).post([task(1)])[0] {
        Posted::Known(known) => (known.state, known.claimed.as_ref().map(|claimed| claimed.epoch)),
        other => panic!("{other:?}"),
    };
    assert_eq!(known(first), (RowState::Claimed, Some(1)));
    assert_eq!(known(other), (RowState::Claimed, None));
}

/// B10
#[test]
fn nobody_settles_what_another_has_or_had() {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1)]);
    rig.claim(A, 1);
    for settle in [done(), retry(0), give_back(), trash()] {
        assert!(!rig.as_owner(other).settle(1, 1, settle));
    }
    assert_eq!(rig.states([1]), [RowState::Claimed]);
    assert!(rig.as_owner(first).settle(1, 1, give_back()));
    assert!(!rig.as_owner(other).settle(1, 1, trash()));
    assert_eq!(rig.claim(A, 1), [1]);
    assert!(!rig.as_owner(first).settle(1, 1, trash()));
    assert!(rig.as_owner(other).settle(1, 2, done()));
    assert!(!rig.as_owner(first).settle(1, 2, trash()));
    assert_eq!(rig.outcome(1), Some(Outcome::Succeeded("null".into())));
}

/// B10
#[test]
fn the_same_end_twice_is_recorded_once() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.post([task(1)]);
    rig.claim(A, 1);
    assert!(rig.settle(1, 1, trash()));
    assert!(rig.settle(1, 1, trash()));
    assert!(!rig.as_owner(other).settle(1, 1, trash()));
    assert_eq!((rig.counts().trashed, rig.view(1).unwrap().attempts), (1, 1));
}

/// B5
#[test]
fn a_zombies_late_settlements_change_nothing() {
    let late: [Settle; 4] = [done(), retry(0), give_back(), trash()];
    for settle in late {
        let mut rig = Rig::new();
        let (zombie, heir) = (rig.owner(), rig.register());
        rig.post([task(1)]);
        rig.claim(A, 1);
        rig.pass_lease(LEASE).as_owner(heir).renew();
        assert_eq!(rig.take_over(9), (1, false));
        assert_eq!(rig.claim(A, 1), [1]);
        rig.as_owner(zombie);
        assert!(rig.is_refused(settlement(1, 1, settle.clone())));
        assert!(rig.is_refused(settlement(1, 2, settle.clone())));
        assert_eq!(rig.states([1]), [RowState::Claimed], "{settle:?}");
        let value = Outcome::Succeeded("2".into());
        assert!(rig.as_owner(heir).settle(1, 2, Settle::Done(value.clone())));
        rig.as_owner(zombie);
        assert!(rig.is_refused(settlement(1, 1, settle)));
        assert_eq!(rig.outcome(1), Some(value), "the other's result stands");
    }
}

/// B8
#[test]
fn a_task_that_always_fails_runs_as_often_as_it_may_whoever_has_it() {
    let mut rig = Rig::new();
    let owners = owners(&mut rig, 3);
    rig.post([task(1)]);
    for run in 1..=5 {
        let owner = owners[run as usize % owners.len()];
        let rows = rig.as_owner(owner).claim_rows(A, 1, 0);
        assert_eq!((rows[0].epoch, rows[0].attempts), (run, run - 1));
        rig.settle(1, run, if run == 5 { trash() } else { retry(0) });
    }
    assert_eq!(rig.claim(A, 9), NONE);
    let view = rig.view(1).unwrap();
    let epochs: Vec<_> = view.log.iter().map(|record| record.epoch).collect();
    assert_eq!((view.attempts, epochs), (5, vec![1, 2, 3, 4, 5]));
    assert_eq!(view.log[4].end, AttemptEnd::Ended);
    assert!(matches!(view.outcome, Some(Outcome::Trashed(_))));
    assert_eq!(rig.counts().trashed, 1);
}

#[test]
fn the_numbers_of_two_owners_are_their_own() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.post([task(1).expires_at(10), task(2).expires_at(20)]);
    rig.pass(10);
    assert_eq!(rig.promote(), [1]);
    let mut same = rig.last();
    same.owner = other;
    rig.pass(10);
    assert_eq!(expired(rig.ask_again(same)), [2]);
}

/// An owner's two askers number what they ask each for itself.
#[test]
fn what_the_lease_asks_does_not_forget_what_the_conductor_was_told() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(10), task(2).expires_at(20)]);
    rig.pass(10);
    assert_eq!(rig.promote(), [1]);
    let promotion = rig.last();
    rig.renew();
    rig.take_over(9);
    rig.pass(10);
    assert_eq!(expired(rig.ask_again(promotion)), [1]);
    assert_eq!(rig.promote(), [2]);
}

/// D19
#[test]
fn an_id_that_many_post_at_once_is_one_row() {
    let mut rig = Rig::new();
    let owners = owners(&mut rig, 10);
    let mut kept = 0;
    for (turn, owner) in owners.iter().enumerate() {
        let due = 500 + turn as u64;
        let posted = rig.as_owner(*owner).post_many((0..100).map(|_| task(1).due_at(due)));
        kept += posted.iter().filter(|posted| matches!(posted, Posted::Kept(_))).count();
        assert!(matches!(&posted[99], Posted::Known(known) if known.state == RowState::Parked));
    }
    assert_eq!((kept, rig.counts().parked), (1, 1));
    assert_eq!(rig.view(1).unwrap().due, Some(at(500)), "the first wins");
}

/// D8
#[test]
fn a_cancel_and_a_claim_never_both_get_a_task() {
    let mut rig = Rig::new();
    let other = rig.register();
    let first = rig.owner();
    for n in 0..50 {
        rig.post([task(n)]);
        if n % 2 == 0 {
            assert_eq!(rig.as_owner(other).cancel(only(&[n])).0, [n]);
            assert_eq!(rig.as_owner(first).claim(A, 1), NONE);
        } else {
            assert_eq!(rig.as_owner(first).claim(A, 1), [n]);
            assert_eq!(rig.as_owner(other).cancel(only(&[n])).0, NONE);
            assert!(rig.as_owner(first).settle(n, 1, done()));
        }
    }
    assert_eq!(rig.claim(B, 9), NONE);
}
