//! What a task's end brings: its callbacks or errbacks, and theirs. They are part of the run, though not of its summary.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use taskyard::core::dispatch::Outcome;
use taskyard::core::id::FollowUp;
use taskyard::core::task::{Extras, Task};
use taskyard::{NoOutcome, Yard};

use crate::patience::patiently;

/// Waits until all that follows a task that has ended has ended too.
pub(crate) fn follow_ups(yard: Yard, task: Arc<Task>) -> BoxFuture<'static, ()> {
    async move {
        let Some(extras) = task.extras.as_deref() else { return };
        let Ok(Some(view)) = patiently(|| yard.get(task.id)).await else { return };
        let Extras { callbacks, errbacks, .. } = extras;
        let (kind, posted) = match view.outcome {
            Some(Outcome::Succeeded(_) | Outcome::ValueGone) => (FollowUp::Callback, callbacks),
            Some(Outcome::Trashed(_)) => (FollowUp::Errback, errbacks),
            _ => return,
        };
        let each = posted.iter().enumerate().map(|(index, child)| {
            let id = task.id.follow_up(kind, view.epoch, index);
            end_of(yard.clone(), Arc::new(Task { id, ..child.clone() }))
        });
        join_all(each).await;
    }
    .boxed()
}

async fn end_of(yard: Yard, task: Arc<Task>) {
    let ended = patiently(|| async {
        match yard.outcome(task.id).await {
            Err(NoOutcome::Ask(why)) => Err(why),
            // One that nobody knows was not taken in, or is long over.
            Ok(_) | Err(NoOutcome::Unknown(_)) => Ok(()),
        }
    });
    if ended.await.is_ok() {
        follow_ups(yard, task).await;
    }
}
