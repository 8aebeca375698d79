//! Processes that use one file at once, and one that is killed.
//!
//! A child is this test binary again, told by its environment which file and which part is its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::desk::{Desk, numbers, post, settle, task};
use crate::folder::Folder;

const FILE: &str = "TASKYARD_TEST_FILE";
const PART: &str = "TASKYARD_TEST_PART";
const PARTS: u64 = 4;
const TASKS: u64 = 50;

fn child(test: &str, path: &Path, part: u64) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([test, "--exact", "--ignored", "--nocapture"]).env(FILE, path).env(PART, part.to_string());
    child.stdout(Stdio::piped()).spawn().expect("starts")
}

fn told() -> Option<(Desk, u64)> {
    let path = std::env::var_os(FILE)?;
    Some((Desk::open(Path::new(&path)), std::env::var(PART).ok()?.parse().ok()?))
}

#[test]
fn processes_that_start_at_once_share_one_board() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    let children: Vec<_> =
        (0..PARTS).map(|part| child("children::posts_and_runs_its_part", &path, part)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut desk = Desk::open(&path);
    assert_eq!(desk.counts(), taskyard::core::store::Counts::default());
    for n in 0..PARTS * TASKS {
        let view = desk.view(n).expect("nothing is lost");
        assert_eq!((view.epoch, view.outcome.is_some()), (1, true), "each ran once");
    }
    desk.verify();
}

#[test]
#[ignore = "a child of `processes_that_start_at_once_share_one_board`"]
fn posts_and_runs_its_part() {
    let Some((mut desk, part)) = told() else { return };
    for n in 0..TASKS {
        desk.insist(post([task(part * TASKS + n)]));
        // Whosever they are.
        let claimed = desk.insist_to_claim(2);
        desk.insist(settle(&claimed));
    }
    loop {
        let claimed = desk.insist_to_claim(100);
        if claimed.is_empty() {
            return;
        }
        desk.insist(settle(&claimed));
    }
}

/// D5
#[test]
fn what_was_accepted_survives_a_kill_at_any_moment() {
    let folder = Folder::new();
    let path = folder.path("board.db");
    for round in 0..5 {
        let mut child = child("children::posts_until_it_is_killed", &path, round);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let accepted: Vec<u64> = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("accepted ")?.parse().ok())
            .take(20 + 7 * round as usize)
            .collect();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut desk = Desk::open(&path);
        let ended =
            accepted.iter().filter(|n| desk.view(**n).is_some_and(|view| view.outcome.is_some())).count();
        assert_eq!(ended, accepted.len());
        desk.verify();
    }
}

#[test]
#[ignore = "a child of `what_was_accepted_survives_a_kill_at_any_moment`"]
fn posts_until_it_is_killed() {
    let Some((mut desk, round)) = told() else { return };
    for n in round * 1_000_000.. {
        desk.insist(post([task(n)]));
        let claimed = desk.insist_to_claim(100);
        desk.insist(settle(&claimed));
        if numbers(&claimed).contains(&n) {
            println!("accepted {n}");
        }
    }
}
