//! Owners: each registration is one, its lease runs on the store's clock, and who was fenced writes nothing.

use std::time::Duration;

use taskyard_core::dispatch::DispatchName;
use taskyard_core::store::{Request, Room, RowState, Settlement};
use taskyard_core::task::DueAt;
use taskyard_core::time::Timestamp;

use crate::suite::rig::{A, LEASE, NONE, Rig, all, done, give_back, only};
use crate::suite::task::{id, task};

#[test]
fn each_registration_is_another_owner() {
    let mut rig = Rig::new();
    let (first, second, third) = (rig.owner(), rig.register(), rig.register());
    assert!(first != second && second != third && first != third);
    let owners = rig.owners();
    assert_eq!(owners.iter().map(|owner| owner.id).collect::<Vec<_>>(), [first, second, third]);
    let registration = &owners[0].registration;
    assert_eq!((registration.host.as_str(), registration.pid, registration.lease), ("here", 7, LEASE));
}

#[test]
fn an_owner_is_shown_with_what_it_has_and_how_long_its_lease_holds() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 2);
    rig.pass_lease(LEASE / 2);
    let view = rig.owners().remove(0);
    assert_eq!((view.held, view.fenced), (2, false));
    assert!(view.lease_left <= LEASE / 2 && view.lease_left > LEASE / 4, "{:?}", view.lease_left);
    rig.pass_lease(LEASE);
    assert_eq!(rig.owners()[0].lease_left, Duration::ZERO);
}

#[test]
fn what_an_owner_holds_is_what_it_claimed_and_has_not_settled() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3), task(4).due_at(500)]);
    let other = rig.register();
    rig.claim(A, 2);
    rig.preload(A, 1_000, 1);
    rig.settle(1, 1, give_back());
    rig.claim(A, 1);
    rig.settle(2, 1, done());
    assert_eq!(rig.held(), [(1, 2), (4, 1)]);
    assert_eq!(rig.as_owner(other).held(), []);
    assert_eq!(rig.claim(A, 9), [3]);
    assert_eq!(rig.held(), [(3, 1)]);
}

#[test]
fn what_is_claimed_as_it_is_posted_is_held_as_well() {
    let mut rig = Rig::new();
    rig.post_with(crate::suite::rig::room(1, 1), [task(1), task(2).due_at(500), task(3)]);
    assert_eq!(rig.held(), [(1, 1), (2, 1)]);
}

#[test]
fn a_renewed_lease_holds_anew() {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1)]);
    rig.claim(A, 1);
    for _ in 0..3 {
        rig.pass_lease(LEASE / 2);
        rig.as_owner(first).renew();
        rig.as_owner(other).renew();
        assert_eq!(rig.take_over(9), (0, false));
    }
    assert_eq!(rig.states([1]), [RowState::Claimed]);
}

/// B3, B4
#[test]
fn an_owner_says_when_another_has_lapsed_with_tasks_left() {
    let mut rig = Rig::new();
    let other = rig.register();
    assert!(!rig.renew().lapsed);
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.pass_lease(LEASE / 2).as_owner(other);
    assert!(!rig.renew().lapsed, "its lease still holds");
    rig.pass_lease(LEASE / 2 + LEASE / 4);
    assert!(rig.renew().lapsed);
    rig.take_over(9);
    assert!(!rig.renew().lapsed);
}

#[test]
fn who_lapsed_and_has_nothing_is_nobodys_business() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.pass_lease(LEASE * 2);
    assert!(!rig.as_owner(other).renew().lapsed);
}

/// B19
#[test]
fn the_clocks_of_those_who_ask_do_not_end_a_lease() {
    let mut rig = Rig::new();
    let other = rig.register();
    rig.post([task(1)]);
    rig.claim(A, 1);
    let hour = Duration::from_hours(1);
    for wall in [rig.now.wall + hour, rig.now.wall - hour] {
        rig.now.wall = wall;
        assert_eq!(rig.as_owner(other).take_over(9), (0, false));
        assert!(!rig.renew().lapsed);
    }
    assert_eq!(rig.states([1]), [RowState::Claimed]);
}

