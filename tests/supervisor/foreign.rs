//! The worker of the documentation, in another language, under the supervisor.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Connection, Server, uuid};

const CONFIG: &str = r#"
    [pools.py]
    command = ["python3", "examples/worker.py"]
    patterns = ["py.#"]
    max = 2
"#;

/// The server, if this machine has what the worker needs.
fn server() -> Option<Server> {
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    match python {
        Ok(status) if status.success() => Some(Server::with_config(CONFIG)),
        Ok(status) => skip(&format!("python3 ends with {status}")),
        Err(error) => skip(&format!("python3 can't be started: {error}")),
    }
}

fn skip(why: &str) -> Option<Server> {
    println!("skipped: {why}");
    None
}

fn run(connection: &mut Connection, task: &Value) -> Value {
    connection.ask(&json!({ "control": "run", "control_data": { "task": task } }).to_string())["ok"].take()
}

#[test]
fn a_worker_in_python_succeeds_fails_and_asks_for_another_time() {
    let Some(server) = server() else { return };
    let mut connection = server.connect();
    let sum = run(&mut connection, &json!({ "task": "py.add", "args": [1, 2.5] }));
    assert_eq!((&sum["outcome"], &sum["value"]), (&json!("succeeded"), &json!(3.5)), "{sum}");

    let bad = run(&mut connection, &json!({ "task": "py.add", "args": [1, "two"] }));
    assert_eq!(bad["outcome"], "failed", "{bad}");
    assert!(bad["reason"].as_str().unwrap().starts_with("will not be tried again: TypeError: "), "{bad}");

    let file = server.scratch.path("here");
    let posted = connection.ask(&json!({ "task": "py.patient", "kwargs": { "path": file } }).to_string());
    let show = json!({ "control": "task_show", "control_data": { "uuid": uuid(&posted) } }).to_string();
    server.ask_until(&show, |reply| reply["ok"]["state"] == "delayed");
    server.scratch.file("here", "");
    let ended = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!(ended["ok"]["end"]["value"], 1, "it counted as no attempt: {ended}");
}

#[test]
fn a_worker_in_python_hears_a_cancel_and_tells_its_progress() {
    let Some(server) = server() else { return };
    let posted = server.ask(r#"{"task":"py.count","kwargs":{"to":100000}}"#);
    let filter = json!({ "uuid": uuid(&posted) });
    let running = json!({ "control": "running", "control_data": &filter }).to_string();
    server.ask_until(&running, |reply| reply["ok"][0]["progress"]["note"] == "2 of 100000");
    let told = server.ask(&json!({ "control": "cancel", "control_data": &filter }).to_string());
    assert_eq!(told["ok"][0]["result"], "running", "{told}");
    let show = json!({ "control": "task_show", "control_data": &filter }).to_string();
    let ended = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!(ended["ok"]["end"]["outcome"], "cancelled", "{ended}");
    let workers = server.ask(r#"{"control":"workers"}"#);
    assert_eq!(workers["ok"][0]["worker"], "py-1", "it gave in and was not killed: {workers}");
}

#[test]
fn a_worker_in_python_submits() {
    let Some(mut server) = server() else { return };
    let inner = json!({ "task": "py.add", "args": [20, 22] });
    let outer = run(&mut server.connect(), &json!({ "task": "py.submit", "kwargs": inner }));
    let show =
        json!({ "control": "task_show", "control_data": { "uuid": outer["value"].clone() } }).to_string();
    let ended = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!(ended["ok"]["end"]["value"], 42, "{ended}");
    server.ask(r#"{"control":"shutdown"}"#);
    assert!(server.end().success());
}
