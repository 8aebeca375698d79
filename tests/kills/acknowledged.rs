//! What becomes of a submission whose dispatcher is killed before or after its answer.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::board::Board;
use crate::harness::Server;
use crate::owners::{show, status, submit};
use crate::site::Site;

/// A task that brings its id, for later.
fn task(site: &Site) -> Value {
    let mut task = site.task(json!({}));
    task["uuid"] = "01970000-0000-7000-8000-000000000001".into();
    task["delay"] = 3_600.into();
    task
}

/// Brings it again, due at once: it is the one row that is there, and not due.
fn check_brought_again(site: &Site, mut task: Value) {
    let server = site.serve();
    task["delay"] = 0.into();
    let again = server.ask(&task.to_string());
    assert_eq!((&again["ok"]["uuid"], &again["ok"]["known"]), (&task["uuid"], &json!("parked")), "{again}");
    let shown = server.ask(&show(task["uuid"].as_str().and_then(|id| id.parse().ok()).expect("an id")));
    assert_eq!(shown["ok"]["state"], "delayed", "the first one holds: {shown}");
    assert_eq!(status(&server)["tasks"]["delayed"], 1);
    assert!(site.journal().starts().is_empty());
}

fn kill(mut server: Server) {
    server.signal(Signal::KILL);
    server.end();
}

/// D5: what was acknowledged is there after a kill; brought again it makes no second row.
#[test]
fn what_was_acknowledged_outlives_a_kill_and_is_one_row_if_it_is_brought_again() {
    let site = Site::on_disk();
    let (first, task) = (site.serve(), task(&site));
    submit(&first, &task);
    kill(first);
    check_brought_again(&site, task);
}

/// D5: between the commit and the acknowledgement. Who submits has not read a word, and brings it again.
#[test]
fn what_was_committed_and_not_acknowledged_is_one_row_if_it_is_brought_again() {
    let site = Site::on_disk();
    let (first, task) = (site.serve(), task(&site));
    let board = Board::open(site.store());
    let mut connection = first.connect();
    connection.send(&task.to_string());
    board.knows(task["uuid"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    kill(first);
    drop((connection, board));
    check_brought_again(&site, task);
}
