//! Under which registration the board is asked, and that the yard says that it is alive.

use taskyard_core::Machine;
use taskyard_core::conductor::Event;
use taskyard_core::store::{Answer, OwnerId, Status};
use taskyard_core::time::Instant64;

use crate::shared::{settings, yard};
use crate::yard::{POOL, Yard, delayed, success, task};

#[test]
fn nothing_is_asked_before_the_yard_is_registered_and_all_of_it_then() {
    let mut yard = Yard::with(1, settings());
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    yard.cancel(9, crate::yard::only(&[7]));
    yard.pass(4_000);
    assert!(yard.asks.is_empty());
    let owner = yard.register();
    assert_eq!(yard.asked(), ["post", "cancel", "promote"]);
    let numbers: Vec<_> = yard.asks.iter().map(|ask| ask.no).collect();
    assert!(numbers.is_sorted() && yard.asks.iter().all(|ask| ask.owner == owner));
    yard.board_is_up = true;
    while yard.answer_one() {}
    assert_eq!(yard.live(), [1]);
}

#[test]
fn a_board_that_is_not_shared_is_asked_at_once_by_its_sole_owner() {
    let mut yard = Yard::new(1);
    yard.board_is_up = false;
    yard.submit_as([task(1)], false);
    assert!(yard.asks.iter().all(|ask| ask.owner == OwnerId::SOLE));
    assert_eq!((yard.asks.len(), yard.pass(60_000).pulses()), (1, 0));
}

#[test]
fn the_yard_says_each_second_that_it_is_alive() {
    let mut yard = Yard::with(1, settings());
    assert_eq!(yard.conductor.next_wakeup().mono, Some(Instant64(0)), "at once: it is not registered before");
    for _ in 0..20 {
        yard.pass(100);
    }
    assert_eq!(yard.pulses(), 2);
    let wakeup = yard.conductor.next_wakeup().sleep(yard.now).unwrap();
    assert!(wakeup.as_millis() <= 1_000);
}

#[test]
fn what_was_on_the_board_before_is_found_at_once() {
    let mut yard = Yard::with(1, settings());
    let other = yard.other();
    yard.post_elsewhere(other, [task(1), task(2)]);
    yard.register();
    assert_eq!(yard.live(), [1]);
    yard.end(1, success());
    assert_eq!(yard.live(), [2]);
}

#[test]
fn a_hint_brings_what_others_posted() {
    let mut yard = yard(1);
    let other = yard.other();
    yard.post_elsewhere(other, [task(1)]);
    let ready = [POOL].into_iter().collect();
    yard.tell(Event::Hint(Status { ready, ..Status::default() }));
    assert_eq!(yard.live(), [1]);
}

#[test]
fn a_hint_of_an_earlier_due_time_wakes_the_yard() {
    let mut yard = yard(1);
    yard.submit([delayed(1, 60_000)]);
    let other = yard.other();
    yard.post_elsewhere(other, [delayed(2, 4_000)]);
    yard.tell(Event::Hint(Status { next_due: Some(crate::yard::at(4_000)), ..Status::default() }));
    yard.pass(2_001);
    assert_eq!(yard.live(), [2]);
}

/// B18
#[test]
fn what_others_posted_is_found_within_five_seconds_though_every_hint_is_lost() {
    let mut yard = yard(1);
    let other = yard.other();
    yard.post_elsewhere(other, [task(1)]);
    yard.pass(4_999);
    assert!(yard.live().is_empty());
    yard.pass(1);
    assert_eq!(yard.live(), [1]);
}

/// The answer was given before the hint came, and does not know of what it is about.
#[test]
fn an_answer_from_before_a_hint_does_not_undo_it() {
    let mut yard = yard(1);
    yard.board_is_up = false;
    yard.cancel(9, crate::yard::only(&[7]));
    let ready = [POOL].into_iter().collect();
    yard.tell(Event::Hint(Status { ready, ..Status::default() }));
    assert_eq!(yard.asked(), ["cancel", "claim"]);
    let cancelled = Answer::Cancelled { tasks: vec![], elsewhere: vec![], ended: vec![], more: None };
    let claimed = || Answer::Claimed { rows: vec![], expired: vec![] };
    let again = yard.asks.clone();
    yard.script(Ok(cancelled), Status::default());
    assert_eq!(yard.asked(), ["claim"]);
    yard.asks.pop_front();
    yard.tell(Event::Hint(Status { ready, ..Status::default() }));
    yard.asks.push_back(again[1].clone());
    yard.script(Ok(claimed()), Status::default());
    assert!(yard.asked().is_empty(), "in vain: it rests");
    yard.pass(10);
    assert_eq!(yard.asked(), ["claim"], "asked before the second hint, it could not know of it");
    yard.script(Ok(claimed()), Status::default());
    yard.pass(1_000);
    assert!(yard.asked().is_empty(), "an empty answer calms");
}

/// B16
#[test]
fn a_board_that_promises_what_it_does_not_give_is_asked_ever_more_seldom() {
    let mut yard = yard(1);
    yard.board_is_up = false;
    let ready = [POOL].into_iter().collect();
    yard.tell(Event::Hint(Status { ready, ..Status::default() }));
    let mut claims = 0;
    for _ in 0..1_000 {
        while !yard.asks.is_empty() {
            claims += usize::from(yard.asked()[0] == "claim");
            let empty = Answer::Claimed { rows: vec![], expired: vec![] };
            yard.script(Ok(empty), Status { ready, ..Status::default() });
        }
        yard.pass(1);
    }
    assert!((10..70).contains(&claims), "{claims} claims in a second");
}

/// B2
#[test]
fn a_busy_yard_does_not_get_its_own_task_a_second_time() {
    let mut yard = yard(1);
    yard.submit([task(1)]);
    let name = yard.dispatches[&1].name();
    yard.tell(Event::Capacity { pool: POOL, slots: 5 });
    yard.tell(Event::Hint(Status { ready: [POOL].into_iter().collect(), ..Status::default() }));
    yard.pass(5_000);
    yard.submit([task(1)]);
    assert_eq!((yard.live(), yard.dispatches[&1].name()), (vec![1], name));
}
