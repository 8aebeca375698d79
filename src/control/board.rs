//! Carries out the commands that are about the board as a whole: who shares it, its trash, its schedules.

use std::sync::Arc;

use serde_json::{Value, json};
use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::rfc3339::Rfc3339;
use taskyard_core::store::{Filter, RowState, ScheduleState};
use taskyard_core::time::Timestamp;

use super::execute::{Answer, Executor, failed};
use super::show;
use crate::config::ScheduleSettings;
use crate::submit::read_task;

impl Executor {
    pub(super) async fn owners(&self) -> Answer {
        let owners = self.yard.owners().await.map_err(failed)?;
        Ok(owners.iter().map(show::owner).collect())
    }

    pub(super) async fn trash(&self, filter: Filter, after: u64, limit: usize) -> Answer {
        let (tasks, more) = self.yard.trash(filter, after, limit).await.map_err(failed)?;
        let tasks: Vec<_> = tasks.iter().map(|view| show::task(&self.yard, view)).collect();
        Ok(json!({ "tasks": tasks, "more": more }))
    }

    pub(super) async fn trashed(&self, id: TaskId) -> Answer {
        let view = self.yard.get(id).await.map_err(failed)?;
        let trashed = view.filter(|view| {
            view.state == RowState::Ended && matches!(view.outcome, Some(Outcome::Trashed(_)))
        });
        let view = trashed.ok_or_else(|| failed(format!("task {id} is not in the trash")))?;
        Ok(show::task(&self.yard, &view))
    }

    pub(super) async fn requeue(&self, filter: Filter) -> Answer {
        Ok(json!({ "requeued": self.yard.requeue(filter).await.map_err(failed)? }))
    }

    pub(super) async fn purge(&self, filter: Filter) -> Answer {
        Ok(json!({ "purged": self.yard.purge(filter).await.map_err(failed)? }))
    }

    /// Those that the board knows, then those of this program that it does not know yet.
    pub(super) async fn schedules(&self) -> Answer {
        let known = self.yard.schedules().await.map_err(failed)?;
        let now = self.yard.now().wall;
        let is_new = |own: &&ScheduleSettings| known.iter().all(|state| *state.name != *own.name);
        let new = self.schedules.iter().filter(is_new).map(|own| beginning(own, now));
        let new: Vec<_> = new.collect();
        Ok(known.iter().chain(&new).map(|state| self.show_schedule(state)).collect())
    }

    pub(super) async fn pause_schedule(&self, name: &str, paused: bool) -> Answer {
        let state = self.yard.pause_schedule(name, paused).await.map_err(failed)?;
        let state = state.ok_or_else(|| failed(format!("there is no schedule {name:?}")))?;
        Ok(self.show_schedule(&state))
    }

    /// Posts the task of a schedule under an id of its own: the plan does not notice.
    pub(super) async fn run_schedule(&self, name: &str) -> Answer {
        let own = self.own(name).ok_or_else(|| failed(format!("this program has no schedule {name:?}")))?;
        let task = Arc::new(read_task(self.yard.registry(), &own.task)?);
        let answer = self.yard.post_tasks(vec![task]).await.pop();
        let taken = answer.ok_or_else(|| failed("the yard gave no answer"))?;
        Ok(json!({ "uuid": taken.map_err(|refused| failed(refused.why))?.id }))
    }

    fn own(&self, name: &str) -> Option<&ScheduleSettings> {
        self.schedules.iter().find(|own| own.name == name)
    }

    fn show_schedule(&self, state: &ScheduleState) -> Value {
        let own = self.own(&state.name);
        let next = own.and_then(|own| own.plan(state.done).next_wakeup().wall);
        json!({
            "name": state.name,
            "next": next.filter(|_| !state.paused).map(|at| Rfc3339(at).to_string()),
            "done": Rfc3339(state.done).to_string(),
            "paused": state.paused,
            "here": own.is_some(),
        })
    }
}

fn beginning(own: &ScheduleSettings, now: Timestamp) -> ScheduleState {
    ScheduleState { name: own.name.as_str().into(), done: now, paused: false }
}
