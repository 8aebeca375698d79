//! Control commands that change what the supervisor does.

use serde_json::{Value, json};

use crate::harness::{Server, run, uuid};

fn command(name: &str, data: &Value) -> String {
    json!({ "control": name, "control_data": data }).to_string()
}

#[test]
fn the_log_level_can_be_set_while_it_runs() {
    let mut server = Server::start();
    let run = r#"{"control":"run","control_data":{"task":{"task":"echo"}}}"#;
    let quiet = server.ask(run)["ok"]["uuid"].clone();
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
    assert_eq!(connection.ask(r#"{"control":"drain"}"#)["ok"], json!({ "drained": true, "left": 1 }));
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
