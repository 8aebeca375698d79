//! The ways to end a yard, and to wait for its end. The Conductor drains; nothing is decided here.

use std::time::Duration;

use taskyard_actors::guardian::Closed;
use taskyard_core::TaskId;
use taskyard_core::conductor::{Answer, Event};
use taskyard_core::store::Counts;

use super::Yard;
use crate::errors::AskError;

/// What a drain left on the board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// What is lost with a board in memory.
    pub lost: Vec<TaskId>,
    /// How many there are; `None`: the store could not be asked any more.
    pub counts: Option<Counts>,
}

impl Yard {
    /// Takes nothing new, lets what runs finish within the pools' `drain_grace`, gives back the rest, and ends the yard.
    /// Returns the tasks that are lost with a memory board; a board that outlives the yard keeps them for the next one. The
    /// future can be dropped: the drain goes on.
    pub async fn drain(&self) -> Result<Vec<TaskId>, AskError> {
        Ok(self.drain_and_count().await?.lost)
    }

    /// The same; says also how many tasks a board that outlives the yard keeps.
    pub async fn drain_and_count(&self) -> Result<Remains, AskError> {
        match self.ask(|reply| Event::Drain { reply }).await? {
            Answer::Drained { left, counts } => Ok(Remains { lost: left, counts }),
            _ => Err(AskError::Confused),
        }
    }

    /// A drain that is under way does not wait for what runs any more.
    pub fn force(&self) {
        self.0.conductor.put([Event::Force]);
    }

    /// Begins a [drain](Self::drain) and returns at once; what runs has `grace` to finish, or the `drain_grace` of its pool
    /// if that is shorter, and is given back then. Can be called again, from anywhere, also from within a running task: the
    /// shortest grace holds.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn example(yard: &taskyard::Yard) {
    /// yard.stop(Duration::from_secs(5));
    /// if !yard.wait(Duration::from_secs(10)).await {
    ///     eprintln!("it takes longer: {:?}", yard.running());
    /// }
    /// # }
    /// ```
    pub fn stop(&self, grace: Duration) {
        // Nobody waits for the answer, but it must come: the desk ends the yard with it.
        if let Ok((reply, _)) = self.0.desk.await_one() {
            self.0.conductor.put([Event::Stop { grace, reply }]);
        }
    }

    /// Waits at most so long for the end of a drain, whoever began it. `true`: all is settled, and the yard has let go of
    /// everything. Needs a tokio runtime around, for the time.
    pub async fn wait(&self, timeout: Duration) -> bool {
        tokio::time::timeout(timeout, self.closed()).await == Ok(Closed::Drained)
    }

    /// Resolves once the yard has ended and its threads have let go of everything, the store included; says why.
    pub async fn closed(&self) -> Closed {
        self.0.guardian.closed().await
    }
}
