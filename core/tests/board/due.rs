//! Due times at the edges of what a clock can say.

use std::time::Duration;

use taskyard_core::store::RowState;
use taskyard_core::time::Timestamp;

use crate::suite::rig::{A, B, NONE, Rig, all};
use crate::suite::task::{START, at, task};

/// 2038-01-19, 2106-02-07, 2262-04-11, 9999-12-31T23:59:59.999999Z and the end of the year +262142.
const FAR: [Timestamp; 5] = [
    Timestamp(2_147_483_648_000_000),
    Timestamp(4_294_967_296_000_000),
    Timestamp(9_223_372_036_854_776),
    Timestamp(253_402_300_799_999_999),
    Timestamp(8_210_266_876_799_999_999),
];

/// D12
#[test]
fn far_due_times_are_kept_exactly_and_come_in_order() {
    let mut rig = Rig::new();
    for (n, due) in FAR.into_iter().enumerate().rev() {
        rig.post([task(n as u64).due(due).priority(9 - n as u8)]);
    }
    for (n, due) in FAR.into_iter().enumerate() {
        let view = rig.view(n as u64).unwrap();
        assert_eq!((view.state, view.due), (RowState::Parked, Some(due)));
        assert_eq!(rig.said().status.next_due, Some(due));
        rig.now.wall = Timestamp(due.0 - 1);
        rig.promote();
        assert_eq!(rig.claim(A, 9), NONE);
        rig.now.wall = due;
        rig.promote();
        assert_eq!(rig.claim(A, 9), [n as u64]);
    }
    assert_eq!(rig.list(all(), 9), [4, 3, 2, 1, 0]);
}

/// D12
#[test]
fn far_expiries_are_kept_exactly() {
    for far in FAR {
        let mut rig = Rig::new();
        rig.post([task(1).expires(far), task(2).due(far).expires(far)]);
        assert_eq!(rig.said().status.next_expiry, Some(far));
        assert_eq!(rig.claim_rows(A, 1, 0)[0].expires, Some(far));
        rig.now.wall = far;
        assert_eq!(rig.promote(), [2]);
    }
}

/// D12
#[test]
fn what_was_due_before_the_clocks_began_is_due() {
    let mut rig = Rig::new();
    let before = Timestamp(-1_000_000);
    rig.post([task(1).due(before), task(2).lane("b", "one").due(Timestamp(0))]);
    assert_eq!(rig.view(1).unwrap().due, Some(before));
    assert_eq!((rig.claim(A, 1), rig.claim(B, 1)), (vec![1], vec![2]));
}

/// D13
#[test]
fn what_expires_before_or_when_it_is_due_never_runs() {
    let mut rig = Rig::new();
    rig.post([
        task(1).due_at(500).expires_at(400),
        task(2).due_at(500).expires_at(500),
        task(3).expires_at(0),
        task(4).due_at(500).expires_at(501),
    ]);
    rig.pass(500);
    assert_eq!(rig.claim(A, 9), NONE);
    let mut gone = rig.promote();
    gone.extend(rig.outcomes(&[3]).iter().map(|(n, _)| *n));
    gone.sort_unstable();
    gone.dedup();
    assert_eq!(gone, [1, 2, 3]);
    assert_eq!(rig.claim(A, 9), [4]);
}

/// D13
#[test]
fn what_is_preloaded_expires_here_only_when_it_comes_back() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500).expires_at(600)]);
    assert_eq!(rig.preload(A, 1_000, 1), [1]);
    rig.pass(600);
    assert_eq!(rig.promote(), NONE);
    assert_eq!(rig.states([1]), [RowState::Claimed]);
}

/// D3
#[test]
fn absolute_times_follow_the_wall_clock_in_either_direction() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500), task(2).due_at(600)]);
    rig.now.wall = at(500) + Duration::from_hours(1);
    rig.promote();
    rig.now.wall = START - Duration::from_hours(1);
    assert_eq!(rig.claim(A, 9), [1, 2], "what was due once stays due");
    rig.post([task(3).due_at(500)]);
    assert_eq!(rig.states([3]), [RowState::Parked]);
}
