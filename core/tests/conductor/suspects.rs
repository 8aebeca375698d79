//! Tasks whose last delivery ended with nobody left to report it.

use taskyard_core::conductor::{Effect, Event, Settings};
use taskyard_core::dispatch::{DispatchName, End, Outcome, Return, Trash};
use taskyard_core::store::{Answer, Settle, Status};

use crate::shared::{settings, yard};
use crate::yard::{POOL, Yard, id, success, task, with_follow_ups};

fn wants_to_start(yard: &mut Yard, n: u64) -> DispatchName {
    let name = yard.dispatches[&n].name();
    yard.tell(Event::MayStart { pool: POOL, name });
    name
}

fn gone(yard: &mut Yard) -> Vec<DispatchName> {
    let goes = yard.said.extract_if(.., |effect| matches!(effect, Effect::Go { .. }));
    goes.map(|effect| if let Effect::Go { name, .. } = effect { name } else { unreachable!() }).collect()
}

/// The yard's process dies while all that it has runs, and another takes its place.
fn die(yard: &mut Yard, settings: Settings) {
    yard.lapse();
    let mut next = Yard::with(0, settings);
    std::mem::swap(&mut next.board, &mut yard.board);
    next.now = yard.now;
    next.others = yard.others;
    *yard = next;
    yard.tell(Event::Capacity { pool: POOL, slots: 9 });
    yard.register();
}

/// The dispatch starts if it may; then the dispatcher dies.
fn die_of(yard: &mut Yard, n: u64) {
    if yard.dispatches[&n].live.suspect {
        let name = wants_to_start(yard, n);
        assert_eq!(gone(yard), [name]);
    }
    die(yard, settings());
}

/// B9
#[test]
fn a_task_that_kills_its_dispatcher_is_trashed_at_the_fifth_time_and_those_beside_it_are_not() {
    let mut yard = yard(9);
    yard.submit([task(1), task(2)]);
    for delivery in 1..=5 {
        assert_eq!(yard.dispatches[&1].epoch(), delivery);
        assert_eq!(yard.dispatches[&1].live.suspect, delivery > 1);
        die_of(&mut yard, 1);
    }
    yard.pass(60_000);
    assert_eq!(yard.live(), [2], "which never started, as nobody let it");
    yard.tell(Event::Watch { id: id(1), reply: 9 });
    let answer = yard.answer(9);
    let taskyard_core::conductor::Answer::Outcome(_, Outcome::Trashed(trash)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(trash, Trash::Crashed { deliveries: 5 });
}

/// B9
#[test]
fn a_suspect_starts_only_once_its_mark_is_committed() {
    let mut yard = yard(9);
    yard.submit([task(1)]);
    die(&mut yard, settings());
    yard.board_is_up = false;
    let name = wants_to_start(&mut yard, 1);
    assert_eq!((yard.asked(), gone(&mut yard)), (vec!["mark"], vec![]));
    yard.tell(Event::MayStart { pool: POOL, name });
    assert_eq!(yard.asked(), ["mark"], "asked twice, it is marked once");
    yard.answer_one();
    assert_eq!(gone(&mut yard), [name]);
    yard.tell(Event::MayStart { pool: POOL, name });
    assert_eq!((yard.asked().len(), gone(&mut yard)), (0, vec![name]), "the mark is there");
}

#[test]
fn without_a_mark_nothing_is_said_and_the_pool_gives_it_back() {
    let mut yard = yard(9);
    yard.submit([task(1)]);
    die(&mut yard, settings());
    yard.board_is_up = false;
    let name = wants_to_start(&mut yard, 1);
    yard.script(Ok(Answer::Marked(false)), Status::default());
    assert_eq!(gone(&mut yard), []);
    yard.end(1, End::Returned(Return::Setback));
    yard.tell(Event::MayStart { pool: POOL, name });
    assert!(!yard.asked().contains(&"mark"), "it is not in the yard any more");
    let settles = yard.asks.iter().find_map(|ask| match &*ask.request {
        taskyard_core::store::Request::Settle(items) => Some(items[0].settle.clone()),
        _ => None,
    });
    assert!(matches!(settles, Some(Settle::GiveBack { started: false, .. })));
}

/// A hundred retries are a hundred attempts and no crash mark; any reported end takes the marks away.
#[test]
fn a_reported_end_takes_the_marks_away() {
    let mut yard = yard(9);
    yard.submit([task(1)]);
    die_of(&mut yard, 1);
    die_of(&mut yard, 1);
    let name = wants_to_start(&mut yard, 1);
    assert_eq!(gone(&mut yard), [name]);
    yard.end(1, crate::yard::failure());
    yard.pass(60_000);
    assert!(!yard.dispatches[&1].live.suspect);
}

/// B9
#[test]
fn from_the_second_mark_on_one_runs_at_a_time() {
    let mut yard = yard(9);
    yard.submit([task(1), task(2), task(3)]);
    for n in [1, 2, 3] {
        yard.dispatches[&n].live.start(1, yard.now.mono);
    }
    die(&mut yard, settings());
    assert_eq!(yard.live(), [1, 2, 3], "after the first they may run together");
    for n in [1, 2] {
        wants_to_start(&mut yard, n);
    }
    die(&mut yard, settings());
    assert_eq!(yard.live(), [1, 3], "2 waits for 1; 3 never ran again and has one mark");
    yard.pass(1_000);
    assert_eq!(yard.live(), [1, 3]);
    yard.end(1, success());
    yard.pass(999);
    assert_eq!(yard.live(), [3]);
    yard.pass(1);
    assert_eq!(yard.live(), [2, 3]);
    assert!(yard.dispatches[&2].live.suspect, "to be turned away counts as no end");
}

#[test]
fn errbacks_follow_a_task_that_nobody_survives() {
    let settings = || Settings { max_deliveries: 1, ..settings() };
    let mut yard = Yard::with(9, settings());
    yard.register();
    yard.submit([with_follow_ups(1)]);
    die(&mut yard, settings());
    let errback = id(1).derived(b"errback 2 0").0 as u64;
    yard.pass(5_000);
    assert_eq!(yard.live(), [errback]);
}
