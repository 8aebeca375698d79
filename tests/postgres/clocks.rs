//! Dispatchers whose clocks differ: the server's decides.

use std::time::Duration;

use taskyard::store::postgres::Options;
use taskyard_core::store::{
    Answer, Filter, NewRow, PoolRoom, Posted, Request, RescheduleAnswer, Room, RowState, Settle, Settlement,
};
use taskyard_core::task::{Due, DueAt, Task};
use taskyard_core::time::{Timestamp, micros};

use crate::desk::{Desk, POOL, claimed, numbers, options};
use crate::server::Schema;
use crate::task::{id, task};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
/// More than a test takes, and far less than an hour.
const SLACK: Duration = Duration::from_mins(10);
/// A difference that was measured while the server was busy may be wrong by half of this, and be found to be another later.
const UNSURE: Duration = Duration::from_millis(500);

/// One whose clock is right, and one whose clock is an hour ahead.
fn two(schema: &Schema) -> (Desk, Desk) {
    let right = Desk::at(schema);
    let mut ahead = Desk::unregistered(options(schema));
    ahead.ahead = micros(HOUR);
    ahead.register();
    (right, ahead)
}

fn near(a: Timestamp, b: Timestamp) -> bool {
    a.since(b).abs() < micros(SLACK)
}

/// A task as it is said to be due, and as admission reckons it.
fn row(n: u64, said: Due, due: DueAt) -> NewRow {
    let row = task(n).row();
    let task = Task { due: said, ..(*row.task).clone() };
    NewRow { task: task.into(), due, ..row }
}

fn post(desk: &mut Desk, row: NewRow) {
    let answer = desk.ask(Request::Post { rows: vec![row], room: Room::default() });
    assert!(matches!(answer, Answer::Posted(posted) if matches!(posted[0], Posted::Kept(RowState::Parked))));
}

/// D7
#[test]
fn a_task_that_is_due_by_a_clock_that_is_ahead_is_not_due() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let at = right.now().wall + HOUR / 2;
    post(&mut right, row(1, Due::At(at), DueAt::Wall(at)));
    ahead.promote();
    assert_eq!(ahead.view(id(1)).unwrap().state, RowState::Parked);
    let next = ahead.status.next_due.expect("it is parked");
    assert!(near(next, at + HOUR), "it is told when that is by its own clock");
    let preload = Request::Preload { pool: POOL, before: at + HOUR + SLACK, up_to: 9 };
    let rows = claimed(ahead.ask(preload));
    assert_eq!(numbers(&rows), [1]);
    assert!(matches!(rows[0].due, DueAt::Wall(due) if near(due, at + HOUR)));
    give_back(&mut ahead, Some(rows[0].due));
    let due = ahead.view(id(1)).unwrap().due.unwrap();
    assert!(due.since(at).abs() < micros(UNSURE), "what goes and comes back is the same: {due:?}, {at:?}");
    right.promote();
    assert_eq!(right.view(id(1)).unwrap().state, RowState::Parked);
}

fn give_back(desk: &mut Desk, due: Option<DueAt>) {
    let settle = Settle::GiveBack { due, setback: false, renew: false, started: false };
    let item = Settlement { id: id(1), sequence: 1, epoch: 1, settle, posts: Vec::new() };
    assert_eq!(crate::desk::accepted(&desk.ask(Request::Settle(vec![item]))), 1);
}

/// As what a yard has and knows nothing of is given back: what a view says of it is on the server's clock.
#[test]
fn what_goes_back_as_it_was_is_due_when_it_was() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let at = right.now().wall + HOUR / 2;
    post(&mut right, row(1, Due::At(at), DueAt::Wall(at)));
    let preload = Request::Preload { pool: POOL, before: at + HOUR + SLACK, up_to: 9 };
    assert_eq!(numbers(&claimed(ahead.ask(preload))), [1]);
    give_back(&mut ahead, None);
    right.promote();
    let view = right.view(id(1)).unwrap();
    assert_eq!((view.state, view.due), (RowState::Parked, Some(at)));
}

/// D7
#[test]
fn a_delay_is_as_long_whoever_reckons_it() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let delay = Duration::from_mins(30);
    let due = DueAt::Wall(ahead.now().wall + delay);
    post(&mut ahead, row(1, Due::In(delay), due));
    let stored = right.view(id(1)).unwrap().due.unwrap();
    assert!(near(stored, right.now().wall + delay));
}

