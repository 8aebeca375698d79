//! Several who use one file at once. In these tests they are connections of one process; in `children.rs` processes.

use std::sync::Barrier;

use rusqlite::Connection;
use taskyard::core::store::{Request, StoreError};
use taskyard::core::time::Timestamp;
use taskyard::store::Store as _;

use crate::desk::{Desk, POOL, due_in, numbers, post, settle, task, typed};
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
