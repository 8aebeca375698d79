//! Schedules: each tick is posted once, by whoever is first.

use taskyard_core::board::Settings;
use taskyard_core::store::{Answer, Posted, Refusal, Request, RowState, ScheduleState, Ticked};

use crate::suite::rig::{A, NONE, Rig, done};
use crate::suite::task::{New, at, task};

fn state(name: &str, done_ms: u64, paused: bool) -> ScheduleState {
    ScheduleState { name: name.into(), done: at(done_ms), paused }
}

fn schedule(rig: &mut Rig, name: &str, begin_ms: u64) -> ScheduleState {
    match rig.ask(Request::Schedule { name: name.into(), begin: at(begin_ms) }) {
        Answer::Schedule(Some(state)) => state,
        other => panic!("{other:?}"),
    }
}

fn pause(rig: &mut Rig, name: &str, paused: bool) -> Option<ScheduleState> {
    match rig.ask(Request::PauseSchedule { name: name.into(), paused }) {
        Answer::Schedule(state) => state,
        other => panic!("{other:?}"),
    }
}

fn all(rig: &mut Rig) -> Vec<ScheduleState> {
    match rig.ask(Request::Schedules) {
        Answer::Schedules(states) => states,
        other => panic!("{other:?}"),
    }
}

fn ticked(answer: Answer) -> Ticked {
    match answer {
        Answer::Ticked(ticked) => ticked,
        other => panic!("{other:?}"),
    }
}

fn tick(rig: &mut Rig, (from, to): (u64, u64), tasks: impl IntoIterator<Item = New>) -> Ticked {
    let rows = tasks.into_iter().map(New::row).collect();
    ticked(rig.ask(Request::Tick { name: "hourly".into(), from: at(from), to: at(to), rows }))
}

/// With one schedule, of which nothing is done.
fn hourly() -> Rig {
    let mut rig = Rig::new();
    schedule(&mut rig, "hourly", 0);
    rig
}

#[test]
fn a_schedule_begins_where_it_was_first_asked_to() {
    let mut rig = Rig::new();
    assert_eq!(schedule(&mut rig, "hourly", 100), state("hourly", 100, false));
    assert_eq!(schedule(&mut rig, "hourly", 900), state("hourly", 100, false), "the first stands");
    schedule(&mut rig, "daily", 5);
    assert_eq!(all(&mut rig), [state("daily", 5, false), state("hourly", 100, false)]);
}

#[test]
fn a_tick_posts_and_moves_on() {
    let mut rig = hourly();
    let ticked = tick(&mut rig, (0, 100), [task(1), task(2).due_at(700)]);
    assert_eq!(ticked.state, Some(state("hourly", 100, false)));
    let posted = ticked.posted.unwrap();
    assert!(matches!(posted[..], [Posted::Kept(RowState::Ready), Posted::Kept(RowState::Parked)]));
    assert_eq!(rig.claim(A, 9), [1]);
    assert_eq!(all(&mut rig), [state("hourly", 100, false)]);
}

#[test]
fn a_tick_may_post_nothing_and_move_on() {
    let mut rig = hourly();
    assert_eq!(tick(&mut rig, (0, 100), []).posted.map(|posted| posted.len()), Some(0));
    assert_eq!(tick(&mut rig, (100, 200), []).state, Some(state("hourly", 200, false)));
}

/// D20
#[test]
fn of_two_owners_one_posts_a_tick() {
    let mut rig = hourly();
    let other = rig.register();
    assert!(tick(&mut rig, (0, 100), [task(1)]).posted.is_some());
    rig.as_owner(other);
    let late = tick(&mut rig, (0, 100), [task(2)]);
    assert!(late.posted.is_none());
    assert_eq!(late.state, Some(state("hourly", 100, false)), "so it knows where to go on");
    assert_eq!(rig.claim(A, 9), [1]);
}

#[test]
fn a_repeated_tick_says_the_same_and_posts_no_more() {
    let mut rig = hourly();
    tick(&mut rig, (0, 100), [task(1)]);
    let again = ticked(rig.repeat());
    assert_eq!(again.state, Some(state("hourly", 100, false)));
    assert!(matches!(again.posted.as_deref(), Some([Posted::Kept(RowState::Ready)])), "it was not lost");
    assert_eq!(rig.claim(A, 9), [1]);
}

/// D20: a tick is not done with before the board has all of its tasks, and none is there twice then.
#[test]
fn a_tick_that_meets_a_full_board_is_asked_again() {
    let mut rig = Rig::with(Settings { board_max: 1, ..Settings::default() });
    schedule(&mut rig, "hourly", 0);
    let ticked = tick(&mut rig, (0, 100), [task(1), task(2)]);
    assert_eq!(ticked.state, Some(state("hourly", 0, false)));
    let posted = ticked.posted.unwrap();
    assert!(matches!(posted[..], [Posted::Kept(RowState::Ready), Posted::Refused(Refusal::Full)]));
    assert_eq!(rig.claim(A, 9), [1]);
    assert!(rig.settle(1, 1, done()));
    let again = tick(&mut rig, (0, 100), [task(1), task(2)]);
    assert_eq!(again.state, Some(state("hourly", 100, false)));
    assert!(matches!(again.posted.unwrap()[..], [Posted::Known(_), Posted::Kept(RowState::Ready)]));
    assert_eq!(rig.claim(A, 9), [2]);
}

#[test]
fn a_schedule_that_pauses_posts_nothing() {
    let mut rig = hourly();
    assert_eq!(pause(&mut rig, "hourly", true), Some(state("hourly", 0, true)));
    let ticked = tick(&mut rig, (0, 100), [task(1)]);
    assert_eq!((ticked.state, ticked.posted.is_none()), (Some(state("hourly", 0, true)), true));
    assert_eq!(schedule(&mut rig, "hourly", 0), state("hourly", 0, true), "also after a restart");
    assert_eq!(pause(&mut rig, "hourly", false), Some(state("hourly", 0, false)));
    assert!(tick(&mut rig, (0, 100), [task(1)]).posted.is_some());
}

#[test]
fn a_schedule_that_there_is_not_neither_ticks_nor_pauses() {
    let mut rig = Rig::new();
    let ticked = tick(&mut rig, (0, 100), [task(1)]);
    assert_eq!((ticked.state, ticked.posted.is_none()), (None, true));
    assert_eq!(pause(&mut rig, "hourly", true), None);
    assert_eq!(all(&mut rig), []);
    assert_eq!(rig.claim(A, 9), NONE);
}
