//! How much may be in the yard and begin there: what a pool finishes meanwhile, what goes back when it pauses, and the
//! number of dispatches where it is bounded.

use std::sync::Arc;

use taskyard_core::conductor::{Answer, Effect, Event, Settings};
use taskyard_core::dispatch::{End, Outcome, Reason, Return};
use taskyard_core::store::{self, Request, Status};
use taskyard_core::task::{Due, DueAt, Task};

use crate::shared::{settings, yard};
use crate::yard::{POOL, Yard, at, bounded, delayed, failure, success, task};

const ASK: u64 = 10;

/// So many end while a claim is on its way to the board and back; then the next one is on its way.
fn round_trip(yard: &mut Yard, ended: usize) {
    yard.end_first(ended, &success());
    for _ in 0..yard.asks.len() {
        yard.answer_one();
    }
}

/// A yard with a backlog whose board is slow: a claim is on its way.
fn busy(slots: usize) -> Yard {
    let mut yard = yard(slots);
    yard.submit_many((1..1_500).map(task));
    yard.board_is_up = false;
    yard.end(1, success());
    assert_eq!((yard.asked(), yard.conductor.live()), (vec!["settle", "claim"], slots));
    yard
}

/// B15
#[test]
fn a_quick_pool_claims_beyond_its_slots_what_it_finishes_meanwhile() {
    let mut yard = busy(50);
    let live = (0..30).map(|_| {
        round_trip(&mut yard, 40);
        yard.live().len()
    });
    let live: Vec<_> = live.collect();
    assert_eq!(live[0], 10, "nothing is known of its pace");
    assert!(live[20..].iter().all(|live| (48..=52).contains(live)), "it never runs dry: {live:?}");
}

/// B15
#[test]
fn slow_tasks_are_never_claimed_beyond_the_slots() {
    let mut yard = busy(2);
    for _ in 0..20 {
        round_trip(&mut yard, 0);
        round_trip(&mut yard, 1);
        assert!(yard.live().len() <= 2);
    }
    let other = yard.other();
    assert_eq!(yard.claim_all(other).len(), 100, "the others are free for another node");
}

/// B15
#[test]
fn a_post_takes_no_more_than_there_are_slots_for() {
    let mut yard = busy(50);
    (0..20).for_each(|_| round_trip(&mut yard, 40));
    let other = yard.other();
    while !yard.claim_all(other).is_empty() {}
    yard.board_is_up = true;
    while yard.answer_one() {}
    yard.end_first(yard.conductor.live() - 49, &success());
    assert!(yard.asks.is_empty() && yard.conductor.live() == 49);
    yard.board_is_up = false;
    yard.submit_as([task(9_000)], false);
    let room = yard.asks.iter().find_map(|ask| match &*ask.request {
        Request::Post { room, .. } => Some(room.pools[0].ready),
        _ => None,
    });
    assert_eq!(room, Some(1), "though a claim may take more");
}

/// B16
#[test]
fn what_is_given_back_with_a_pause_starts_nowhere_before_its_end_and_others_go_on() {
    let mut yard = yard(1);
    yard.submit([task(1), task(2)]);
    yard.end(1, End::Returned(Return::Setback));
    assert_eq!(yard.live(), [1, 2]);
    assert_eq!(yard.dispatches[&1].due, DueAt::Wall(at(1_000)), "it waits in the Delayer");
    yard.end(1, End::Returned(Return::Drain));
    yard.tell(Event::Capacity { pool: POOL, slots: 0 });
    let other = yard.other();
    yard.board_is_up = false;
    for _ in 0..99 {
        yard.pass(10);
        assert!(!yard.asked().contains(&"claim"));
        assert_eq!(yard.claim_all(other), []);
    }
    yard.board_is_up = true;
    yard.tell(Event::Capacity { pool: POOL, slots: 2 });
    yard.pass(10);
    assert_eq!(yard.live(), [1, 2]);
}

/// B7
#[test]
fn a_task_whose_handler_is_unknown_here_is_left_for_whoever_has_it() {
    let mut yard = yard(1);
    let lane = taskyard_core::names::Lane { namespace: "a".parse().unwrap(), name: "two".parse().unwrap() };
    yard.submit([Task { lane: lane.into(), ..task(1) }]);
    yard.pass(60_000);
    assert!(yard.live().is_empty() && yard.outcomes().is_empty());
    yard.tell(Event::Learned { pool: POOL, names: vec!["two".parse().unwrap()] });
    assert_eq!(yard.live(), [1], "as this one has, since now");
}

/// D1
#[test]
fn what_is_due_now_or_soon_never_visits_the_basket() {
    let mut yard = yard(9);
    yard.pass(1_000);
    yard.submit([
        Task { due: Due::At(at(1)), ..task(1) },
        Task { due: Due::At(at(1_000)), ..task(2) },
        Task { due: Due::At(at(1_001)), ..task(3) },
        delayed(4, 0),
        delayed(5, 500),
    ]);
    assert_eq!(yard.live(), [1, 2, 3, 4, 5]);
    assert!(yard.dispatches.values().all(|dispatch| dispatch.epoch() == 1));
}

/// D13
#[test]
fn a_retry_expires_when_the_task_does() {
    let mut yard = yard(1);
    yard.submit([Task { expires: Some(Due::In(std::time::Duration::from_secs(5))), ..task(1) }]);
    yard.end(1, failure());
    yard.pass(4_999);
    assert!(yard.outcomes().is_empty());
    yard.pass(1);
    assert_eq!(yard.outcomes(), [(1, Outcome::Expired)]);
}

