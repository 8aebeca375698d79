//! What is said on the socket: tasks, control commands, and nonsense.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{Server, run, uuid};

/// One worker for everything; the board holds few.
const NARROW: &str = r##"
    [yard]
    board_max = 2
    [pools.all]
    patterns = ["#"]
    max = 1
"##;

/// P4: each bad value is refused by its field's name, counted, and costs nothing else.
#[test]
fn a_bad_field_is_named_and_the_connection_stays() {
    let server = Server::start();
    let mut connection = server.connect();
    let mut bad = 0;
    for field in ["delay", "timeout", "priority", "eta"] {
        for value in ["\"abc\"", "null", "-1", "1e308", "{}"] {
            let reply = connection.ask(&format!(r#"{{"task":"echo","{field}":{value}}}"#));
            assert_eq!(reply["error"]["field"], field, "{value}: {reply}");
            bad += 1;
        }
        let reply = connection.ask(&format!(r#"{{"task":"echo","{field}":NaN}}"#));
        assert!(reply["error"]["message"].is_string(), "{reply}");
        bad += 1;
    }
    let good = connection.ask(r#"{"control":"run","control_data":{"task":{"task":"echo","args":["good"]}}}"#);
    assert_eq!(
        (&good["ok"]["outcome"], &good["ok"]["value"]),
        (&json!("succeeded"), &json!("good")),
        "{good}"
    );
    let producers = connection.ask(r#"{"control":"producers"}"#);
    assert_eq!(producers["ok"][0]["rejected"], bad, "{producers}");
    assert_eq!(producers["ok"][0]["last_error"], Value::Null, "no restart");
}

/// P5.
#[test]
fn a_bad_command_gets_an_error_reply_and_the_next_one_is_answered() {
    let server = Server::start();
    let mut connection = server.connect();
    for bad in [
        r#"{"control":"logging"}"#.to_owned(),
        r#"{"control":7}"#.to_owned(),
        r#"{"control":"running","control_data":[]}"#.to_owned(),
        format!(r#"{{"control":"alive","reply_to":"{}"}}"#, "r".repeat(200)),
        "nonsense".to_owned(),
        r#"{"control":"alive","task":"echo"}"#.to_owned(),
    ] {
        let reply = connection.ask(&bad);
        assert!(reply["error"]["message"].is_string(), "{bad}: {reply}");
    }
    let alive = connection.ask(r#"{"control":"alive"}"#);
    assert_eq!(alive["ok"]["pid"], server.pid().as_raw_nonzero().get(), "{alive}");
}

/// P13: the longest message passes; one more byte costs an error reply and not the connection.
#[test]
fn a_line_may_have_a_mebibyte_and_no_more() {
    let server = Server::start();
    let mut connection = server.connect();
    let line = |bytes: usize| {
        let empty = r#"{"task":"echo","args":[""]}"#.len();
        format!(r#"{{"task":"echo","args":["{}"]}}"#, "x".repeat(bytes - empty))
    };
    let longest = connection.ask(&line(1 << 20));
    uuid(&longest);
    let too_long = connection.ask(&line((1 << 20) + 1));
    assert!(too_long["error"]["message"].as_str().is_some_and(|why| why.contains("1048576")), "{too_long}");
    assert!(connection.ask(r#"{"control":"alive"}"#)["ok"].is_object());
}

/// D15: on a board on disk. A body of no bytes is one.
#[test]
fn of_what_cannot_be_read_nothing_is_stored_and_the_connection_stays() {
    let server = Server::on_disk();
    let mut connection = server.connect();
    let around = |inside: &[u8]| [br#"{"task":"echo","delay":600,"args":[""#, inside, br#""]}"#].concat();
    let too_long = "x".repeat(1 << 20);
    for (bad, says) in
        [(&b"\xff\xfe"[..], "not UTF-8"), (b"half \xf0\x9f", "not UTF-8"), (too_long.as_bytes(), "1048576")]
    {
        connection.send_bytes(&around(bad));
        let reply = connection.reply().expect("the connection stays");
        assert!(reply["error"]["message"].as_str().is_some_and(|why| why.contains(says)), "{reply}");
    }
    let tasks = connection.ask(r#"{"control":"status"}"#)["ok"]["tasks"].clone();
    assert!(tasks.as_object().is_some_and(|tasks| tasks.values().all(|count| *count == 0)), "{tasks}");
    let empty = uuid(&connection.ask(r#"{"task":"echo","delay":600}"#));
    let all = connection.ask(r#"{"control":"cancel","control_data":{"all":true}}"#);
    assert_eq!(all["ok"], json!([{ "uuid": empty, "result": "cancelled" }]), "no other one is there");
}

/// P28.
#[test]
fn a_cancel_without_a_filter_is_refused_and_cancels_nothing() {
    let server = Server::start();
    let mut connection = server.connect();
    let id = uuid(&connection.ask(r#"{"task":"echo","delay":600}"#));
    for data in ["", r#","control_data":{}"#, r#","control_data":{"all":false}"#] {
        let reply = connection.ask(&format!(r#"{{"control":"cancel"{data}}}"#));
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("all: true"), "{reply}");
    }
    let show = format!(r#"{{"control":"task_show","control_data":{{"uuid":"{id}"}}}}"#);
    assert_eq!(connection.ask(&show)["ok"]["state"], "delayed");
    let all = connection.ask(r#"{"control":"cancel","control_data":{"all":true}}"#);
    assert_eq!(all["ok"], json!([{ "uuid": id, "result": "cancelled" }]));
    assert_eq!(connection.ask(&show)["ok"]["end"]["outcome"], "cancelled");
}

/// P29: what a command started goes with it, at once if it heeds SIGTERM.
#[test]
fn a_cancel_ends_a_command_and_all_that_it_started() {
    let server = Server::start();
    let mut connection = server.connect();
    let task = json!({ "task": "command", "kwargs": { "program": "sh", "arguments": ["-c", "sleep 600 & sleep 600; true"] } });
    let id = uuid(&connection.ask(&task.to_string()));
    let running = r#"{"control":"running"}"#;
    server.ask_until(running, |reply| reply["ok"][0]["uuid"] == *id);
    // Two workers that wait, the shell and its two children.
    server.ask_until(r#"{"control":"alive"}"#, |_| server.descendants().len() == 5);
    let below = server.descendants();
    let cancel = connection.ask(&format!(r#"{{"control":"cancel","control_data":{{"uuid":"{id}"}}}}"#));
    assert_eq!(cancel["ok"][0]["result"], "running", "{cancel}");
    let show = format!(r#"{{"control":"task_show","control_data":{{"uuid":"{id}"}}}}"#);
    let ended = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!(ended["ok"]["end"]["outcome"], "cancelled", "{ended}");
    let left: Vec<_> = server.descendants().into_iter().filter(|pid| below.contains(pid)).collect();
    assert!(left.len() <= 1, "only the other pool's worker is still there: {left:?}");
}

/// P17.
#[test]
fn a_call_that_nobody_answers_says_so() {
    let scratch = crate::harness::Scratch::new();
    let socket = scratch.path("nobody.sock");
    let absent = run(&["--socket", &socket, "--ctl", "status"]);
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let closes = std::thread::spawn(move || drop(listener.accept()));
    let silent = run(&["--socket", &socket, "--ctl", "status"]);
    closes.join().expect("closed");
    for run in [absent, silent] {
        assert_eq!(run.code, Some(69), "{run:#?}");
        assert!(run.stderr.contains("no reply") && run.stdout.is_empty(), "{run:#?}");
    }
}

#[test]
fn a_command_line_call_prints_the_reply_and_fails_with_its_task() {
    let server = Server::start();
    let ask = |words: &[&str]| run(&[&["--socket", server.socket.as_str(), "--ctl"], words].concat());
    let status = ask(&["status"]);
    let shown: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!((status.code, &shown["pools"]["files"]["max"]), (Some(0), &json!(4)), "{status:#?}");
    let failed = ask(&["run", r#"{"task":{"task":"fail","kwargs":{"message":"no"}}}"#]);
    assert!(failed.code == Some(1) && failed.stdout.contains("\"failed\""), "{failed:#?}");
    let refused = ask(&["scale", r#"{"pool":"nobody","min":1,"max":1}"#]);
    assert!(refused.code == Some(1) && refused.stderr.contains("no pool \"nobody\""), "{refused:#?}");
}

#[test]
fn a_full_board_holds_a_producer_up_and_loses_nothing() {
    let server = Server::with_config(NARROW);
    let mut connection = server.connect();
    connection.ask(r#"{"control":"pause","control_data":{"pool":"all"}}"#);
    for _ in 0..4 {
        connection.send(r#"{"task":"echo"}"#);
    }
    let producers = r#"{"control":"producers"}"#;
    server.ask_until(producers, |reply| reply["ok"][0]["state"] == "full");
    server.ask(r#"{"control":"resume","control_data":{"pool":"all"}}"#);
    for _ in 0..4 {
        uuid(&connection.reply().expect("answered once there was room"));
    }
    server.ask_until(r#"{"control":"status"}"#, |reply| reply["ok"]["ended"]["succeeded"] == 4);
    server.ask_until(producers, |reply| reply["ok"][0]["state"] == "running");
}

/// P14.
#[test]
fn a_message_in_chunks_is_put_together() {
    let server = Server::start();
    let mut connection = server.connect();
    let (first, second) = (r#"{"control":"ru"#, r#"n","control_data":{"task":{"task":"echo","args":[7]}}}"#);
    let chunk = |index: usize, payload: &str| json!({ "__dispatcherd_chunk__": "v1", "message_id": "m", "index": index, "total": 2, "payload": payload });
    assert_eq!(connection.ask(&chunk(1, second).to_string())["ok"], json!({ "complete": false }));
    assert_eq!(connection.ask(&chunk(0, first).to_string())["ok"]["value"], 7);
    let beyond = connection.ask(&chunk(2, "").to_string());
    assert_eq!(beyond["error"]["field"], "index", "{beyond}");
}

#[test]
fn a_task_that_is_sent_twice_is_kept_once() {
    let server = Server::start();
    let mut connection = server.connect();
    let task = r#"{"uuid":"01970000-0000-7000-8000-000000000001","task":"echo","delay":600}"#;
    assert_eq!(connection.ask(task)["ok"]["known"], Value::Null);
    assert_eq!(connection.ask(task)["ok"]["known"], "parked");
}

#[test]
fn schedules_and_the_tasks_of_the_start_run() {
    let server = Server::with_config(
        r##"
        [pools.all]
        patterns = ["#"]
        [[schedules]]
        name = "again and again"
        task = "echo"
        every = 0.05
        [[on_start]]
        task = "count_words"
        kwargs = { path = "Cargo.toml" }
        "##,
    );
    server
        .ask_until(r#"{"control":"status"}"#, |reply| reply["ok"]["ended"]["succeeded"].as_u64() >= Some(4));
    let producers = server.ask(r#"{"control":"producers"}"#);
    let seen = |kind: &str, state: &str| {
        let all = producers["ok"].as_array().expect("a list");
        all.iter().any(|one| one["kind"] == kind && one["state"] == state)
    };
    assert!(
        seen("socket", "running") && seen("schedule", "running") && seen("on_start", "done"),
        "{producers}"
    );
}

#[test]
fn only_the_owner_may_speak_to_the_socket() {
    let server = Server::start();
    let mode = std::fs::metadata(&server.socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Arguments may hold secrets.
#[test]
fn arguments_are_shown_nowhere() {
    let mut server = Server::start();
    let task = json!({ "task": "command", "kwargs": {
        "program": "sleep", "arguments": ["600"], "environment": { "PASSWORD": "hunter2" },
    } });
    let id = uuid(&server.ask(&task.to_string()));
    let running = server.ask_until(r#"{"control":"running"}"#, |reply| reply["ok"][0]["uuid"] == *id);
    let shown = server.ask(&format!(r#"{{"control":"task_show","control_data":{{"uuid":"{id}"}}}}"#));
    server.ask(r#"{"control":"cancel","control_data":{"all":true}}"#);
    server.ask(r#"{"control":"shutdown"}"#);
    server.end();
    assert!(shown["ok"]["worker"].is_string(), "{shown}");
    assert!(!format!("{running}{shown}{}", server.log()).contains("hunter2"));
}
