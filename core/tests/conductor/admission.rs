//! What is taken in, and what is not.

use std::time::Duration;

use taskyard_core::conductor::{Event, SubmitRefusal};
use taskyard_core::store::{BatchId, Request, RowState};
use taskyard_core::task::{Due, DueAt, Task};

use crate::yard::{Yard, at, delayed, success, task};

#[test]
fn a_due_task_is_dispatched_in_the_turn_that_takes_it_in() {
    let mut yard = Yard::new(2);
    let accepted = yard.submit([task(1), task(2), task(3)]);
    assert!(accepted.iter().all(|result| result.as_ref().is_ok_and(|accepted| accepted.known.is_none())));
    assert_eq!(yard.live(), [1, 2], "as many as the pool has slots");
    yard.end(1, success());
    assert_eq!(yard.live(), [2, 3]);
}

#[test]
fn tasks_of_a_batch_are_posted_as_such_and_others_of_the_same_turn_are_not() {
    let mut yard = Yard::new(1);
    yard.board_is_up = false;
    yard.submit_of(BatchId(7), task(1));
    yard.submit_as([task(2)], false);
    let posted = yard.asks.iter().filter_map(|ask| match &*ask.request {
        Request::Post { rows, .. } => Some(rows),
        _ => None,
    });
    let batches: Vec<_> = posted.flatten().map(|row| row.batch).collect();
    assert_eq!(batches, [Some(BatchId(7)), None]);
}

/// D13
#[test]
fn what_expires_before_it_is_due_is_refused() {
    let mut yard = Yard::new(1);
    yard.pass(1_000);
    let second = |n: u64| Due::In(Duration::from_secs(n));
    let refused = [
        Task { due: second(2), expires: Some(second(1)), ..task(1) },
        Task { due: second(2), expires: Some(second(2)), ..task(2) },
        Task { due: Due::At(at(5_000)), expires: Some(Due::At(at(4_000))), ..task(3) },
        Task { expires: Some(Due::At(at(500))), ..task(4) },
        Task { expires: Some(second(0)), ..task(5) },
        Task { due: Due::At(at(10)), expires: Some(Due::At(at(1_000))), ..task(6) },
    ];
    for result in yard.submit(refused) {
        assert_eq!(result, Err(SubmitRefusal::ExpiresTooSoon));
    }
    let kept = Task { due: second(2), expires: Some(second(3)), ..task(7) };
    let mixed = yard.submit([Task { expires: Some(second(0)), ..task(8) }, kept]);
    assert!(mixed[0].is_err() && mixed[1].is_ok(), "each is answered for itself, in order");
}

#[test]
fn relative_delays_within_the_horizon_keep_the_monotonic_clock() {
    let mut yard = Yard::new(1);
    yard.submit([delayed(1, 1_999), delayed(2, 2_000), delayed(3, 0)]);
    assert!(matches!(yard.dispatches[&1].due, DueAt::Mono(_)));
    assert_eq!(yard.dispatches[&3].due, DueAt::Now);
    assert_eq!(yard.live(), [1, 3], "exactly the horizon stays parked");
}

/// D19
#[test]
fn a_second_submit_of_an_id_is_told_so_and_learns_the_outcome() {
    let mut yard = Yard::new(1);
    let twice = yard.submit([task(1), delayed(1, 500)]);
    assert_eq!(twice[1].as_ref().unwrap().known, Some(RowState::Claimed));
    assert_eq!(yard.live(), [1]);
    yard.end(1, success());
    assert_eq!(yard.outcomes().len(), 2, "once for each that waits");
    assert_eq!(yard.submit([task(1)])[0].as_ref().unwrap().known, Some(RowState::Ended));
    assert_eq!(yard.outcomes().len(), 1);
    assert!(yard.live().is_empty());
}

#[test]
fn a_draining_yard_takes_in_only_what_its_running_tasks_submit() {
    let mut yard = Yard::new(2);
    yard.submit([task(1)]);
    yard.tell(Event::Drain { reply: 9 });
    assert_eq!(yard.submit([task(2)]), [Err(SubmitRefusal::Draining)]);
    yard.submit_as([task(3)], true);
    assert_eq!(yard.live(), [1], "posted, not claimed");
    assert!(
        matches!(yard.answer(1), taskyard_core::conductor::Answer::Submitted(results) if results[0].is_ok())
    );
}
