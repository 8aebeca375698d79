//! Control commands that change what the supervisor does.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Run, Server, run, supervisor, uuid};

fn command(name: &str, data: &Value) -> String {
    json!({ "control": name, "control_data": data }).to_string()
}

#[test]
fn the_log_level_can_be_set_while_it_runs() {
    let mut server = Server::start();
    let run = r#"{"control":"run","control_data":{"task":{"task":"echo"}}}"#;
    let quiet = server.ask(run)["ok"]["uuid"].clone();
    // What happens is logged in its order.
    let told = server.ask(&failing("no such user"))["ok"]["uuid"].clone();
    server.line(told.as_str().expect("an id"));
    assert_eq!(server.ask(&command("set_log_level", &json!({ "level": "debug" })))["ok"]["level"], "debug");
    let loud = server.ask(run)["ok"]["uuid"].clone();
    server.line(loud.as_str().expect("an id"));
    assert!(!server.log().contains(quiet.as_str().expect("an id")), "{}", server.log());
}

/// The reply waits for the end of the drain, and the end for the reply.
#[test]
fn a_drain_is_answered_once_it_is_over_and_ends_the_supervisor() {
    let mut server = Server::start();
    let mut connection = server.connect();
    let id = uuid(&connection.ask(r#"{"task":"sleep","kwargs":{"seconds":0.3}}"#));
    connection.ask(r#"{"task":"echo","delay":600}"#);
    server.ask_until(r#"{"control":"running"}"#, |reply| reply["ok"][0]["uuid"] == *id);
    let left = json!({ "delayed": 1, "queued": 0, "blocked": 0, "elsewhere": 0 });
    let reply = connection.ask(r#"{"control":"drain"}"#);
    assert_eq!(reply["ok"], json!({ "drained": true, "left": left }), "{reply}");
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
}

#[test]
fn a_command_of_two_words_can_be_said_on_the_command_line() {
    let server = Server::start();
    let id = uuid(&server.ask(r#"{"task":"echo","delay":600}"#));
    let ask = |words: &[&str]| run(&[&["--socket", server.socket.as_str(), "--ctl"], words].concat());
    let shown = ask(&["task", "show", &json!({ "uuid": id }).to_string()]);
    assert!(shown.code == Some(0) && shown.stdout.contains("\"delayed\""), "{shown:#?}");
    let unknown = ask(&["task", "hide"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("not \"task_hide\""), "{unknown:#?}");
    let no_json = ask(&["cancel", &id]);
    assert!(no_json.code == Some(1) && no_json.stderr.contains("are not JSON"), "{no_json:#?}");
}

/// As of `--ctl trash list | head`.
#[test]
fn a_result_that_nobody_reads_is_no_fault() {
    let server = Server::start();
    let with_output = |output: Stdio| {
        let mut command = supervisor(&["--socket", &server.socket, "--ctl", "status"]);
        Run::of(&command.stdout(output).stderr(Stdio::piped()).output().expect("it starts"))
    };
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let unread = with_output(writer.into());
    assert!(unread.code == Some(0) && unread.stderr.is_empty(), "{unread:#?}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let lost = with_output(full.into());
    assert!(lost.code == Some(71) && lost.stderr.contains("standard output"), "{lost:#?}");
}

#[test]
fn what_became_of_a_task_that_was_taken_in_and_not_run_is_not_called_a_refusal_alone() {
    let server = Server::start();
    let mut waiting = server.connect();
    let task = json!({ "task": "echo", "delay": 600, "uuid": "01900000-0000-7000-8000-000000000001" });
    waiting.send(&command("run", &json!({ "task": task })));
    server.ask_until(r#"{"control":"status"}"#, |reply| reply["ok"]["tasks"]["delayed"] == 1);
    server.ask(r#"{"control":"drain"}"#);
    let reply = waiting.reply().expect("the connection stays");
    let said = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("000000000001 was taken in, and how it ends is not known"), "{reply}");
}

/// Fails at once.
fn failing(message: &str) -> String {
    let task = json!({ "task": "fail", "kwargs": { "message": message } });
    command("run", &json!({ "task": task }))
}

#[test]
fn the_trash_is_listed_page_by_page_shown_emptied_and_tried_again() {
    let server = Server::start();
    let mut connection = server.connect();
    let ids: Vec<_> = ["a", "b", "c"].map(|message| uuid(&connection.ask(&failing(message)))).into();
    let mut page = |after: &Value| {
        let mut data = json!({ "limit": 2, "task": "fail" });
        if !after.is_null() {
            data["after"] = after.clone();
        }
        connection.ask(&command("trash_list", &data))["ok"].take()
    };
    let first = page(&Value::Null);
    let second = page(&first["more"]);
    let all =
        [&first["tasks"], &second["tasks"]].map(|tasks| tasks.as_array().expect("a list").clone()).concat();
    assert_eq!(all.iter().map(|task| &task["uuid"]).collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>());
    assert_eq!(second["more"], Value::Null, "there is no third page: {second}");
    let mut connection = server.connect();
    let shown = connection.ask(&command("trash_show", &json!({ "uuid": ids[1] })));
    let reason = shown["ok"]["end"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("fail: b"), "{shown}");
    let filter = json!({ "uuid": ids[1] });
    assert_eq!(connection.ask(&command("trash_requeue", &filter))["ok"], json!({ "requeued": 1 }));
    let again = server.ask_until(&command("task_show", &filter), |reply| reply["ok"]["state"] == "ended");
    assert_eq!((&again["ok"]["epoch"], &again["ok"]["attempts"]), (&json!(2), &json!(1)), "{again}");
    assert_eq!(
        connection.ask(&command("trash_purge", &json!({ "all": true })))["ok"],
        json!({ "purged": 3 })
    );
    let gone = connection.ask(&command("trash_show", &filter));
    assert!(gone["error"]["message"].as_str().is_some_and(|why| why.contains("not in the trash")), "{gone}");
    let empty = connection.ask(&command("trash_list", &json!({})));
    assert_eq!(empty["ok"], json!({ "tasks": [], "more": null }));
}

/// One whose next tick is always near, and one that comes once a year.
const SCHEDULES: &str = r##"
    [pools.all]
    patterns = ["#"]
    [[schedules]]
    name = "again and again"
    task = "echo"
    every = 0.05
    [[schedules]]
    name = "on new year's eve"
    task = "count_words"
    kwargs = { path = "Cargo.toml" }
    cron = "0 0 31 12 *"
"##;

#[test]
fn a_schedule_can_be_paused_and_run_out_of_turn() {
    let server = Server::with_config(SCHEDULES);
    let (often, yearly) = (json!({ "name": "again and again" }), json!({ "name": "on new year's eve" }));
    let schedules = r#"{"control":"schedules"}"#;
    let both = server.ask_until(schedules, |reply| reply["ok"].as_array().is_some_and(|all| all.len() == 2));
    let next = both["ok"][1]["next"].as_str().expect("it comes");
    assert!(next.ends_with("-12-31T00:00:00Z") && both["ok"][1]["here"] == true, "{both}");
    let paused = server.ask(&command("schedule_pause", &often));
    assert_eq!((&paused["ok"]["paused"], &paused["ok"]["next"]), (&json!(true), &Value::Null), "{paused}");
    let done = |reply: &Value| reply["ok"][0]["done"].clone();
    let before = server.ask(schedules);
    let run = server.ask(&command("schedule_run", &yearly));
    let show = command("task_show", &json!({ "uuid": uuid(&run) }));
    server.ask_until(&show, |reply| reply["ok"]["end"]["outcome"] == "succeeded");
    let after = server.ask(schedules);
    assert_eq!(done(&before), done(&after), "it pauses");
    assert_eq!(after["ok"][1], both["ok"][1], "the plan is as it was");
    assert_eq!(server.ask(&command("schedule_resume", &often))["ok"]["paused"], false);
    server.ask_until(schedules, |reply| done(reply) != done(&after));
    for (name, words) in [("schedule_run", "has no schedule"), ("schedule_pause", "there is no schedule")] {
        let refused = server.ask(&command(name, &json!({ "name": "never" })));
        assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains(words)), "{refused}");
    }
}

#[test]
fn a_board_of_one_has_no_owners() {
    assert_eq!(Server::start().ask(r#"{"control":"owners"}"#)["ok"], json!([]));
}

#[test]
fn a_delayed_task_can_be_moved_to_now() {
    let server = Server::start();
    let id = uuid(&server.ask(r#"{"task":"echo","delay":600}"#));
    let moved = server.ask(&command("reschedule", &json!({ "uuid": id, "delay": 0 })));
    assert_eq!(moved["ok"], json!({ "uuid": id, "result": "done" }), "{moved}");
    let show = command("task_show", &json!({ "uuid": id }));
    server.ask_until(&show, |reply| reply["ok"]["end"]["outcome"] == "succeeded");
}

/// One worker.
const ONE: &str = r##"
    [pools.one]
    patterns = ["#"]
    max = 1
"##;

#[test]
fn a_pool_that_is_scaled_up_runs_more_at_once_and_scaled_down_less() {
    let server = Server::with_config(ONE);
    let mut connection = server.connect();
    for _ in 0..2 {
        connection.ask(r#"{"task":"sleep","kwargs":{"seconds":600}}"#);
    }
    let status = r#"{"control":"status"}"#;
    let running =
        |reply: &Value| (reply["ok"]["tasks"]["running"].clone(), reply["ok"]["tasks"]["queued"].clone());
    server.ask_until(status, |reply| running(reply) == (json!(1), json!(1)));
    let size = json!({ "pool": "one", "min": 2, "max": 2 });
    assert_eq!(connection.ask(&command("scale", &size))["ok"], size);
    server.ask_until(status, |reply| running(reply) == (json!(2), json!(0)));
    let size = json!({ "pool": "one", "min": 0, "max": 1 });
    assert_eq!(connection.ask(&command("scale", &size))["ok"], size);
    connection.ask(&command("cancel", &json!({ "all": true })));
    server.ask_until(status, |reply| reply["ok"]["pools"]["one"]["workers"].as_u64() <= Some(1));
}
