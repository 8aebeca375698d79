//! What a file must be to be opened, and what it then is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;
use taskyard::store::sqlite::{Options, SqliteError};

use crate::desk::{Desk, options, task};
use crate::folder::Folder;

fn error(path: &Path) -> SqliteError {
    match Desk::open_with(path, options()) {
        Err(error) => error,
        Ok(_) => panic!("{} was opened", path.display()),
    }
}

#[test]
fn nobody_else_may_read_the_file_its_log_and_its_index() {
    let folder = Folder::new();
    let mut desk = Desk::open(&folder.path("board.db"));
    desk.post([task(1)]);
    for name in ["board.db", "board.db-wal", "board.db-shm"] {
        let mode = fs::metadata(folder.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_was_kept_is_there_after_a_restart() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    let mut desk = Desk::open(&path);
    desk.post([task(1), task(2), task(3)]);
    let claimed = desk.claim(2);
    desk.ask(crate::desk::settle(&claimed[..1]));
    drop(desk);
    let mut desk = Desk::open(&path);
    let counts = desk.counts();
    assert_eq!((counts.ready, counts.claimed), (1, 1));
    assert!(desk.view(1).unwrap().outcome.is_some());
    assert_eq!(crate::desk::numbers(&desk.claim(9)), [3]);
    desk.post([task(4)]);
    assert!(desk.view(4).unwrap().order.unwrap().sequence > 3, "no sequence is used twice");
    desk.verify();
}

#[test]
fn a_sequence_is_not_used_again_after_the_board_was_empty() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    let mut desk = Desk::open(&path);
    desk.post([task(1), task(2)]);
    let claimed = desk.claim(2);
    desk.ask(crate::desk::settle(&claimed));
    drop(desk);
    let mut desk = Desk::open(&path);
    desk.post([task(3)]);
    assert!(desk.view(3).unwrap().order.unwrap().sequence > 2);
}

#[test]
fn what_is_no_database_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path("notes.txt");
    let text = "not a database ".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = error(&path);
    assert!(matches!(error, SqliteError::NotADatabase { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE task (id)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = error(&path);
    assert!(matches!(error, SqliteError::Foreign { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// D16
#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    Desk::open(&path).post([task(1)]);
    let db = Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    let said = error(&path).to_string();
    assert!(said.contains("version 99") && said.contains("up to 1;"), "{said}");
    db.pragma_update(None, "user_version", 1).unwrap();
    assert!(Desk::open(&path).view(1).is_some(), "nothing was changed");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let path = folder.path("nowhere/board.db");
    let error = error(&path);
    assert!(matches!(error, SqliteError::Open { .. }));
    assert!(error.to_string().contains("nowhere/board.db"), "{error}");
}

#[test]
fn a_file_that_is_locked_for_long_is_said_to_be() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let patience = std::time::Duration::from_millis(50);
    let options = Options { opening_patience: patience, ..options() };
    let refused = Desk::open_with(&path, options).err().expect("it is locked");
    assert!(matches!(refused, SqliteError::Locked { .. }), "{refused}");
}
