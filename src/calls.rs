//! What running tasks ask their yard for, by name: to submit, and the control commands that are theirs to give. It only
//! translates.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::{Value, json};
use taskyard_core::TaskId;
use tokio::sync::SetOnce;

use crate::context::Calls;
use crate::control::execute::Executor;
use crate::control::{ControlCommand, Reply, parse_control};
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
                _ => control(yard, &command, data).await,
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

async fn control(yard: Yard, command: &str, data: Value) -> Result<Value, String> {
    let mut message = json!({ "control": command });
    if !data.is_null() {
        message["control_data"] = data;
    }
    let command = parse_control(&message.to_string()).map_err(text)?.command;
    if !is_for_tasks(&command) {
        return Err("a running task can't give this command".into());
    }
    match Executor::new(yard, Arc::default()).execute(command).await {
        Reply::Ok(value) => Ok(value),
        Reply::Error(rejected) => Err(rejected.to_string()),
    }
}

/// Whether the command is about tasks, workers and pools: the program around the yard is not for its tasks to rule.
fn is_for_tasks(command: &ControlCommand) -> bool {
    match command {
        ControlCommand::Running(_)
        | ControlCommand::Cancel(_)
        | ControlCommand::Workers
        | ControlCommand::TaskShow { .. }
        | ControlCommand::Reschedule { .. }
        | ControlCommand::Pause { .. }
        | ControlCommand::Resume { .. }
        | ControlCommand::Scale { .. } => true,
        ControlCommand::Alive
        | ControlCommand::Status
        | ControlCommand::Producers
        | ControlCommand::Owners
        | ControlCommand::Run(_)
        | ControlCommand::TrashList { .. }
        | ControlCommand::TrashShow { .. }
        | ControlCommand::TrashRequeue(_)
        | ControlCommand::TrashPurge(_)
        | ControlCommand::Schedules
        | ControlCommand::SchedulePause { .. }
        | ControlCommand::ScheduleResume { .. }
        | ControlCommand::ScheduleRun { .. }
        | ControlCommand::SetLogLevel(_)
        | ControlCommand::Drain
        | ControlCommand::Shutdown => false,
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
