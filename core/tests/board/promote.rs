//! What time brings: parked rows become due, and what nobody started in time expires.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Request, RowState};
use taskyard_core::task::KeyLimits;

use crate::suite::rig::{A, NONE, Rig, expired, retry};
use crate::suite::task::task;

#[test]
fn a_parked_row_becomes_what_it_would_have_been_when_posted_due() {
    let mut rig = Rig::new();
    rig.post([
        task(1).due_at(500),
        task(2).due_at(500).key(1, KeyLimits::DISCARD),
        task(3).serial(),
        task(4).serial(),
        task(5).serial().due_at(500),
        task(6).due_at(501),
    ]);
    rig.pass(499).promote();
    assert_eq!(rig.states([1, 2, 5]), [RowState::Parked; 3], "never early");
    rig.pass(1).promote();
    let states = rig.states([1, 2, 5, 6]);
    assert_eq!(states, [RowState::Ready, RowState::Unjudged, RowState::Behind, RowState::Parked]);
}

/// D13
#[test]
fn what_is_not_claimed_expires_in_any_state() {
    let mut rig = Rig::new();
    rig.post([
        task(1).expires_at(500),
        task(2).due_at(900).expires_at(500),
        task(3).key(1, KeyLimits::DISCARD).expires_at(500),
        task(4).serial(),
        task(5).serial(),
        task(6).serial().expires_at(500),
        task(7).expires_at(501),
    ]);
    rig.pass(499);
    assert_eq!(rig.promote(), NONE);
    rig.pass(1);
    let mut gone = rig.promote();
    gone.sort_unstable();
    assert_eq!(gone, [1, 2, 3, 6]);
    assert_eq!(rig.outcome(1), Some(Outcome::Expired));
    assert_eq!(rig.states([7]), [RowState::Ready]);
}

/// D13
#[test]
fn what_is_claimed_does_not_expire_here_and_keeps_its_time_when_it_comes_back() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(500)]);
    rig.claim(A, 1);
    rig.pass(400).settle(1, 1, retry(2_000));
    rig.pass(100);
    assert_eq!(rig.promote(), [1]);
}

#[test]
fn a_promotion_takes_at_most_so_many() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(1), task(2).due_at(2), task(3).due_at(3)]);
    rig.pass(10).ask(Request::Promote { up_to: 2 });
    assert_eq!(rig.states([1, 2, 3]), [RowState::Ready, RowState::Ready, RowState::Parked]);
}

/// A repetition whose first answer was only late once ended more tasks, of which nobody was told.
#[test]
fn a_repeated_promotion_says_the_same_and_ends_no_others() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(100), task(2).expires_at(200)]);
    rig.pass(100);
    assert_eq!(rig.promote(), [1]);
    rig.pass(100);
    assert_eq!(expired(rig.repeat()), [1]);
    assert_eq!(rig.promote(), [2]);
}

#[test]
fn a_promotion_that_ended_nothing_ends_nothing_when_repeated() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(100)]);
    assert_eq!(rig.promote(), NONE);
    rig.pass(100);
    assert_eq!(expired(rig.repeat()), NONE);
    assert_eq!(rig.promote(), [1]);
}
