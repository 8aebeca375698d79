//! A disk that is full, and one that nobody may write: real ones, of a few pages, in a mount namespace of their own.
//!
//! The child is this test binary again, inside of that namespace. Where the machine allows no such thing, the tests say so
//! and do nothing.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use taskyard::core::store::StoreError;
use taskyard::store::sqlite::SqliteError;

use crate::desk::{Desk, large, options, post, task};
use crate::folder::Folder;

const MOUNTED: &str = "TASKYARD_TEST_MOUNTED";

/// Runs a test of this binary with a small disk, mounted so.
fn on_a_small_disk(test: &str, mount_options: &str) {
    let folder = Folder::new();
    let place = folder.path("disk");
    fs::create_dir(&place).unwrap();
    let script =
        r#"mount -t tmpfs -o "$1" none "$2" || exit 99; exec "$3" "$4" --exact --ignored --nocapture"#;
    let ran = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh", mount_options])
        .args([place.as_os_str(), std::env::current_exe().unwrap().as_os_str(), test.as_ref()])
        .env(MOUNTED, &place)
        .output();
    let why = match ran {
        Ok(ran) if ran.status.success() => return,
        Ok(ran) if is_not_allowed(&ran) => String::from_utf8_lossy(&ran.stderr).into_owned(),
        Ok(ran) => panic!("{}: {}", ran.status, String::from_utf8_lossy(&ran.stdout)),
        Err(error) => error.to_string(),
    };
    // Past the capture of a test that passes.
    let _ = writeln!(io::stderr(), "{test} not run: no disk of its own can be mounted here: {why}");
}

/// No namespace, or none in which a disk may be mounted.
fn is_not_allowed(ran: &Output) -> bool {
    ran.status.code() == Some(99) || ran.stderr.starts_with(b"unshare:")
}

fn mounted() -> Option<PathBuf> {
    std::env::var_os(MOUNTED).map(PathBuf::from)
}

/// B23
#[test]
fn a_full_disk_is_said_to_be_full_and_all_goes_on_when_there_is_room() {
    on_a_small_disk("disk::fills_up", "size=3m");
}

#[test]
#[ignore = "a child of `a_full_disk_is_said_to_be_full_and_all_goes_on_when_there_is_room`"]
fn fills_up() {
    let Some(folder) = mounted() else { return };
    let filler = folder.join("filler");
    fs::write(&filler, vec![0; 1 << 20]).unwrap();
    let mut desk = Desk::open(&folder.join("board.db"));
    let (accepted, refused) = fill(&mut desk);
    assert!(matches!(&refused, StoreError::Unwritable(why) if why.contains("full")), "{refused}");
    let [(first, _), (second, _)] =
        desk.try_all([post((10_000..10_100).map(large)), post((0..1).map(large))]);
    assert!(first.is_err(), "there is still no room");
    drop(second);
    assert_eq!(desk.counts().ready as u64, accepted, "nothing is half written");
    fs::remove_file(&filler).unwrap();
    desk.post([task(100_000)]);
    assert_eq!(desk.counts().ready as u64, accepted + 1);
    desk.verify();
}

/// Until the disk is full. How many tasks were accepted, and why no more.
fn fill(desk: &mut Desk) -> (u64, StoreError) {
    for batch in 0..1_000 {
        let rows = (batch * 10..batch * 10 + 10).map(large);
        if let Err(refused) = desk.try_ask(post(rows)) {
            return (batch * 10, refused);
        }
    }
    panic!("the disk is never full");
}

/// B23
#[test]
fn a_folder_that_may_not_be_written_is_said_to_be_so() {
    on_a_small_disk("disk::may_not_be_written", "ro");
}

#[test]
#[ignore = "a child of `a_folder_that_may_not_be_written_is_said_to_be_so`"]
fn may_not_be_written() {
    let Some(disk) = mounted() else { return };
    let path: &Path = &disk.join("board.db");
    let refused = Desk::open_with(path, options()).err().expect("it cannot be made");
    assert!(matches!(refused, SqliteError::Open { .. }));
    assert!(refused.to_string().contains("must be writable"), "{refused}");
}
