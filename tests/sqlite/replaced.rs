//! The file goes away, or another comes in its place, while it is open.

use std::fs;

use taskyard::core::store::StoreError;
use taskyard::store::Store as _;

use crate::desk::{Desk, numbers, post, task};
use crate::folder::Folder;

fn refused(desk: &mut Desk) -> String {
    match desk.try_ask(post([task(9)])) {
        Err(StoreError::Unwritable(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// B23
#[test]
fn nothing_is_written_into_a_file_that_is_gone() {
    let folder = Folder::new();
    let (path, aside) = (folder.path("board.db"), folder.path("aside.db"));
    let mut desk = Desk::open(&path);
    desk.post([task(1)]);
    fs::rename(&path, &aside).unwrap();
    assert!(refused(&mut desk).contains("is gone"));
    assert_eq!(desk.store.look(desk.now), None);
    assert!(!path.exists(), "none is made in its place");
    fs::rename(&aside, &path).unwrap();
    desk.post([task(2)]);
    assert_eq!(numbers(&desk.claim(9)), [1, 2], "it goes on by itself");
}

/// B23
#[test]
fn nothing_is_written_beside_a_file_that_took_its_place() {
    let folder = Folder::new();
    let (path, aside, other) = (folder.path("board.db"), folder.path("aside.db"), folder.path("other.db"));
    let mut desk = Desk::open(&path);
    drop(Desk::open(&other));
    fs::rename(&path, &aside).unwrap();
    fs::rename(&other, &path).unwrap();
    let why = refused(&mut desk);
    assert!(why.contains("another file") && why.contains("board.db"), "{why}");
    fs::rename(&aside, &path).unwrap();
    desk.post([task(1)]);
    assert_eq!(desk.counts().ready, 1);
}
