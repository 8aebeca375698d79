//! One connection: reads lines, submits what is there at once together, and answers each line in order. A bad line costs an
//! error reply and never the connection.

use std::sync::Arc;

use futures::StreamExt as _;
use serde_json::json;
use taskyard_core::conductor::Accepted;
use taskyard_core::task::Task;
use taskyard_core::wire::Rejected;
use tokio::io::{AsyncWriteExt as _, BufWriter};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

use super::super::intake::{Intake, Message, TaskAnswer};
use super::super::lines::{Line, LineError, lines};
use crate::control::execute::Executor;
use crate::control::{ControlCommand, Reply};

/// How many lines are submitted together.
const BATCH: usize = 1_000;

/// Serves a connection until its end.
pub(super) async fn serve(stream: UnixStream, intake: Intake, executor: Arc<Executor>) {
    let (read, write) = stream.into_split();
    let mut batches = lines(read).ready_chunks(BATCH);
    let mut talk = Talk { intake, executor, write: BufWriter::new(write), waiting: Vec::new() };
    while let Some(batch) = batches.next().await {
        for line in batch {
            // The client is gone.
            let Ok(line) = line else { return };
            if talk.hear(line).await.is_err() {
                return;
            }
        }
        if talk.flush().await.is_err() {
            return;
        }
    }
}

/// There are too many connections. What can't be written at once is not worth waiting for.
pub(super) fn turn_away(stream: &UnixStream) {
    let mut text = serde_json::to_string(&Reply::failed("too many connections")).unwrap_or_default();
    text.push('\n');
    drop(stream.try_write(text.as_bytes()));
}

struct Talk {
    intake: Intake,
    executor: Arc<Executor>,
    write: BufWriter<OwnedWriteHalf>,
    /// Tasks whose submission waits for the lines after them.
    waiting: Vec<Arc<Task>>,
}

impl Talk {
    async fn hear(&mut self, line: Result<Line, LineError>) -> std::io::Result<()> {
        let message = match line {
            Ok(line) => self.intake.read(&line.text),
            Err(error) => {
                self.intake.refuse();
                Err(Rejected::message(error.to_string()))
            }
        };
        if let Ok(Message::Task(task)) = message {
            self.waiting.push(task);
            return Ok(());
        }
        // Replies keep the order of the lines, and a command sees what was said before it.
        self.submit().await?;
        match message {
            Ok(Message::Control(control)) => self.obey(control.command).await,
            Ok(_) => self.reply(&Reply::Ok(json!({ "complete": false }))).await,
            Err(rejected) => self.reply(&Reply::Error(rejected)).await,
        }
    }

    async fn obey(&mut self, command: ControlCommand) -> std::io::Result<()> {
        // A command may take long: what is answered already must not wait for it.
        self.write.flush().await?;
        let ends = command == ControlCommand::Shutdown;
        let _replying = self.executor.replying();
        let reply = self.executor.execute(command).await;
        let sent = self.reply(&reply).await.and(self.write.flush().await);
        if ends {
            self.executor.shut_down();
        }
        sent
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        self.submit().await?;
        self.write.flush().await
    }

    async fn submit(&mut self) -> std::io::Result<()> {
        let tasks = std::mem::take(&mut self.waiting);
        for answer in self.intake.post(tasks).await {
            self.reply(&reply_to_task(answer)).await?;
        }
        Ok(())
    }

    async fn reply(&mut self, reply: &Reply) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(reply)?;
        text.push(b'\n');
        self.write.write_all(&text).await
    }
}

fn reply_to_task(answer: TaskAnswer) -> Reply {
    match answer {
        Ok(Accepted { id, known: None }) => Reply::Ok(json!({ "uuid": id })),
        Ok(Accepted { id, known: Some(state) }) => Reply::Ok(json!({ "uuid": id, "known": state })),
        Err(error) => Reply::failed(error.why.to_string()),
    }
}