#[test]
fn a_time_that_has_come_by_a_clock_that_is_ahead_is_still_that_time() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let at = right.now().wall + MINUTE * 30;
    post(&mut ahead, row(1, Due::At(at), DueAt::Now));
    assert_eq!(right.view(id(1)).unwrap().due, Some(at));
    let moved = right.now().wall + MINUTE * 20;
    let answer = ahead.ask(Request::Reschedule { id: id(1), due: DueAt::Said(moved) });
    assert!(matches!(answer, Answer::Rescheduled(RescheduleAnswer::Done)));
    let view = right.view(id(1)).unwrap();
    assert_eq!((view.state, view.due), (RowState::Parked, Some(moved)));
}

/// It was taken for a time that had been said.
#[test]
fn a_task_is_moved_by_a_delay_whoever_reckons_it() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let at = right.now().wall + MINUTE;
    post(&mut right, row(1, Due::At(at), DueAt::Wall(at)));
    let delay = Duration::from_mins(30);
    let due = DueAt::Wall(ahead.now().wall + delay);
    let answer = ahead.ask(Request::Reschedule { id: id(1), due });
    assert!(matches!(answer, Answer::Rescheduled(RescheduleAnswer::Done)));
    let stored = right.view(id(1)).unwrap().due.unwrap();
    assert!(near(stored, right.now().wall + delay));
}

#[test]
fn a_task_in_the_yard_is_moved_to_the_time_that_was_said() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    let at = right.now().wall + HOUR / 2;
    post(&mut right, row(1, Due::At(at), DueAt::Wall(at)));
    let preload = Request::Preload { pool: POOL, before: at + HOUR + SLACK, up_to: 9 };
    assert_eq!(numbers(&claimed(ahead.ask(preload))), [1]);
    let moved = right.now().wall + MINUTE * 20;
    give_back(&mut ahead, Some(DueAt::Said(moved)));
    let view = right.view(id(1)).unwrap();
    assert_eq!((view.state, view.due), (RowState::Parked, Some(moved)));
}

/// B19
#[test]
fn leases_do_not_follow_the_clocks_of_those_who_ask() {
    let Some(schema) = Schema::new() else { return };
    let (mut right, mut ahead) = two(&schema);
    right.post([task(1)]);
    right.claim(1);
    for turned in [micros(HOUR), -micros(HOUR)] {
        ahead.ahead = turned;
        match ahead.ask(Request::Renew) {
            Answer::Renewed(renewal) => assert!(!renewal.lapsed),
            other => panic!("{other:?}"),
        }
        let answer = ahead.ask(Request::TakeOver { up_to: 9 });
        assert!(matches!(answer, Answer::TakenOver { returned: 0, more: false }), "{answer:?}");
    }
    assert_eq!(right.view(id(1)).unwrap().state, RowState::Claimed);
}

/// D3
#[test]
fn a_clock_that_steps_is_found_out_within_a_look() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::opened(Options { ..options(&schema) }, || {});
    let at = desk.now().wall + HOUR / 2;
    post(&mut desk, row(1, Due::At(at), DueAt::Wall(at)));
    desk.ahead = micros(HOUR);
    desk.look();
    desk.promote();
    assert_eq!(desk.view(id(1)).unwrap().state, RowState::Parked);
    let filter = Filter::ids([id(1)]);
    assert!(
        matches!(desk.ask(Request::Cancel { filter, after: 0 }), Answer::Cancelled { tasks, .. } if tasks.len() == 1)
    );
}

/// D7: one that is claimed in the write that posts it, too.
#[test]
fn a_near_task_that_is_due_by_a_clock_that_is_ahead_waits_in_the_yard() {
    let Some(schema) = Schema::new() else { return };
    let (right, mut ahead) = two(&schema);
    let at = right.now().wall + MINUTE;
    for (n, reckoned) in [(1, DueAt::Now), (2, DueAt::Wall(at))] {
        let pools = vec![PoolRoom { pool: POOL, ready: 1, near: 1 }];
        let room = Room { pools, total: 1, before: at + HOUR + SLACK };
        let answer = ahead.ask(Request::Post { rows: vec![row(n, Due::At(at), reckoned)], room });
        let Answer::Posted(posted) = answer else { panic!("{answer:?}") };
        let [Posted::Claimed(claimed)] = &posted[..] else { panic!("{posted:?}") };
        assert!(matches!(claimed.due, DueAt::Wall(due) if near(due, at + HOUR)), "{:?}", claimed.due);
    }
}