#[test]
fn a_pool_that_pauses_gives_back_what_is_not_due_and_keeps_the_rest() {
    let mut yard = yard(2);
    yard.submit([task(1), delayed(2, 500), delayed(3, 1_500)]);
    yard.tell(Event::Capacity { pool: POOL, slots: 0 });
    let parked: Vec<_> = yard.cancels.iter().map(|cancel| (cancel.id().0, cancel.reason)).collect();
    assert_eq!(parked, [(2, Reason::Park), (3, Reason::Park)]);
    yard.meet_cancel();
    yard.meet_cancel();
    assert_eq!(yard.live(), [1]);
    yard.submit([delayed(4, 700)]);
    yard.pass(100);
    assert_eq!(yard.live(), [1], "and takes none in");
    yard.tell(Event::Capacity { pool: POOL, slots: 2 });
    assert_eq!(yard.live(), [1, 2, 3, 4], "before they are due");
    assert_eq!(yard.dispatches[&2].due, DueAt::Wall(at(500)), "and not penalised");
    assert_eq!(yard.dispatches[&2].live.attempt, 1);
}

#[test]
fn a_late_preload_for_a_pool_that_paused_goes_back_at_once() {
    let mut yard = yard(1);
    yard.submit([delayed(1, 5_000)]);
    yard.board_is_up = false;
    yard.pass(3_001);
    while yard.asked().first().is_some_and(|asked| *asked != "preload") {
        yard.answer_one();
    }
    yard.tell(Event::Capacity { pool: POOL, slots: 0 });
    while yard.answer_one() {}
    assert_eq!((yard.live().len(), yard.conductor.live()), (0, 0));
}

/// It ended as many as one request may.
#[test]
fn a_preload_that_met_nothing_but_expired_ones_is_asked_again() {
    let mut yard = yard(1);
    yard.submit([delayed(1, 5_000)]);
    yard.board_is_up = false;
    yard.pass(3_001);
    while yard.asked().first().is_some_and(|asked| *asked != "preload") {
        yard.answer_one();
    }
    let status = Status { next_due: Some(at(5_000)), ..Status::default() };
    let expired = vec![Arc::new(task(2))];
    yard.script(Ok(store::Answer::Claimed { rows: Vec::new(), expired }), status);
    assert!(yard.asked().contains(&"preload"), "{:?}", yard.asked());
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1]);
}

/// It is only on its way back, and is not said to run.
#[test]
fn what_a_pause_sends_back_can_be_rescheduled() {
    let mut yard = yard(1);
    yard.submit([delayed(1, 500)]);
    yard.tell(Event::Capacity { pool: POOL, slots: 0 });
    yard.reschedule(ASK, 1, 60_000);
    yard.meet_cancel();
    assert_eq!(yard.rescheduled(ASK), taskyard_core::conductor::RescheduleResult::Done);
}

fn bounded_yard(max: u64) -> Yard {
    let mut yard = Yard::with(9, Settings { max_dispatches: Some(max), ..settings() });
    yard.register();
    yard
}

fn drains(yard: &Yard) -> bool {
    yard.said.iter().any(|effect| matches!(effect, Effect::Drain))
}

/// B13
#[test]
fn exactly_so_many_dispatches_begin_and_then_the_yard_drains() {
    for max in [1, 5] {
        let mut yard = bounded_yard(max);
        yard.submit_many((1..=10).map(task));
        for begun in 1..=max {
            assert_eq!((yard.live().len() as u64, drains(&yard)), (max - begun + 1, false));
            let first = yard.live()[0];
            yard.end(first, if begun == 1 { failure() } else { success() });
        }
        assert!(yard.live().is_empty() && drains(&yard));
        yard.pass(60_000);
        assert!(yard.live().is_empty(), "the one that failed does not run again");
        yard.tell(Event::Drained(POOL));
        assert!(matches!(yard.said.last(), Some(Effect::Release)));
        yard.tell(Event::Released);
        assert!(matches!(yard.answer(0), Answer::Drained { .. }));
    }
}

/// B13
#[test]
fn with_none_allowed_the_yard_drains_at_once() {
    let mut yard = Yard::with(9, Settings { max_dispatches: Some(0), ..Settings::default() });
    assert!(drains(&yard));
    yard.tell(Event::Drained(POOL));
    assert!(matches!(yard.answer(0), Answer::Drained { .. }));
}

/// B13
#[test]
fn what_never_started_does_not_count() {
    let mut yard = bounded_yard(2);
    yard.submit([task(1), bounded(2), task(3), task(4)]);
    assert_eq!(yard.live(), [1, 2]);
    yard.end(2, End::Discarded { lost_to: crate::yard::id(9) });
    assert_eq!(yard.live(), [1, 3], "a lost race");
    yard.end(3, End::Returned(Return::Drain));
    assert_eq!(yard.live(), [1, 3], "given back unstarted");
    yard.dispatches[&3].live.start(1, yard.now.mono);
    yard.end(3, End::Returned(Return::Setback));
    assert_eq!(yard.live(), [1], "that one had started");
    assert!(!drains(&yard));
    yard.end(1, success());
    assert!(drains(&yard));
    assert_eq!(yard.outcomes().last(), Some(&(1, Outcome::Succeeded("null".into()))));
}
