//! Several who use one file at once. In these tests they are connections of one process; in `children.rs` processes.

use std::sync::Barrier;

use rusqlite::Connection;
use taskyard::core::store::{Answer, Claimed, Filter, Request, StoreError};
use taskyard::core::time::Timestamp;
use taskyard::store::Store as _;

use crate::desk::{Desk, POOL, due_in, id, numbers, post, settle, task, typed};
use crate::folder::Folder;

struct Two {
    a: Desk,
    b: Desk,
    folder: Folder,
}

fn two() -> Two {
    let folder = Folder::new();
    let path = folder.path("board.db");
    Two { a: Desk::open(&path), b: Desk::open(&path), folder }
}

#[test]
fn each_sees_what_the_other_wrote() {
    let Two { mut a, mut b, folder: _folder } = two();
    a.post([task(1), typed(2, r#"{"task":"one","namespace":"new"}"#)]);
    assert_eq!(b.counts().ready, 2);
    b.post([due_in(task(3), 500)]);
    assert_eq!(a.counts().parked, 1);
    assert_eq!(numbers(&b.claim(9)), [1, 2], "also of a lane that it had not seen");
    a.verify();
    b.verify();
}

#[test]
fn a_look_says_how_the_board_stands_if_another_changed_it() {
    let Two { mut a, mut b, folder: _folder } = two();
    assert_eq!(b.store.look(b.now), None);
    a.post([task(1), due_in(task(2), 500)]);
    assert_eq!(a.store.look(a.now), None, "it knows what it wrote itself");
    let status = b.store.look(b.now).expect("it was changed");
    assert!(status.ready.contains(POOL));
    assert_eq!(status.next_due, Some(Timestamp(crate::desk::START.0 + 500_000)));
    assert_eq!(b.store.look(b.now), None, "only once");
}

/// B1
#[test]
fn no_row_is_claimed_by_two() {
    let Two { mut a, mut b, folder: _folder } = two();
    a.post((0..100).map(task));
    let mut got = Vec::new();
    for _ in 0..10 {
        got.extend(numbers(&a.claim(4)));
        let claimed = b.claim(6);
        got.extend(numbers(&claimed));
        b.ask(settle(&claimed));
    }
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<_>>());
    a.verify();
}

/// B1, D8: in each race three reach for three tasks, one of which a fourth cancels. By hand with `RACES=10000`.
#[test]
fn of_those_who_reach_for_a_task_at_once_one_gets_it() {
    let races = std::env::var("RACES").map_or(100, |races| races.parse().expect("a number"));
    let folder = Folder::new();
    let path = folder.path("board.db");
    let mut desk = Desk::open(&path);
    let line = Barrier::new(5);
    let take_part = |act: fn(&mut Desk, u64) -> Vec<u64>| {
        let mut desk = Desk::open(&path);
        let mut got = Vec::new();
        for race in 0..races {
            line.wait();
            got.extend(act(&mut desk, race));
            line.wait();
        }
        got
    };
    let (claimed, cancelled) = std::thread::scope(|scope| {
        let claimants: Vec<_> = (0..3).map(|_| scope.spawn(|| take_part(claim_one))).collect();
        let canceller = scope.spawn(|| take_part(cancel_last));
        for race in 0..races {
            desk.post((3 * race..3 * race + 3).map(task));
            line.wait();
            line.wait();
        }
        let claimed = claimants.into_iter().flat_map(|thread| thread.join().expect("no panic"));
        (claimed.collect::<Vec<_>>(), canceller.join().expect("no panic"))
    });
    assert!(!cancelled.is_empty(), "it was always the last of the four");
    let mut all = [claimed, cancelled].concat();
    all.sort_unstable();
    assert_eq!(all, (0..3 * races).collect::<Vec<_>>(), "each once");
    let counts = desk.counts();
    assert_eq!((counts.ready, counts.claimed), (0, 0));
    desk.verify();
}

/// And settles it, if one is left.
fn claim_one(desk: &mut Desk, _race: u64) -> Vec<u64> {
    let claimed = desk.insist_to_claim(1);
    desk.insist(settle(&claimed));
    numbers(&claimed)
}

/// The one that the others come to last, if this is in time for it.
fn cancel_last(desk: &mut Desk, race: u64) -> Vec<u64> {
    let last = 3 * race + 2;
    let filter = Filter { ids: vec![id(last)], ..Filter::default() };
    match desk.insist(Request::Cancel { filter, after: 0 }) {
        Answer::Cancelled { tasks, .. } if tasks.is_empty() => Vec::new(),
        Answer::Cancelled { .. } => vec![last],
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_may_make_the_file_at_once() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (start, path) = (&start, &path);
            scope.spawn(move || {
                start.wait();
                Desk::open(path).insist(post([task(n)]));
            });
        }
    });
    let mut desk = Desk::open(&path);
    assert_eq!(desk.counts().ready, 8);
    desk.verify();
}

/// B23
#[test]
fn while_another_writes_nothing_is_done_and_then_all_goes_on() {
    let Two { mut a, folder, .. } = two();
    a.post([task(1)]);
    let db = Connection::open(folder.path("board.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..3 {
        let [(posted, _), (claimed, _)] =
            a.try_all([post([task(2)]), Request::Claim { pool: POOL, ready: 1, unjudged: 0 }]);
        assert!(matches!(posted, Err(StoreError::Unavailable(_))), "{posted:?}");
        assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
    }
    assert_eq!(a.counts().ready, 1, "what is there can be read");
    db.execute_batch("COMMIT").unwrap();
    a.post([task(2)]);
    assert_eq!(numbers(&a.claim(9)), [1, 2]);
    a.verify();
}

/// A request whose first answer was an error is done once, under its number.
#[test]
fn what_was_refused_is_done_when_it_is_asked_again() {
    let Two { mut a, folder, .. } = two();
    a.post([task(1), task(2)]);
    let db = Connection::open(folder.path("board.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let claim = a.asked(Request::Claim { pool: POOL, ready: 1, unjudged: 0 });
    assert!(a.store.answer(a.now, std::slice::from_ref(&claim))[0].answer.is_err());
    db.execute_batch("COMMIT").unwrap();
    for _ in 0..2 {
        let replies = a.store.answer(a.now, &[claim.clone(), claim.clone()]);
        for reply in replies {
            match reply.answer {
                Ok(taskyard::core::store::Answer::Claimed { rows, .. }) => assert_eq!(numbers(&rows), [1]),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(a.counts().claimed, 1);
}

/// A lane's number that was given here and rolled back is another's if another process gives it next.
#[test]
fn a_lane_number_that_was_rolled_back_is_forgotten() {
    let Two { mut a, mut b, folder } = two();
    let db = Connection::open(folder.path("board.db")).unwrap();
    db.execute_batch("CREATE TRIGGER full BEFORE INSERT ON task BEGIN SELECT RAISE(ABORT, 'full'); END")
        .unwrap();
    let refused = a.try_ask(post([typed(1, r#"{"task":"one","namespace":"first"}"#)]));
    assert!(refused.is_err(), "{refused:?}");
    db.execute_batch("DROP TRIGGER full").unwrap();
    b.post([typed(2, r#"{"task":"one","namespace":"second"}"#)]);
    assert_eq!(namespaces(&a.claim(9)), ["second"]);
    a.post([typed(3, r#"{"task":"one","namespace":"first"}"#)]);
    assert_eq!(namespaces(&b.claim(9)), ["first"]);
    a.verify();
    b.verify();
}

fn namespaces(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.task.lane.namespace.as_str()).collect()
}
