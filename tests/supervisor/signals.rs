//! How the supervisor ends.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::harness::{Server, gone_within, run, uuid};

const STATUS: &str = r#"{"control":"status"}"#;

/// One worker, and ten seconds of grace.
const ONE: &str = r##"
    [pools.one]
    patterns = ["#"]
    max = 1
"##;

/// What was killed just before the supervisor's end may take a moment to be gone.
#[track_caller]
fn none_is_left(below: Vec<Pid>) {
    for pid in below {
        gone_within(pid, Duration::from_secs(1));
    }
}

/// P18.
#[test]
fn sigterm_lets_what_runs_finish_and_lists_the_rest() {
    let mut server = Server::with_config(ONE);
    let mut connection = server.connect();
    let finished = server.scratch.path("finished");
    let script = format!("sleep 2; touch {finished}");
    let serial = json!({ "task": "command", "kwargs": { "program": "sh", "arguments": ["-c", script] },
        "key": "k", "on_duplicate": "serial" });
    connection.ask(&serial.to_string());
    server.ask_until(STATUS, |reply| reply["ok"]["tasks"]["running"] == 1);
    let twin = r#"{"task":"echo","namespace":"work.command","key":"k","on_duplicate":"serial"}"#;
    let delayed = r#"{"task":"echo","delay":600}"#;
    let queued = r#"{"task":"echo"}"#;
    // A task whose key is not full waits in the queue: the first twin does, so that it can follow at once.
    let left = [queued, queued, delayed, delayed, twin, twin, twin].map(|task| uuid(&connection.ask(task)));
    server.ask_until(STATUS, |reply| {
        let tasks = &reply["ok"]["tasks"];
        (&tasks["running"], &tasks["queued"], &tasks["delayed"], &tasks["blocked"])
            == (&json!(1), &json!(3), &json!(2), &json!(2))
    });
    let below = server.descendants();
    assert!(below.len() >= 2, "a worker and its command");
    let asked = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
    assert!(asked.elapsed() < Duration::from_secs(12), "the grace and two seconds");
    assert!(std::fs::exists(finished).expect("can be seen"), "the running one finished");
    for id in left {
        assert!(server.log().contains(&format!("not run: {id}")), "{id} in {}", server.log());
    }
    none_is_left(below);
}

/// P19.
#[test]
fn sigterm_to_the_whole_group_is_a_clean_end_idle_and_busy() {
    for (busy, on_disk) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut server = if on_disk { Server::on_disk() } else { Server::start() };
        if busy {
            server.ask(r#"{"task":"sleep","kwargs":{"seconds":0.5}}"#);
            server.ask_until(STATUS, |reply| reply["ok"]["tasks"]["running"] == 1);
        }
        server.signal_group(Signal::TERM);
        assert_eq!(server.end().code(), Some(0), "{}", server.log());
        let noise = ["WARN", "ERROR", "panicked"].iter().any(|word| server.log().contains(word));
        assert!(!noise, "{}", server.log());
        assert!(!std::fs::exists(&server.socket).expect("can be seen"), "the socket is removed");
    }
}

/// P19.
#[test]
fn a_second_signal_ends_what_runs() {
    for on_disk in [false, true] {
        let mut server = if on_disk { Server::on_disk() } else { Server::start() };
        let deaf = server.scratch.path("deaf");
        rustix::fs::mkfifoat(rustix::fs::CWD, &deaf, 0o600.into()).expect("a fifo");
        let script = format!("trap '' TERM; echo > {deaf}; while :; do sleep 600; done");
        let stubborn =
            json!({ "task": "command", "kwargs": { "program": "sh", "arguments": ["-c", script] } });
        let id = uuid(&server.ask(&stubborn.to_string()));
        // Returns once it does not hear SIGTERM any more.
        std::fs::read(&deaf).expect("it writes");
        let below = server.descendants();
        server.signal_group(Signal::TERM);
        server.line("draining");
        let forced = Instant::now();
        server.signal_group(Signal::TERM);
        assert_eq!(server.end().code(), Some(0), "{}", server.log());
        assert!(forced.elapsed() < Duration::from_secs(8), "it did not wait for the grace of 10 s");
        let left =
            if on_disk { "1 task stays on the board: 1 queued".into() } else { format!("not run: {id}") };
        assert!(server.log().contains(&left), "{}", server.log());
        none_is_left(below);
    }
}

/// P20.
#[test]
fn workers_and_their_commands_go_with_a_killed_supervisor() {
    for server in [Server::start(), Server::on_disk()] {
        let task = json!({ "task": "command", "kwargs": { "program": "sleep", "arguments": ["600"] } });
        server.ask(&task.to_string());
        // Two workers and the command.
        server.ask_until(STATUS, |_| server.descendants().len() == 3);
        let below = server.descendants();
        server.signal(Signal::KILL);
        let killed = Instant::now();
        for pid in below {
            gone_within(pid, Duration::from_secs(2).saturating_sub(killed.elapsed()));
        }
    }
}

/// P21: the fault is a panic on the yard's own thread.
#[test]
fn an_internal_fault_is_told_by_the_exit_status() {
    let mut server = Server::start_in(crate::harness::Scratch::new(), &["--fault-after", "0.5"]);
    let connection = server.connect();
    let below = server.descendants();
    // The yard has to do something to notice.
    while run(&["--socket", &server.socket, "--ctl", "status"]).code == Some(0) {}
    connection.end();
    assert_eq!(server.end().code(), Some(70), "{}", server.log());
    assert!(server.log().contains("internal fault"), "{}", server.log());
    none_is_left(below);
}

#[test]
fn a_shutdown_command_is_answered_and_drains() {
    let mut server = Server::start();
    assert_eq!(server.ask(r#"{"control":"shutdown"}"#)["ok"], json!({ "shutdown": true }));
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
}
