//! How another due time is said to the board.

use std::time::Duration;

use taskyard_core::conductor::Event;
use taskyard_core::store::Request;
use taskyard_core::task::{Due, DueAt};

use crate::yard::{Yard, at, delayed, id};

/// A time that had come here was now, although the board's clock may be behind.
#[test]
fn a_time_is_passed_on_as_it_was_said_and_a_delay_as_it_is_reckoned() {
    let mut yard = Yard::new(1);
    yard.submit([delayed(1, 600_000)]);
    yard.pass(1_000);
    yard.board_is_up = false;
    let hour = Duration::from_hours(1);
    let dues = [Due::At(at(500)), Due::At(at(5_000)), Due::In(hour), Due::Now];
    for (reply, due) in (1..).zip(dues) {
        yard.tell(Event::Reschedule { id: id(1), due, reply });
    }
    let asked = yard.asks.iter().filter_map(|ask| match *ask.request {
        Request::Reschedule { due, .. } => Some(due),
        _ => None,
    });
    let expected =
        [DueAt::Said(at(500)), DueAt::Said(at(5_000)), DueAt::Wall(yard.now.wall + hour), DueAt::Now];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
}
