//! What a killed supervisor leaves on a board on disk, the next one goes on with.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Run, Scratch, Server, bare, kill, supervisor, uuid};

/// One worker, so that lines run in their order; and the shortest lease.
fn config(scratch: &Scratch) -> String {
    let config = format!(
        "[store]\nurl = \"sqlite:{}\"\nlease = \"2s\"\n[pools.one]\npatterns = [\"#\"]\nmin = 1\nmax = 1\n",
        scratch.path("board.db")
    );
    scratch.file("supervisor.toml", &config)
}

fn start(scratch: &Scratch, file: &str) -> Child {
    let config = config(scratch);
    let mut command = supervisor(&["--config", &config, "--store", &store(scratch), "--tasks", file]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn store(scratch: &Scratch) -> String {
    format!("sqlite:{}", scratch.path("board.db"))
}

fn finish(child: Child) -> Run {
    Run::of(&child.wait_with_output().expect("it ends"))
}

fn serve(scratch: Scratch) -> Server {
    let (config, store) = (config(&scratch), store(&scratch));
    Server::start_in(scratch, &["--config", &config, "--store", &store])
}

/// The same board, for another server.
fn take_scratch(server: &mut Server) -> Scratch {
    std::mem::replace(&mut server.scratch, Scratch::new())
}

fn shell(script: &str) -> Value {
    json!({ "task": "command", "kwargs": { "program": "sh", "arguments": ["-c", script] } })
}

/// Twenty tasks that write their number; the tenth waits in between for somebody to read what is said at its gate.
fn twenty_lines(scratch: &Scratch) -> String {
    rustix::fs::mkfifoat(rustix::fs::CWD, scratch.path("gate"), 0o600.into()).expect("a fifo");
    let (log, gate) = (scratch.path("log"), scratch.path("gate"));
    let line = |number: u32| {
        let wait = if number == 10 { format!("read line < {gate}; ") } else { String::new() };
        let mut task = shell(&format!("{wait}echo {number} >> {log}"));
        if number.is_multiple_of(3) {
            task["uuid"] = format!("01970000-0000-7000-8000-0000000000{number:02}").into();
        }
        format!("{task}\n")
    };
    scratch.file("tasks.jsonl", &(1..=20).map(line).collect::<String>())
}

/// Returns when the tenth runs.
fn at_the_gate(scratch: &Scratch) -> File {
    OpenOptions::new().write(true).open(scratch.path("gate")).expect("somebody reads")
}

fn open_the_gate(scratch: &Scratch) {
    at_the_gate(scratch).write_all(b"go on\n").expect("somebody reads");
}

fn written(scratch: &Scratch) -> Vec<u32> {
    let log = std::fs::read_to_string(scratch.path("log")).expect("it was written");
    log.lines().map(|line| line.parse().expect("a number")).collect()
}

/// B3, B22
#[test]
fn a_killed_run_of_a_file_is_gone_on_with_and_loses_nothing() {
    let scratch = Scratch::new();
    let file = twenty_lines(&scratch);
    let first = start(&scratch, &file);
    let gate = at_the_gate(&scratch);
    kill(first);
    drop(gate);
    let second = start(&scratch, &file);
    open_the_gate(&scratch);
    let run = finish(second);
    assert_eq!(run.code, Some(0), "{run:#?}");
    // The record of the last end before the kill may not have been written. And what waited on the board may have been run
    // before its line was read again.
    let before = run.total("done before");
    assert!((8..20).contains(&before), "{run:#?}");
    assert_eq!((run.total("succeeded"), run.total("all")), (20 - before, 20), "{run:#?}");
    let log = written(&scratch);
    for number in 1..=20 {
        let times = log.iter().filter(|written| **written == number).count();
        assert!(times == 1 || times == 2 && number == 9, "{number} in {log:?}");
    }
    for words in ["resuming run 1 of this file", "of 20 done before", "waiting for the lease of supervisor@"]
    {
        assert!(run.stderr.contains(words), "{words:?} in {run:#?}");
    }
}

/// Where nothing is said of it, tasks are kept in a file of the place where the supervisor runs, for its owner's eyes alone.
#[test]
fn a_killed_run_without_a_store_is_gone_on_with_from_the_file_that_it_left_there() {
    let scratch = Scratch::new();
    let file = twenty_lines(&scratch);
    let place = scratch.0.join("empty");
    std::fs::create_dir(&place).expect("the temporary directory can be written");
    let start = || {
        let mut command = bare();
        command.args(["--tasks", &file]).current_dir(&place);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let first = start();
    let gate = at_the_gate(&scratch);
    kill(first);
    drop(gate);
    for entry in std::fs::read_dir(&place).expect("it is there") {
        let entry = entry.expect("it can be read");
        let (name, mode) = (entry.file_name(), entry.metadata().expect("it is there").permissions().mode());
        assert!(name.to_str().is_some_and(|name| name.starts_with("taskyard.db")), "{name:?}");
        assert_eq!(mode & 0o777, 0o600, "{name:?}");
    }
    assert!(place.join("taskyard.db").exists());

    let second = start();
    open_the_gate(&scratch);
    let run = finish(second);
    assert_eq!((run.code, run.total("all")), (Some(0), 20), "{run:#?}");
    assert!(run.total("done before") >= 1 && run.stderr.contains("resuming run 1 of this file"), "{run:#?}");
    let log: BTreeSet<_> = written(&scratch).into_iter().collect();
    assert!(log.into_iter().eq(1..=20), "each ran");
}

#[test]
fn a_finished_run_of_a_file_is_followed_by_a_new_one_that_says_so() {
    let scratch = Scratch::new();
    let file = twenty_lines(&scratch);
    for number in 1..=2 {
        let child = start(&scratch, &file);
        open_the_gate(&scratch);
        let run = finish(child);
        assert_eq!((run.code, run.total("all")), (Some(0), 20), "{run:#?}");
        assert_eq!(run.stderr.contains("run 2 begins"), number == 2, "{run:#?}");
        // Lines that bring an id are the same tasks whatever run it is.
        let before = if number == 1 { 0 } else { 6 };
        assert_eq!(run.total("succeeded"), 20 - before, "{run:#?}");
        if before > 0 {
            assert_eq!(run.total("done before"), before, "{run:#?}");
        }
    }
    assert_eq!(written(&scratch).len(), 34);
}

/// What failed in the first half is no success of the second.
#[test]
fn a_line_that_failed_before_the_kill_is_a_failure_of_the_run() {
    let scratch = Scratch::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, scratch.path("gate"), 0o600.into()).expect("a fifo");
    let gate = shell(&format!("read line < {}", scratch.path("gate")));
    let fail = json!({ "task": "fail", "kwargs": { "message": "no such customer" } });
    // Most likely the first one's end is recorded while the second one sleeps; if not, it fails again.
    let between = json!({ "task": "sleep", "kwargs": { "seconds": 0.2 } });
    let file = scratch.file("tasks.jsonl", &format!("{fail}\n{between}\n{gate}\n"));
    let first = start(&scratch, &file);
    let waits = at_the_gate(&scratch);
    kill(first);
    drop(waits);
    let second = start(&scratch, &file);
    open_the_gate(&scratch);
    let run = finish(second);
    assert_eq!((run.code, run.total("failed"), run.total("all")), (Some(1), 1, 3), "{run:#?}");
    assert!(run.problem(1).contains("no such customer"), "{run:#?}");
}

#[test]
fn each_standard_input_is_a_batch_of_its_own() {
    let scratch = Scratch::new();
    for _ in 0..2 {
        let config = config(&scratch);
        let mut command = supervisor(&["--config", &config, "--store", &store(&scratch), "--tasks", "-"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = b"{\"task\":\"echo\"}\n{\"task\":\"echo\"}\n";
        child.stdin.take().expect("piped").write_all(lines).expect("it reads");
        let run = finish(child);
        assert_eq!((run.code, run.total("succeeded"), run.total("all")), (Some(0), 2, 2), "{run:#?}");
        assert!(!run.stderr.contains("this file"), "{run:#?}");
    }
}

/// D8: what is parked is no owner's, so it can be cancelled at once.
#[test]
fn a_task_for_next_year_is_there_after_a_kill_and_can_be_cancelled() {
    let mut server = serve(Scratch::new());
    let id = uuid(&server.ask(r#"{"task":"echo","eta":"2126-01-01T00:00:00Z"}"#));
    let show = json!({ "control": "task_show", "control_data": { "uuid": id } }).to_string();
    for kill in [true, false] {
        if kill {
            server.kill();
        } else {
            server.signal(Signal::TERM);
            server.end();
        }
        let scratch = take_scratch(&mut server);
        server = serve(scratch);
        let shown = server.ask(&show);
        assert_eq!(shown["ok"]["state"], "delayed", "{shown}");
        assert_eq!(shown["ok"]["due"], "2126-01-01T00:00:00Z", "{shown}");
    }
    let cancel = json!({ "control": "cancel", "control_data": { "uuid": id } }).to_string();
    assert_eq!(server.ask(&cancel)["ok"][0]["result"], "cancelled");
    server.kill();
    let scratch = take_scratch(&mut server);
    let server = serve(scratch);
    assert_eq!(server.ask(&show)["ok"]["end"]["outcome"], "cancelled", "it is remembered");
}

/// P18: here nothing is lost by a drain.
#[test]
fn what_a_drain_gives_back_is_run_by_the_next_supervisor() {
    let mut server = serve(Scratch::new());
    let mut connection = server.connect();
    let finished = server.scratch.path("finished");
    let mut serial = shell(&format!("sleep 1; touch {finished}"));
    serial["key"] = "k".into();
    serial["on_duplicate"] = "serial".into();
    connection.ask(&serial.to_string());
    let status = r#"{"control":"status"}"#;
    server.ask_until(status, |reply| reply["ok"]["tasks"]["running"] == 1);
    let twin = r#"{"task":"echo","namespace":"work.command","key":"k","on_duplicate":"serial"}"#;
    let (queued, delayed) = (r#"{"task":"echo"}"#, r#"{"task":"echo","delay":600}"#);
    let ids = [queued, queued, twin, twin, delayed].map(|task| uuid(&connection.ask(task)));
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
    assert!(std::fs::exists(finished).expect("can be seen"), "the running one finished");
    assert!(!server.log().contains("not run"), "{}", server.log());
    assert!(server.log().contains("drained; 5 tasks stay on the board: 1 delayed, "), "{}", server.log());
    let scratch = take_scratch(&mut server);
    let server = serve(scratch);
    for (id, state) in ids.iter().zip(["ended", "ended", "ended", "ended", "delayed"]) {
        let show = json!({ "control": "task_show", "control_data": { "uuid": id } }).to_string();
        let shown = server.ask_until(&show, |reply| reply["ok"]["state"] == state);
        assert_eq!(shown["ok"]["attempts"], 0, "it was not counted: {shown}");
    }
}

/// B3: what ran when its supervisor was killed runs again, once the lease has ended.
#[test]
fn what_ran_in_a_killed_supervisor_runs_again_and_owners_say_who_had_it() {
    let mut server = serve(Scratch::new());
    let fifo = server.scratch.path("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a fifo");
    let id = uuid(&server.ask(&shell(&format!("read line < {fifo}")).to_string()));
    let gate = OpenOptions::new().write(true).open(&fifo).expect("it reads");
    let dead = server.pid().as_raw_nonzero().get();
    server.kill();
    drop(gate);
    let scratch = take_scratch(&mut server);
    let mut server = serve(scratch);
    let owners = r#"{"control":"owners"}"#;
    let both = server.ask_until(owners, |reply| reply["ok"].as_array().is_some_and(|all| all.len() == 2));
    assert!(both["ok"].as_array().into_iter().flatten().any(|owner| owner["pid"] == dead), "{both}");
    server.line(&format!("pid {dead} (1 task)"));
    OpenOptions::new().write(true).open(&fifo).expect("it reads").write_all(b"go on\n").expect("it reads");
    let show = json!({ "control": "task_show", "control_data": { "uuid": id } }).to_string();
    let ended = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!(ended["ok"]["end"]["outcome"], "succeeded", "{ended}");
    assert_eq!(ended["ok"]["log"][0]["how"], "owner_lost", "{ended}");
    server.ask_until(owners, |reply| reply["ok"].as_array().is_some_and(|all| all.len() == 1));
}

/// It waits for the store as long as a submit does, and then for the end of its lease.
#[test]
fn a_supervisor_whose_board_was_deleted_says_so_and_can_be_ended() {
    let mut server = serve(Scratch::new());
    std::fs::remove_file(server.scratch.path("board.db")).expect("it is there");
    server.line("board.db is gone");
    let status = server.ask_until(r#"{"control":"status"}"#, |reply| !reply["ok"]["store"]["down"].is_null());
    assert_eq!(status["ok"]["tasks"], Value::Null, "{status}");
    server.signal(Signal::TERM);
    server.line("the store does not answer");
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
}
