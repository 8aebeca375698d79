//! How much may be in the yard and begin there: what a pool finishes meanwhile, what goes back when it pauses, and the
//! number of dispatches where it is bounded.

use taskyard_core::conductor::{Answer, Effect, Event, Settings};
use taskyard_core::dispatch::{End, Outcome, Reason, Return};
use taskyard_core::store::Request;
use taskyard_core::task::DueAt;

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
    yard.submit_as([task(9_000)], false);
    let room = yard.asks.iter().find_map(|ask| match &*ask.request {
        Request::Post { room, .. } => Some(room.pools[0].ready),
        _ => None,
    });
    assert_eq!(room, Some(0), "though a claim may take more");
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
