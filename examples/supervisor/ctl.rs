//! Asks a running supervisor, and tells a refusal from silence.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::Exit;

/// How long an answer may take; that of `run` takes as long as its task.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a command with its parameters and prints the reply.
pub(crate) async fn ask(socket: &Path, words: &[String]) -> Exit {
    let mut command = json!({ "control": words[0] });
    if let Some(text) = words.get(1) {
        match serde_json::from_str::<Value>(text) {
            Ok(data) => command["control_data"] = data,
            Err(error) => {
                eprintln!("supervisor: the parameters of {:?} are not JSON: {error}", words[0]);
                return Exit::Failed;
            }
        }
    }
    let patience = if words[0] == "run" { Duration::MAX } else { PATIENCE };
    let reply = match tokio::time::timeout(patience, exchange(socket, &command)).await {
        Ok(Ok(line)) => serde_json::from_str::<Value>(&line).map_err(|_| "no reply that makes sense".into()),
        Ok(Err(error)) => Err(format!("no reply ({error})")),
        Err(_) => Err(format!("no reply within {} s", patience.as_secs())),
    };
    match reply {
        Ok(reply) => show(&reply),
        Err(silence) => {
            eprintln!("supervisor: {silence} from {}", socket.display());
            Exit::NoReply
        }
    }
}

async fn exchange(socket: &Path, command: &Value) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(format!("{command}\n").as_bytes()).await?;
    let mut line = String::new();
    match BufReader::new(stream).read_line(&mut line).await? {
        0 => Err(std::io::Error::other("the connection was closed")),
        _ => Ok(line),
    }
}

fn show(reply: &Value) -> Exit {
    if let Some(error) = reply.get("error") {
        let message = error["message"].as_str().unwrap_or_default();
        match error["field"].as_str() {
            Some(field) => eprintln!("supervisor: refused: `{field}`: {message}"),
            None => eprintln!("supervisor: refused: {message}"),
        }
        return Exit::Failed;
    }
    println!("{:#}", reply["ok"]);
    // Of `run`: the command was carried out, but its task did not succeed.
    let outcome = reply["ok"]["outcome"].as_str();
    if outcome.is_some_and(|outcome| outcome != "succeeded") { Exit::Failed } else { Exit::Success }
}
