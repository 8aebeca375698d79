//! Posts the tasks of the configuration's `on_start` list, once per start.

use super::{Intake, Producer, ProducerError};

/// The list.
#[derive(Debug)]
pub struct OnStart(Vec<String>);

impl OnStart {
    /// Tasks, as on the wire, that were checked.
    pub fn new(tasks: Vec<String>) -> Self {
        Self(tasks)
    }
}

impl Producer for OnStart {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        let read: Result<_, _> = self.0.iter().map(|text| intake.read_own(None, text)).collect();
        for error in intake.post(read?).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "a task of the start was not taken");
        }
        Ok(())
    }
}
