//! Rows that cannot be understood, and requests that fail, beside others that are well.

use rusqlite::Connection;
use taskyard::core::dispatch::{Outcome, Trash};
use taskyard::core::store::{Answer, Request, RowState, StoreError};

use crate::desk::{Desk, POOL, all, due_in, large, numbers, post, task, typed};
use crate::folder::Folder;

/// A board and a way past it, into its file.
fn board() -> (Desk, Connection, Folder) {
    let folder = Folder::new();
    let path = folder.path("board.db");
    (Desk::open(&path), Connection::open(path).unwrap(), folder)
}

fn reason(desk: &mut Desk, n: u64) -> String {
    match desk.view(n).unwrap().outcome {
        Some(Outcome::Trashed(Trash::Unreadable(why))) => why,
        other => panic!("{other:?}"),
    }
}

/// B20
#[test]
fn one_malformed_row_among_a_hundred_is_put_aside_with_a_reason() {
    let (mut desk, db, _folder) = board();
    desk.post((1..=101).map(task));
    db.execute("UPDATE task SET body = '{\"task\":' WHERE sequence = 50", []).unwrap();
    let claimed = numbers(&desk.claim(200));
    assert_eq!(claimed, (1..=101).filter(|n| *n != 50).collect::<Vec<_>>());
    assert!(reason(&mut desk, 50).contains("not JSON"));
    assert_eq!(desk.counts().trashed, 1);
    desk.verify();
}

/// D16
#[test]
fn whatever_is_wrong_with_a_body_its_neighbours_go_on() {
    let (mut desk, db, _folder) = board();
    desk.post([task(1), large(2), large(3), task(4), task(5)]);
    db.execute_batch(
        "UPDATE task SET body = CAST(x'7b22ff' AS TEXT) WHERE sequence = 1;
         DELETE FROM body WHERE sequence = 2;
         UPDATE task SET body = '{\"args\":[]}' WHERE sequence = 4;",
    )
    .unwrap();
    let claimed = desk.claim(9);
    assert_eq!(numbers(&claimed), [3, 5]);
    assert!(claimed[0].task.body.text().len() > 2_000);
    let reasons = [1, 2, 4].map(|n| reason(&mut desk, n));
    assert!(reasons[0].contains("utf-8"), "{reasons:?}");
    assert!(reasons[1].contains("missing"), "{reasons:?}");
    assert!(reasons[2].contains("`task`"), "{reasons:?}");
}

/// D16
#[test]
fn a_parked_row_is_put_aside_once_somebody_wants_it() {
    let (mut desk, db, _folder) = board();
    desk.post([due_in(task(1), 500), due_in(task(2), 500)]);
    db.execute("UPDATE task SET body = '' WHERE sequence = 1", []).unwrap();
    assert_eq!(desk.view(1).unwrap().state, RowState::Parked);
    assert!(desk.view(1).unwrap().task.is_none());
    match desk.ask(Request::Cancel { filter: all(), after: 0 }) {
        Answer::Cancelled { tasks, .. } => assert_eq!(tasks.len(), 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.view(2).unwrap().outcome, Some(Outcome::Cancelled));
    assert!(!reason(&mut desk, 1).is_empty());
}

#[test]
fn what_cannot_be_understood_stays_in_the_trash_until_it_can() {
    let (mut desk, db, _folder) = board();
    desk.post([task(1)]);
    db.execute("UPDATE task SET body = 'x'", []).unwrap();
    desk.claim(1);
    let requeue = || Request::Requeue { filter: all(), up_to: 9 };
    assert!(matches!(desk.ask(requeue()), Answer::Requeued { ids, .. } if ids.is_empty()));
    assert_eq!(desk.counts().trashed, 1);
    db.execute("UPDATE trash SET body = '{\"task\":\"one\",\"namespace\":\"a\"}'", []).unwrap();
    assert!(matches!(desk.ask(requeue()), Answer::Requeued { ids, .. } if ids.len() == 1));
    assert_eq!(numbers(&desk.claim(1)), [1]);
    desk.verify();
}

#[test]
fn a_request_that_fails_does_not_spoil_its_neighbours() {
    let (mut desk, db, _folder) = board();
    db.execute_batch(
        "CREATE TRIGGER broken BEFORE INSERT ON task WHEN NEW.priority = 9
         BEGIN SELECT RAISE(ABORT, 'for a test'); END",
    )
    .unwrap();
    let broken = typed(2, r#"{"task":"one","namespace":"a","priority":9}"#);
    let [(first, _), (second, _), (third, _)] =
        desk.try_all([post([task(1)]), post([task(4), broken]), post([task(3)])]);
    assert!(first.is_ok() && third.is_ok(), "{first:?} {third:?}");
    assert!(matches!(&second, Err(StoreError::Unwritable(why)) if why.contains("for a test")), "{second:?}");
    assert!(desk.view(4).is_none(), "nothing is half written");
    assert_eq!(numbers(&desk.claim(9)), [1, 3]);
    desk.verify();
}

/// B7: what is wrong with the file for a moment is not the task's fault.
#[test]
fn a_task_whose_record_cannot_be_read_or_written_just_now_is_not_put_aside() {
    let (mut desk, db, _folder) = board();
    desk.post([task(1), large(2), task(3)]);
    db.execute_batch(
        "CREATE TRIGGER sick BEFORE UPDATE ON task BEGIN SELECT RAISE(ABORT, 'sick'); END;
         ALTER TABLE body RENAME TO gone;",
    )
    .unwrap();
    for _ in 0..3 {
        let refused = desk.try_ask(Request::Claim { pool: POOL, ready: 9, unjudged: 0 });
        assert!(refused.is_err(), "{refused:?}");
    }
    db.execute_batch("DROP TRIGGER sick").unwrap();
    let refused = desk.try_ask(Request::Claim { pool: POOL, ready: 9, unjudged: 0 });
    assert!(refused.is_err(), "nor if it is the body that cannot be read: {refused:?}");
    db.execute_batch("ALTER TABLE gone RENAME TO body").unwrap();
    let claimed = desk.claim(9);
    assert_eq!(numbers(&claimed), [1, 2, 3]);
    assert!(claimed.iter().all(|claimed| claimed.epoch == 1), "what was refused is not counted");
    desk.verify();
}
