//! Asks a running supervisor, and tells a refusal from silence.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::{Exit, print};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// These take as long as what they do.
const LONG: [&str; 2] = ["run", "drain"];
/// Their commands have two words.
const FAMILIES: [&str; 3] = ["task", "trash", "schedule"];

/// Sends a command with its parameters and prints the reply.
pub(crate) async fn ask(socket: &Path, words: &[String]) -> Exit {
    let (name, parameters) = split(words);
    let mut command = json!({ "control": name });
    if let [text, more @ ..] = parameters {
        match serde_json::from_str::<Value>(text) {
            Ok(data) if more.is_empty() => command["control_data"] = data,
            Ok(_) => return refuse(&format!("{name:?} has one object of parameters, not more")),
            Err(error) => return refuse(&format!("the parameters of {name:?} are not JSON: {error}")),
        }
    }
    let patience = if LONG.contains(&name.as_str()) { Duration::MAX } else { PATIENCE };
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

/// The command as the socket knows it, and what follows it: `trash list` is `trash_list`.
fn split(words: &[String]) -> (String, &[String]) {
    match words {
        [family, member, rest @ ..] if FAMILIES.contains(&family.as_str()) && !member.starts_with('{') => {
            (format!("{family}_{member}"), rest)
        }
        [name, rest @ ..] => (name.clone(), rest),
        [] => (String::new(), &[]),
    }
}

fn refuse(why: &str) -> Exit {
    eprintln!("supervisor: {why}");
    Exit::Failed
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
    let printed = print(format_args!("{:#}", reply["ok"]));
    // Of `run`: the command was carried out, but its task did not succeed.
    let outcome = reply["ok"]["outcome"].as_str();
    if outcome.is_some_and(|outcome| outcome != "succeeded") { Exit::Failed } else { printed }
}
