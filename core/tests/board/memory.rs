//! What only the memory board promises: it remembers so many ended tasks without being asked to prune, serves one owner that
//! never registers, and says how many rows it looks at.

use std::sync::Arc;

use taskyard_core::board::{Board, Settings};
use taskyard_core::router::Router;
use taskyard_core::store::{
    Answer, Ask, Asker, Filter, OwnerId, Registration, Request, RowState, StoreError,
};
use taskyard_core::time::Instant64;
use taskyard_core::{Machine, Now};

use crate::suite::rig::{A, LEASE, NONE, Rig, all, cancelled, done, pages, trash};
use crate::suite::task::task;

#[test]
fn so_many_ended_tasks_are_remembered() {
    let mut rig = Rig::with(Settings { remembered: 2, ..Settings::default() });
    rig.post([task(1), task(2), task(3)]);
    rig.claim(A, 3);
    for n in 1..=3 {
        rig.settle(n, 1, done());
    }
    assert_eq!([1, 2, 3].map(|n| rig.outcome(n).is_some()), [false, true, true]);
}

#[test]
fn so_many_in_the_trash_are_remembered_beside() {
    let mut rig = Rig::with(Settings { remembered: 2, ..Settings::default() });
    rig.post([task(1), task(2), task(3), task(4)]);
    rig.claim(A, 4);
    for n in 1..=3 {
        rig.settle(n, 1, trash());
    }
    rig.settle(4, 1, done());
    assert_eq!([1, 2, 3, 4].map(|n| rig.outcome(n).is_some()), [false, true, true, true]);
    assert_eq!(rig.counts().trashed, 2);
}

/// A board that is not shared: nobody registers.
fn sole() -> Rig {
    let mut rig = Rig::new();
    rig.as_owner(OwnerId::SOLE);
    rig
}

#[test]
fn who_never_registered_works_alone() {
    let mut rig = sole();
    rig.post([task(1), task(2)]);
    assert_eq!(rig.claim(A, 2), [1, 2]);
    assert!(rig.settle(1, 1, done()));
    assert_eq!(rig.view(2).unwrap().owner, Some(OwnerId::SOLE));
    assert_eq!(rig.held(), [(2, 1)]);
}

#[test]
fn who_never_registered_is_never_fenced() {
    let mut rig = sole();
    rig.post([task(1)]);
    rig.claim(A, 1);
    let other = rig.register();
    rig.pass_lease(100 * LEASE).as_owner(other).ask(Request::TakeOver { up_to: 9 });
    rig.as_owner(OwnerId::SOLE);
    assert_eq!(rig.states([1]), [RowState::Claimed]);
    assert!(rig.settle(1, 1, done()));
}

/// Far more than a board looks at for one answer.
const MANY: u64 = 12_000;

fn crowded() -> Rig {
    let mut rig = Rig::new();
    rig.post_many((0..MANY).map(|n| task(n).lane(if n == MANY - 1 { "b" } else { "a.x" }, "one")));
    rig
}

#[test]
fn a_list_looks_at_a_bounded_number_of_rows() {
    let mut rig = crowded();
    let rare = Filter { namespace: Some("b".parse().unwrap()), ..Filter::default() };
    let (none, more) = rig.page(rare.clone(), 0, 9);
    assert_eq!(none, NONE);
    assert!(more.is_some(), "what it picks is farther on");
    assert_eq!(rig.list(rare, 9), [MANY - 1]);
    assert_eq!(rig.list(all(), MANY as usize).len(), MANY as usize);
}

#[test]
fn a_cancel_looks_at_a_bounded_number_of_rows_and_is_repeated_whole() {
    let mut rig = crowded();
    let (first, _, more) = rig.cancel_from(all(), 0);
    assert_eq!(first, (0..10_000).collect::<Vec<_>>());
    let more = more.expect("there are more");
    assert_eq!(cancelled(rig.repeat()).0, first);
    assert_eq!(rig.counts().ready, MANY as usize - 10_000);
    let rest = pages(|after| {
        let (tasks, _, more) = rig.cancel_from(all(), after.max(more));
        (tasks, more)
    });
    assert_eq!(rest, (10_000..MANY).collect::<Vec<_>>());
    assert_eq!(rig.counts().ready, 0);
}

#[test]
fn requests_of_who_was_fenced_are_counted() {
    let mut board = Board::new(Settings::default(), Router::default());
    let mut ask = |owner, mono, request| {
        let (request, mut replies) = (Arc::new(request), Vec::new());
        let ask = Ask { owner, from: Asker::Conductor, no: 1, request, oldest_open: 1 };
        board.handle(Now { mono: Instant64(mono), ..Now::default() }, ask, &mut replies);
        (board.stale_writes(), replies.remove(0).answer)
    };
    let lease = Registration { lease: LEASE, ..Registration::default() };
    let (_, registered) = ask(OwnerId::SOLE, 0, Request::Register(lease));
    let Ok(Answer::Registered(owner)) = registered else { panic!("{registered:?}") };
    assert!(matches!(ask(owner, 5, Request::Renew), (0, Ok(_))));
    assert!(ask(OwnerId::SOLE, 20_000_000, Request::TakeOver { up_to: 1 }).1.is_ok());
    assert!(matches!(ask(owner, 20_000_000, Request::Count), (0, Ok(_))));
    assert!(matches!(ask(owner, 20_000_000, Request::Renew), (1, Err(StoreError::Fenced))));
    assert!(matches!(ask(owner, 20_000_000, Request::Settle(vec![])), (2, Err(StoreError::Fenced))));
}
