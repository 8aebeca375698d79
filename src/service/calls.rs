//! What the yard does for the handlers that run in it. It submits, and nothing else.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde_json::Value;
use taskyard_core::TaskId;

use crate::context::Calls;
use crate::reading::TaskReader;
use crate::yard::{WeakYard, Yard};

/// Carries out what handlers ask for. The yard is told later: launchers are made before it.
#[derive(Debug, Default)]
pub(super) struct YardCalls {
    /// Weak, as the yard itself holds the launchers that hold this.
    yard: OnceLock<WeakYard>,
    reader: TaskReader,
}

impl YardCalls {
    pub(super) fn new(reader: TaskReader) -> Arc<Self> {
        Arc::new(Self { yard: OnceLock::new(), reader })
    }

    pub(super) fn serve(&self, yard: &Yard) {
        drop(self.yard.set(yard.downgrade()));
    }
}

impl Calls for YardCalls {
    fn call(&self, _: TaskId, command: String, data: Value) -> BoxFuture<'static, Result<Value, String>> {
        let yard = self.yard.get().and_then(WeakYard::upgrade);
        let task = self.reader.read(&data.to_string());
        Box::pin(async move {
            if command != "submit" {
                return Err(format!("{command:?} can't be asked for; what can be is `submit`"));
            }
            let task = task.map_err(|rejected| rejected.to_string())?;
            let yard = yard.ok_or("the yard is not open")?;
            match yard.post_tasks_from_inside(vec![task]).await.pop() {
                Some(Ok(accepted)) => Ok(accepted.id.to_string().into()),
                Some(Err(error)) => Err(error.why.to_string()),
                None => Err("the yard gave no answer".into()),
            }
        })
    }
}
