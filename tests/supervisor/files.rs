//! `--tasks`: a file of tasks, run to its end.

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Run, Scratch, run, supervisor};

#[test]
fn the_example_tasks_all_end_well() {
    let run = run(&["--tasks", "examples/tasks.jsonl"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!((run.total("succeeded"), run.total("discarded"), run.total("all")), (17, 1, 18));
    assert!(run.problem(13).contains("lost to"), "the duplicate names the task that it lost to");
}

#[test]
fn each_example_fault_is_told_apart() {
    let run = run(&["--tasks", "examples/faults.jsonl"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    for (outcome, count) in [
        ("succeeded", 1),
        ("failed", 4),
        ("timed out", 2),
        ("lost", 1),
        ("cancelled", 0),
        ("discarded", 0),
        ("bad lines", 3),
        ("unroutable", 2),
        ("all", 13),
    ] {
        assert_eq!(run.total(outcome), count, "{outcome} in {run:#?}");
    }
    for (line, words) in [
        (2, ["sleep", "timed out"]),
        (4, ["lost", "SIGKILL"]),
        (5, ["exit status 3", "no such customer"]),
        (6, ["fail", "can't be mended"]),
        (8, ["bad_arguments", "unknown field `file`"]),
        (9, ["bad line", "`delay`"]),
        (11, ["bad line", "JSON"]),
        (12, ["no_such_task", "unroutable"]),
    ] {
        let row = run.problem(line);
        assert!(words.iter().all(|word| row.contains(word)), "{words:?} in {row}");
    }
}

#[test]
fn tasks_are_read_from_standard_input() {
    let mut child = supervisor(&["--tasks", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = "{\"task\":\"echo\"}\n\n{\"task\":\"echo\",\"delay\":0.1}\n{\"task\":\"flaky\",\"kwargs\":{\"failures\":0}}";
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("it reads");
    let run = Run::of(&child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.total("succeeded"), run.total("all")), (Some(0), 3, 3), "{run:#?}");
}

/// Whoever writes the lines need not end first.
#[test]
fn a_signal_ends_a_run_whose_input_goes_on() {
    let mut child = supervisor(&["--tasks", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let scratch = Scratch::new();
    let ran = scratch.path("ran");
    rustix::fs::mkfifoat(rustix::fs::CWD, &ran, 0o600.into()).expect("a fifo");
    let arguments = ["-c", &format!("echo > {ran}")];
    let task =
        serde_json::json!({ "task": "command", "kwargs": { "program": "sh", "arguments": arguments } });
    let mut stdin = child.stdin.take().expect("piped");
    writeln!(stdin, "{task}").expect("it reads");
    std::fs::read(&ran).expect("the task writes");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let run = Run::of(&child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.total("all")), (Some(1), 1), "{run:#?}");
    drop(stdin);
}

#[test]
fn an_empty_file_is_a_success() {
    let scratch = Scratch::new();
    let run = run(&["--tasks", &scratch.file("empty.jsonl", "")]);
    assert_eq!((run.code, run.total("all")), (Some(0), 0), "{run:#?}");
}

#[test]
fn a_file_that_is_not_there_is_named_and_fails() {
    for path in ["no/such/file.jsonl", "src"] {
        let run = run(&["--tasks", path]);
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(run.stderr.contains(path), "{run:#?}");
    }
}

/// What was not run is a failure, and is listed.
#[test]
fn a_signal_ends_a_run_with_a_summary_of_what_was_not_run() {
    let scratch = Scratch::new();
    let (started, file) = (scratch.path("started"), scratch.path("tasks.fifo"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).expect("a fifo");
    let child = supervisor(&["--tasks", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let script = format!("echo > {started}; read line < {started}.fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &started, 0o600.into()).expect("a fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, format!("{started}.fifo"), 0o600.into()).expect("a fifo");
    let task =
        serde_json::json!({ "task": "command", "kwargs": { "program": "sh", "arguments": ["-c", script] } });
    std::fs::write(&file, format!("{task}\n{{\"task\":\"echo\",\"delay\":600}}\n")).expect("it reads");
    // Returns when the task has started.
    std::fs::read(&started).expect("it writes");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    std::fs::write(format!("{started}.fifo"), "go on\n").expect("it reads");
    let run = Run::of(&child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.total("succeeded"), run.total("not run")), (Some(1), 1, 1), "{run:#?}");
    assert!(run.problem(2).contains("not run"), "{run:#?}");
}
