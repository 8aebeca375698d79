//! What running tasks ask their yard for, by name: to submit, and the control commands that are theirs to give. It only
//! translates.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::{Value, json};
use taskyard_core::TaskId;
use tokio::sync::SetOnce;

use crate::context::Calls;
use crate::control::{ControlCommand, parse_control};
use crate::submit::read_task;
use crate::yard::{WeakYard, Yard};

/// Answers the calls of a yard's own workers. It does not keep the yard up.
#[derive(Clone, Default)]
pub(crate) struct YardCalls(Arc<SetOnce<WeakYard>>);

impl YardCalls {
    /// The yard has started: calls that came before are answered now.
    pub(crate) fn open(&self, yard: &Yard) {
        // Opened once, by whoever started the yard.
        drop(self.0.set(yard.downgrade()));
    }
}

impl Calls for YardCalls {
    fn call(&self, _: TaskId, command: String, data: Value) -> BoxFuture<'static, Result<Value, String>> {
        let yard = Arc::clone(&self.0);
        async move {
            let yard = yard.wait().await.upgrade().ok_or("the yard is down")?;
            match command.as_str() {
                "submit" => submit(&yard, &data).await,
                _ => control(&yard, &command, data).await,
            }
        }
        .boxed()
    }
}

async fn submit(yard: &Yard, task: &Value) -> Result<Value, String> {
    let task = read_task(yard.registry(), &task.to_string()).map_err(text)?;
    let mut answers = yard.post_tasks_from_inside(vec![Arc::new(task)]).await;
    let answer = answers.pop().ok_or("the yard gave no answer")?;
    answer.map(|accepted| accepted.id.to_string().into()).map_err(|refused| refused.why.to_string())
}

async fn control(yard: &Yard, command: &str, data: Value) -> Result<Value, String> {
    let mut message = json!({ "control": command });
    if !data.is_null() {
        message["control_data"] = data;
    }
    match parse_control(&message.to_string()).map_err(text)?.command {
        ControlCommand::Alive => Ok(true.into()),
        ControlCommand::Cancel(filter) => {
            let answers = yard.cancel(filter).await.map_err(text)?;
            Ok(answers.into_iter().map(|(id, answer)| (id.to_string(), json!(answer))).collect())
        }
        ControlCommand::Reschedule { id, due } => {
            yard.reschedule(id, due).await.map(|result| json!(result)).map_err(text)
        }
        ControlCommand::Pause { pool } => done(yard.pause(&pool, true)),
        ControlCommand::Resume { pool } => done(yard.pause(&pool, false)),
        ControlCommand::Scale { pool, min, max } => done(yard.scale(&pool, min, max)),
        _ => Err(format!("a running task can't give the command {command:?}")),
    }
}

fn done(result: Result<(), impl std::fmt::Display>) -> Result<Value, String> {
    result.map(|()| Value::Null).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
