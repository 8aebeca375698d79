//! Somebody's waiting for the ends of tasks. When it is over before the last of them has ended, desk and Conductor learn that
//! nobody waits any more; it decides nothing.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::conductor::Event;
use taskyard_core::id::Token;

use crate::yard::Yard;

/// Waiting, until this is dropped. It keeps the yard up.
pub(crate) struct Watch {
    yard: Yard,
    token: Token,
    ids: Watched,
    over: bool,
}

/// Whose ends are waited for.
pub(crate) enum Watched {
    One(TaskId),
    Many(Arc<[TaskId]>),
}

impl Watch {
    pub(crate) fn new(yard: Yard, token: Token, ids: Watched) -> Self {
        Self { yard, token, ids, over: false }
    }

    pub(crate) fn yard(&self) -> &Yard {
        &self.yard
    }

    /// All have ended: there is nothing to give up.
    pub(crate) fn over(&mut self) {
        self.over = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let reply = self.token;
        match &self.ids {
            Watched::One(id) => self.yard.unwatch(reply, [*id]),
            Watched::Many(ids) => self.yard.unwatch(reply, ids.iter().copied()),
        }
    }
}

impl Yard {
    fn unwatch(&self, reply: Token, ids: impl IntoIterator<Item = TaskId>) {
        if self.0.desk.give_up(reply) {
            self.0.conductor.put(ids.into_iter().map(|id| Event::Unwatch { id, reply }));
        }
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use taskyard_actors::clock::RealClock;
    use taskyard_actors::guardian::Guardian;
    use taskyard_actors::in_flight::InFlight;
    use taskyard_actors::inlet::Inlet;
    use taskyard_actors::post::Edge as _;
    use taskyard_actors::testing::Probe;
    use taskyard_core::conductor::{Accepted, Answer, Conductor};
    use taskyard_core::dispatch::Outcome;
    use taskyard_core::live::LiveIndex;

    use super::*;
    use crate::desk::Desk;
    use crate::registry::Registry;
    use crate::task_handle::{BatchHandle, TaskHandle};
    use crate::yard::Inner;

    /// A yard with nothing but its desk; and what its Conductor is told.
    fn yard() -> (Yard, Probe<Conductor>) {
        let (probe, guardian) = (Probe::start(), Guardian::default());
        let inner = Inner {
            conductor: Inlet::new(probe.recipient(), InFlight::default()),
            desk: Arc::new(Desk::new(guardian.clone())),
            guardian,
            live: Arc::new(LiveIndex::default()),
            health: None,
            clock: Arc::new(RealClock::start()),
            pools: Vec::new(),
            registry: Registry::default(),
        };
        (Yard::new(inner), probe)
    }

    /// Of a task that was taken in.
    fn handle(yard: &Yard, id: TaskId) -> (TaskHandle, Token) {
        let (token, outcome) = yard.0.desk.await_one().expect("up");
        let watch = Watch::new(yard.clone(), token, Watched::One(id));
        (TaskHandle::new(watch, Accepted { id, known: None }, outcome), token)
    }

    #[actix::test]
    async fn a_handle_that_is_dropped_waits_for_nothing_any_more() {
        let (yard, mut conductor) = yard();
        let (dropped, token) = handle(&yard, TaskId(7));
        drop(dropped);
        conductor
            .expect(|event| matches!(event, Event::Unwatch { id: TaskId(7), reply } if *reply == token))
            .await;
    }

    #[actix::test]
    async fn a_batch_that_is_dropped_gives_up_each_of_its_tasks() {
        let (yard, mut conductor) = yard();
        let (token, ended) = yard.0.desk.await_ends(2).expect("up");
        let ids: Arc<[TaskId]> = Arc::new([TaskId(1), TaskId(2)]);
        let watch = Watch::new(yard.clone(), token, Watched::Many(Arc::clone(&ids)));
        drop(BatchHandle::new(watch, ids, ended));
        for number in 1..=2 {
            conductor.expect(|event| matches!(event, Event::Unwatch { id, .. } if id.0 == number)).await;
        }
    }

    #[actix::test]
    async fn what_has_ended_is_not_given_up() {
        let (yard, mut conductor) = yard();
        let (ended, token) = handle(&yard, TaskId(7));
        yard.0.desk.answer(vec![(token, Answer::Outcome(TaskId(7), Outcome::Cancelled))]);
        drop(ended);
        let (mut ended, token) = handle(&yard, TaskId(8));
        yard.0.desk.answer(vec![(token, Answer::Outcome(TaskId(8), Outcome::Cancelled))]);
        assert_eq!(ended.outcome().await, Ok(Outcome::Cancelled));
        drop(ended);
        yard.force();
        conductor.expect(|event| matches!(event, Event::Force)).await;
    }
}
