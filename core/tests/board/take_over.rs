//! What an owner leaves behind when it dies: given back uncounted, due as it was, and remembered as a death.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, AttemptEnd, Request, RowState, Settle};
use taskyard_core::task::{DueAt, KeyLimits};

use crate::suite::rig::{A, LEASE, Rig, all, done, failure, give_back, retry, trash};
use crate::suite::task::{at, task};
use RowState::{Behind, Claimed, Parked, Ready};

/// Another owner, after the lease of the present one has ended: it asks from now on.
fn heir(rig: &mut Rig) {
    rig.pass_lease(LEASE);
    let heir = rig.register();
    rig.as_owner(heir);
}

/// What the present owner has comes back to another.
fn die(rig: &mut Rig) {
    heir(rig);
    rig.take_over_all(9);
}

/// B3
#[test]
fn what_a_dead_owner_had_is_ready_again_uncounted() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2)]);
    rig.claim(A, 1);
    let dead = rig.owner();
    heir(&mut rig);
    assert_eq!(rig.claim(A, 9), [2], "nobody has it before the owner is fenced");
    assert_eq!(rig.take_over(9), (1, false));
    assert!(rig.said().status.ready.contains(A), "whoever took it over has work");
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.attempts, view.crash_marks, view.owner), (Ready, 0, 1, None));
    let record = &view.log[0];
    assert_eq!((record.epoch, record.owner, &record.end), (1, dead, &AttemptEnd::OwnerLost));
    let rows = rig.claim_rows(A, 1, 0);
    assert_eq!((rows[0].epoch, rows[0].attempts, rows[0].crash_marks), (2, 0, 1));
}

#[test]
fn what_is_not_yet_due_is_parked_again() {
    let mut rig = Rig::new();
    rig.post([task(1).due_at(500), task(2).due_at(600)]);
    rig.preload(A, 1_000, 2);
    rig.pass(500);
    die(&mut rig);
    assert_eq!(rig.states([1, 2]), [Ready, Parked]);
    assert_eq!(rig.view(2).unwrap().due, Some(at(600)));
    rig.pass(100).promote();
    assert_eq!(rig.claim(A, 9), [1, 2]);
}

#[test]
fn what_comes_back_keeps_its_place_before_its_twins() {
    let mut rig = Rig::new();
    rig.post([task(1).serial(), task(2).serial(), task(3).serial()]);
    rig.claim(A, 1);
    rig.pass(100);
    die(&mut rig);
    assert_eq!(rig.states([1, 2, 3]), [Ready, Ready, Behind]);
    assert_eq!(rig.claim(A, 1), [1]);
}

#[test]
fn what_was_judged_is_not_judged_again() {
    let mut rig = Rig::new();
    rig.post([task(1).key(3, KeyLimits::DISCARD), task(2).key(4, KeyLimits::DISCARD).due_at(500)]);
    rig.claim_rows(A, 0, 1);
    rig.preload(A, 1_000, 1);
    die(&mut rig);
    assert_eq!(rig.states([1, 2]), [Ready, Parked]);
    rig.pass(500).promote();
    assert_eq!(rig.states([2]), [RowState::Unjudged], "it was not due before");
}

#[test]
fn so_many_come_back_at_once_oldest_first_and_anybody_goes_on() {
    let mut rig = Rig::new();
    let dead = rig.owner();
    rig.post([task(5), task(4).priority(9), task(3), task(2), task(1)]);
    rig.claim(A, 5);
    heir(&mut rig);
    assert_eq!(rig.take_over(2), (2, true));
    assert_eq!(rig.states([5, 4, 3, 2, 1]), [Ready, Ready, Claimed, Claimed, Claimed]);
    assert!(rig.owners().iter().any(|owner| owner.id == dead && owner.fenced && owner.held == 3));
    heir(&mut rig);
    assert!(rig.renew().lapsed, "somebody else's work is left");
    assert_eq!(rig.take_over(2), (2, true));
    assert_eq!(rig.take_over(2).0, 1);
    assert_eq!(rig.take_over(2), (0, false));
    assert!(rig.owners().iter().all(|owner| owner.id != dead), "it is forgotten with its last task");
}

#[test]
fn two_dead_owners_are_taken_over_together() {
    let mut rig = Rig::new();
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 1);
    let second = rig.register();
    assert_eq!(rig.as_owner(second).claim(A, 1), [2]);
    heir(&mut rig);
    assert_eq!(rig.claim(A, 1), [3]);
    assert_eq!(rig.take_over(9), (2, false));
    assert_eq!(rig.states([1, 2, 3]), [Ready, Ready, Claimed]);
}

