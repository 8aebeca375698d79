//! What a cancel does to a dispatch that a worker has: each cancel is answered once, by an end, `Told` or `Missed`.

use super::{Effect, Pool};
use crate::dispatch::{Cancel, Reason};
use crate::time::Now;
use crate::worker::CancelReason;

impl Pool {
    /// From the Queuer, which handed the dispatch to this pool.
    pub(super) fn cancel(&mut self, now: Now, cancel: Cancel, effects: &mut Vec<Effect>) {
        let Some(cancel) = self.cancel_suspect(now, cancel, effects) else { return };
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
        if held.cancel.as_ref().is_none_or(|before| outweighs(cancel.reason, before.reason)) {
            held.cancel = Some(cancel);
        }
        self.recall(id, effects);
    }

    /// The dispatch runs, as far as anybody can know.
    pub(super) fn cancel_running(&mut self, now: Now, cancel: Cancel, effects: &mut Vec<Effect>) {
        let (id, reason) = (cancel.id(), cancel.reason);
        effects.push(Effect::Told(cancel));
        if let Some(why) = told(reason) {
            self.tell_to_end(now, id, why, effects);
        }
        if reason == Reason::Disowned {
            self.hurry(now, id);
        }
    }
}

/// What a running task is told; `None`: nothing, it goes on. One that is another yard's now runs there again, which to its
/// handler is what a shutdown is: nobody called it off.
fn told(reason: Reason) -> Option<CancelReason> {
    match reason {
        Reason::User => Some(CancelReason::User),
        Reason::Disowned => Some(CancelReason::Shutdown),
        Reason::Expired | Reason::Reschedule(_) | Reason::Park => None,
    }
}

/// Whether a wish replaces an earlier one for what was recalled: a person's stands whatever else comes, and what would leave
/// the task running if it starts first never replaces what would not.
fn outweighs(new: Reason, old: Reason) -> bool {
    new == Reason::User || told(old).is_none() && told(new).is_some()
}
