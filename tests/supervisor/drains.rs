//! What a drain makes of many tasks that wait on a board on disk.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Scratch, Server, uuid};

const STATUS: &str = r#"{"control":"status"}"#;
const NEAR: usize = 2_000;
const PARKED: usize = 20_000;
/// So many lines are sent before their answers are read.
const LINES: usize = 100;
/// How long running tasks have.
const GRACE: Duration = Duration::from_secs(10);

/// What is due within the hour is near; a lease takes longer than any test.
fn serve(scratch: Scratch) -> Server {
    let config = format!(
        "[store]\nlease = '10m'\n[yard]\nhorizon = '1h'\nnear_max = {}\ndrain_grace = '{}s'\n\
         [pools.work]\npatterns = ['#']\nmax = 2\n",
        NEAR + 1,
        GRACE.as_secs()
    );
    let config = scratch.file("supervisor.toml", &config);
    let store = format!("sqlite:{}", scratch.path("board.db"));
    Server::start_in(scratch, &["--config", &config, "--store", &store])
}

fn post(server: &Server, count: usize, delay: u32) {
    let (mut connection, line) = (server.connect(), json!({ "task": "echo", "delay": delay }).to_string());
    for chunk in vec![line; count].chunks(LINES) {
        connection.send(&chunk.join("\n"));
        for _ in chunk {
            uuid(&connection.reply().expect("the connection stays"));
        }
    }
}

fn shell(script: &str, delay: u32) -> String {
    let kwargs = json!({ "program": "sh", "arguments": ["-c", script] });
    json!({ "task": "command", "kwargs": kwargs, "delay": delay }).to_string()
}

/// How many tasks the one owner of the board holds.
fn held(reply: &Value) -> Option<u64> {
    let [owner] = reply["ok"].as_array()?.as_slice() else { return None };
    owner["held"].as_u64()
}

/// D18: what is near is parked again at once, not at the end of a lease; and nothing that falls due meanwhile starts.
#[test]
fn a_drain_gives_back_thousands_in_time_and_the_next_supervisor_has_them_at_once() {
    let mut server = serve(Scratch::new());
    post(&server, PARKED, 7_200);
    post(&server, NEAR, 1_800);
    let (finished, began) = (server.scratch.path("finished"), server.scratch.path("began"));
    let owners = r#"{"control":"owners"}"#;
    server.ask_until(owners, |reply| held(reply) == Some(NEAR as u64));
    server.ask(&shell(&format!("sleep 3; touch {finished}"), 0));
    server.ask_until(STATUS, |reply| reply["ok"]["tasks"]["running"] == 1);
    let due = uuid(&server.ask(&shell(&format!("touch {began}"), 1)));
    let asked = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
    assert!(asked.elapsed() < GRACE, "it took {:?}", asked.elapsed());
    let exists = |path: &str| std::fs::exists(path).expect("can be seen");
    assert!(exists(&finished) && !exists(&began), "what ran finished, and what fell due did not start");
    let left = format!("drained; {0} tasks stay on the board: {0} delayed", NEAR + PARKED + 1);
    assert!(server.log().contains(&left), "{}", server.log());

    let scratch = std::mem::replace(&mut server.scratch, Scratch::new());
    let mut server = serve(scratch);
    let show = json!({ "control": "task_show", "control_data": { "uuid": due } }).to_string();
    let shown = server.ask_until(&show, |reply| reply["ok"]["state"] == "ended");
    assert_eq!((&shown["ok"]["epoch"], &shown["ok"]["attempts"]), (&json!(2), &json!(0)), "{shown}");
    assert!(exists(&began));
    assert_eq!(server.ask(STATUS)["ok"]["tasks"]["delayed"], NEAR + PARKED);
    server.ask_until(owners, |reply| held(reply) == Some(NEAR as u64));
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
}