#[test]
fn who_goes_gives_back_what_it_has() {
    let mut rig = Rig::new();
    let (first, other) = (rig.owner(), rig.register());
    rig.post([task(1), task(2).due_at(500)]);
    rig.claim(A, 1);
    rig.preload(A, 1_000, 1);
    rig.ask(Request::Release);
    assert!(rig.is_refused(Request::Renew), "it is no owner any more");
    rig.as_owner(other);
    assert_eq!(rig.states([1, 2]), [RowState::Ready, RowState::Parked]);
    let view = rig.view(1).unwrap();
    assert_eq!((view.attempts, view.crash_marks, view.owner), (0, 0, None));
    assert!(rig.owners().iter().all(|owner| owner.id != first));
    assert_eq!(rig.claim(A, 1), [1]);
}

/// B2
#[test]
fn a_busy_owner_does_not_claim_its_own_tasks_again() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    let lease = rig.owners()[0].lease_left;
    assert_eq!(rig.claim(A, 9), NONE);
    assert_eq!(rig.view(1).unwrap().epoch, 1);
    assert!(rig.owners()[0].lease_left <= lease, "a claim is no renewal");
}

/// B5
#[test]
fn whatever_a_fenced_owner_writes_is_refused() {
    let mut rig = Rig::new();
    let (zombie, other) = (rig.owner(), rig.register());
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 2);
    rig.pass_lease(LEASE).as_owner(other).renew();
    assert_eq!(rig.take_over(1), (1, true));
    rig.as_owner(zombie);
    for request in writes() {
        let shown = format!("{request:?}");
        assert!(rig.is_refused(request), "fenced: {shown}");
    }
    rig.as_owner(other).take_over(9);
    rig.as_owner(zombie);
    for request in writes() {
        let shown = format!("{request:?}");
        assert!(rig.is_refused(request), "forgotten: {shown}");
    }
    rig.as_owner(other);
    assert_eq!(rig.states([1, 2, 3]), [RowState::Ready; 3]);
    assert!(rig.view(9).is_none());
}

/// What a fenced owner may not: one of each.
fn writes() -> Vec<Request> {
    let name = DispatchName { id: id(1), epoch: 1 };
    let settlement = Settlement { id: id(1), sequence: 1, epoch: 1, settle: done(), posts: vec![] };
    let now = Timestamp(0);
    vec![
        Request::Post { rows: vec![task(9).row()], room: Room::default() },
        Request::Claim { pool: A, ready: 9, unjudged: 9 },
        Request::Preload { pool: A, before: now, up_to: 9 },
        Request::Settle(vec![settlement]),
        Request::MarkStart(name),
        Request::Promote { up_to: 9 },
        Request::Cancel { filter: only(&[3]), after: 0 },
        Request::Reschedule { id: id(3), due: DueAt::Now },
        Request::Renew,
        Request::TakeOver { up_to: 9 },
        Request::Release,
        Request::Held,
        Request::Requeue { filter: all(), up_to: 9 },
        Request::Purge { filter: all(), up_to: 9 },
        Request::Schedule { name: "hourly".into(), begin: now },
        Request::Tick { name: "hourly".into(), from: now, to: now, rows: vec![] },
        Request::PauseSchedule { name: "hourly".into(), paused: true },
        Request::OpenBatch { hash: [1; 32] },
        Request::SealBatch(taskyard_core::store::BatchId(1)),
        Request::Prune { ended_before: now, results_before: now, keep: 0, up_to: 9 },
    ]
}

#[test]
fn anybody_may_look_and_register() {
    let mut rig = Rig::new();
    let (zombie, other) = (rig.owner(), rig.register());
    rig.post([task(1), task(2)]);
    rig.claim(A, 2);
    rig.pass_lease(LEASE).as_owner(other).renew();
    rig.take_over(1);
    rig.as_owner(zombie);
    assert_eq!(rig.view(1).unwrap().epoch, 1);
    assert_eq!(rig.list(only(&[1, 2]), 9), [1, 2]);
    assert_eq!((rig.counts().ready, rig.counts().claimed), (1, 1));
    assert!(rig.owners().iter().any(|owner| owner.id == zombie && owner.fenced));
    let reborn = rig.register();
    assert!(reborn != zombie && reborn != other);
    rig.as_owner(reborn);
    assert_eq!(rig.claim(A, 9), [1]);
}
