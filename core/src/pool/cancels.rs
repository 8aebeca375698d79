//! What a cancel does to a dispatch that a worker has: each cancel is answered once, by an end, `Told` or `Missed`.

use super::{Effect, Pool};
use crate::dispatch::{Cancel, Reason};
use crate::time::Now;
use crate::worker::CancelReason;

impl Pool {
    /// From the Queuer, which handed the dispatch to this pool.
    pub(super) fn cancel(&mut self, now: Now, cancel: Cancel, effects: &mut Vec<Effect>) {
        let id = cancel.id();
        let Some(held) = self.held.get_mut(&id).filter(|held| held.dispatch.name() == cancel.name()) else {
            effects.push(Effect::Missed(cancel));
            return;
        };
        let worker = self.crew.get(held.worker);
        let waits = held.started.is_none()
            && (held.recalled || worker.is_some_and(|worker| worker.is_ahead(held.order)));
        if !waits {
            return self.cancel_running(now, cancel, effects);
        }
        // The wish of a person stands, whatever else comes.
        if held.cancel.is_none() || cancel.reason == Reason::User {
            held.cancel = Some(cancel);
        }
        self.recall(id, effects);
    }

    /// The dispatch runs, as far as anybody can know.
    pub(super) fn cancel_running(&mut self, now: Now, cancel: Cancel, effects: &mut Vec<Effect>) {
        let (id, reason) = (cancel.id(), cancel.reason);
        effects.push(Effect::Told(cancel));
        if reason == Reason::User {
            self.tell_to_end(now, id, CancelReason::User, effects);
        }
    }
}