#[test]
fn of_two_dead_owners_the_older_task_comes_back_first() {
    let mut rig = Rig::new();
    let (first, second) = (rig.owner(), rig.register());
    rig.post([task(1)]);
    rig.as_owner(second).claim(A, 1);
    rig.post([task(2)]);
    rig.as_owner(first).claim(A, 1);
    rig.post([task(3)]);
    rig.as_owner(second).claim(A, 1);
    heir(&mut rig);
    for (n, state) in [(1, [Ready, Claimed, Claimed]), (2, [Ready, Ready, Claimed])] {
        assert_eq!(rig.take_over(1), (1, true));
        assert_eq!(rig.states([1, 2, 3]), state, "after {n}");
    }
}

#[test]
fn what_expired_meanwhile_does_not_run() {
    let mut rig = Rig::new();
    rig.post([task(1).expires_at(500)]);
    rig.claim(A, 1);
    rig.pass(500);
    die(&mut rig);
    assert_eq!(rig.promote(), [1]);
}

/// B9
#[test]
fn deaths_in_a_row_add_up_once_starts_are_marked() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    for deaths in 1..=4 {
        die(&mut rig);
        let rows = rig.claim_rows(A, 1, 0);
        assert_eq!((rows[0].crash_marks, rows[0].attempts), (deaths, 0));
        assert!(rig.mark_start(1, rows[0].epoch));
        assert_eq!(rig.view(1).unwrap().crash_marks, deaths + 1);
    }
}

/// B9
#[test]
fn what_did_not_start_is_not_blamed_for_a_second_death() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    for _ in 0..4 {
        rig.claim(A, 1);
        die(&mut rig);
    }
    assert_eq!(rig.claim_rows(A, 1, 0)[0].crash_marks, 1);
}

#[test]
fn a_mark_is_for_who_has_the_dispatch() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    assert!(!rig.mark_start(1, 0), "nobody has it");
    rig.claim(A, 1);
    assert!(!rig.mark_start(1, 2) && !rig.mark_start(2, 1));
    let other = rig.register();
    let first = rig.owner();
    assert!(!rig.as_owner(other).mark_start(1, 1));
    assert_eq!(rig.view(1).unwrap().crash_marks, 0);
    assert!(rig.as_owner(first).mark_start(1, 1));
}

#[test]
fn a_repeated_mark_counts_once() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    assert!(rig.mark_start(1, 1));
    rig.repeat();
    assert_eq!(rig.view(1).unwrap().crash_marks, 1);
}

/// B6
#[test]
fn any_reported_end_takes_the_marks_away() {
    let settled = |settle: Settle| {
        let mut rig = Rig::new();
        rig.post([task(1)]);
        rig.claim(A, 1);
        die(&mut rig);
        rig.claim(A, 1);
        rig.mark_start(1, 2);
        assert!(rig.settle(1, 2, settle));
        rig.view(1).unwrap().crash_marks
    };
    let not_started = Settle::GiveBack { due: Some(DueAt::Now), setback: true, renew: false, started: false };
    for end in [done(), trash(), retry(0), give_back()] {
        assert_eq!(settled(end.clone()), 0, "{end:?}");
    }
    assert_eq!(settled(not_started), 2, "it did not start: nothing is known of what it does");
}

#[test]
fn the_log_tells_how_each_pass_ended_from_the_first_that_went_wrong() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    let mut passes = Vec::new();
    let mut pass = |rig: &mut Rig| {
        assert_eq!(rig.claim(A, 1), [1]);
        passes.push(rig.owner());
    };
    pass(&mut rig);
    rig.settle(1, 1, give_back());
    pass(&mut rig);
    rig.pass(10).settle(1, 2, retry(0));
    pass(&mut rig);
    die(&mut rig);
    pass(&mut rig);
    let setback = Settle::GiveBack { due: Some(DueAt::Now), setback: true, renew: false, started: true };
    rig.settle(1, 4, setback);
    pass(&mut rig);
    rig.pass(10).settle(1, 5, done());
    let log = rig.view(1).unwrap().log;
    let ends: Vec<_> = log.iter().map(|record| (record.epoch, record.end.clone())).collect();
    let expected = [
        (2, AttemptEnd::Failed(failure())),
        (3, AttemptEnd::OwnerLost),
        (4, AttemptEnd::Setback),
        (5, AttemptEnd::Ended),
    ];
    assert_eq!(ends, expected);
    assert!(log.iter().all(|record| record.owner == passes[record.epoch as usize - 1]));
    assert_eq!((log[0].ended, log[3].ended), (at(10), at(20)));
}

#[test]
fn lists_show_no_log() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.settle(1, 1, retry(0));
    match rig.ask(Request::List { filter: all(), after: 0, limit: 9 }) {
        Answer::Tasks { tasks, .. } => {
            assert_eq!((tasks[0].attempts, &tasks[0].last_error), (1, &Some(failure())));
            assert_eq!(tasks[0].log, []);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_that_never_went_wrong_has_no_log() {
    let mut rig = Rig::new();
    rig.post([task(1)]);
    rig.claim(A, 1);
    rig.settle(1, 1, done());
    assert_eq!(rig.view(1).unwrap().log, []);
    assert_eq!(rig.outcome(1), Some(Outcome::Succeeded("null".into())));
}
