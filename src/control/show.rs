//! How tasks, pools and workers look in replies, in a person's words. Arguments are never shown: they may be secret.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use taskyard_actors::store::StoreStatus;
use taskyard_core::dispatch::{Failure, Outcome, Trash};
use taskyard_core::live::{Live, Stage};
use taskyard_core::rfc3339::Rfc3339;
use taskyard_core::status::{PoolStatus, State, WorkerStatus};
use taskyard_core::store::{
    AttemptEnd, AttemptRecord, Counts, OwnerId, OwnerView, Registration, RowState, TaskView,
};
use taskyard_core::time::{Instant64, Timestamp};

use crate::yard::{Stages, Yard};

/// The unfinished tasks in a person's words: what waits on the board counts as what waits in the yard for the same reason.
pub fn tasks(counts: &Counts, stages: Stages) -> Value {
    json!({
        "running": stages.running,
        "queued": stages.queued + counts.ready + counts.unjudged,
        "blocked": stages.blocked + counts.behind,
        "delayed": stages.delayed + counts.parked,
        "unroutable": counts.unroutable,
        "trashed": counts.trashed,
    })
}

/// The unfinished tasks that a yard leaves behind. `elsewhere`: another dispatcher has them.
pub fn left(counts: &Counts) -> Value {
    json!({
        "queued": counts.ready + counts.unjudged,
        "blocked": counts.behind,
        "delayed": counts.parked,
        "elsewhere": counts.claimed,
    })
}

/// How a task ended. Its `outcome` is a word, the rest says more.
pub fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Succeeded(value) => {
            let value = RawValue::from_string(value.as_ref().to_owned()).ok();
            json!({ "outcome": "succeeded", "value": value })
        }
        Outcome::ValueGone => json!({ "outcome": "succeeded", "value_gone": true }),
        Outcome::Cancelled => json!({ "outcome": "cancelled" }),
        Outcome::Expired => json!({ "outcome": "expired" }),
        Outcome::Discarded { lost_to } => json!({ "outcome": "discarded", "lost_to": lost_to }),
        Outcome::Trashed(trash) => {
            json!({ "outcome": failure_word(trash), "trashed": true, "reason": trash.to_string() })
        }
    }
}

/// In one word, why a task is in the trash: `failed`, `timed_out`, `lost`, `unroutable`, `crashed` or `unreadable`.
pub fn failure_word(trash: &Trash) -> &'static str {
    match trash {
        Trash::Exhausted { last: failure, .. } | Trash::Refused(failure) => match failure {
            Failure::Error(_) => "failed",
            Failure::TimedOut => "timed_out",
            Failure::Lost(_) => "lost",
        },
        Trash::Unroutable => "unroutable",
        Trash::Crashed { .. } => "crashed",
        Trash::Unreadable(_) => "unreadable",
    }
}

/// How the store is. Of a board in memory there is nothing to say.
pub(super) fn store(status: &StoreStatus) -> Value {
    let down = status.down.as_ref();
    json!({
        "ready": status.is_ready(),
        "owner": status.owner.and_then(owner_number),
        "down": down.map(|down| json!({ "since": time(down.since), "why": down.why.to_string() })),
        "stale_writes": status.stale_writes,
    })
}

pub(super) fn pool(pool: &PoolStatus) -> Value {
    let in_state = |state| pool.workers.iter().filter(|worker| worker.state == state).count();
    json!({
        "workers": pool.workers.len(),
        "busy": in_state(State::Busy),
        "idle": in_state(State::Idle),
        "min": pool.min,
        "max": pool.max,
        "capacity": pool.capacity,
        "waiting": pool.demand,
        "paused": pool.paused,
        "degraded": pool.degraded,
        "seen": pool.counters,
    })
}

pub(super) fn workers(name: &str, pool: &PoolStatus) -> Vec<Value> {
    let show = |worker: &WorkerStatus| {
        json!({
            "worker": format!("{name}-{}", worker.number),
            "pool": name,
            "state": worker.state,
            "seconds": seconds(worker.since, pool.at),
            "running": worker.running,
            "done": worker.done,
        })
    };
    pool.workers.iter().map(show).collect()
}

pub(super) fn running(yard: &Yard, live: &Live, now: Instant64) -> Value {
    let mut shown = json!({
        "uuid": live.task.id,
        "task": live.task.name().as_str(),
        "namespace": live.task.lane.namespace.as_str(),
        "attempt": live.attempt,
    });
    place(yard, live, now, &mut shown);
    shown
}

/// Where a task is, and how far.
fn place(yard: &Yard, live: &Live, now: Instant64, shown: &mut Value) {
    let pool = live.pool().and_then(|pool| yard.pool_name(pool));
    shown["pool"] = pool.into();
    if let Some((worker, since)) = live.running() {
        shown["worker"] = pool.map(|pool| format!("{pool}-{worker}")).into();
        shown["seconds"] = seconds(since, now).into();
    }
    if let Some(progress) = live.progress() {
        shown["progress"] = json!({ "fraction": progress.fraction, "note": progress.note });
    }
}

pub(super) fn task(yard: &Yard, view: &TaskView) -> Value {
    let live = yard.live(view.id);
    let mut shown = json!({
        "uuid": view.id,
        "task": view.lane.name.as_str(),
        "namespace": view.lane.namespace.as_str(),
        "state": state(view.state, live.as_deref()),
        "epoch": view.epoch,
        "attempts": view.attempts,
        "unroutable": view.unroutable,
    });
    let mut say = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown[name] = value;
        }
    };
    say("priority", view.task.as_ref().map(|task| task.priority.get().into()));
    say("due", view.due.map(time));
    say("owner", view.owner.and_then(owner_number));
    say("crash_marks", Some(view.crash_marks).filter(|marks| *marks > 0).map(Value::from));
    say("last_error", view.last_error.as_ref().map(|error| error.to_string().into()));
    say("end", view.outcome.as_ref().map(outcome));
    say("ended", view.ended.map(time));
    say("log", Some(&view.log).filter(|log| !log.is_empty()).map(|log| log.iter().map(attempt).collect()));
    if let Some(live) = live {
        place(yard, &live, yard.now().mono, &mut shown);
    }
    shown
}

/// How one pass ended. `failed` has the error; after `ended` the task's own end says how.
fn attempt(record: &AttemptRecord) -> Value {
    let mut shown = json!({ "epoch": record.epoch, "ended": time(record.ended) });
    if let Some(owner) = owner_number(record.owner) {
        shown["owner"] = owner;
    }
    shown["how"] = match &record.end {
        AttemptEnd::Failed(failure) => {
            shown["error"] = failure.to_string().into();
            "failed"
        }
        AttemptEnd::Setback => "setback",
        AttemptEnd::Ended => "ended",
        AttemptEnd::OwnerLost => "owner_lost",
    }
    .into();
    shown
}

/// A board that is not shared has no owners worth a number.
fn owner_number(owner: OwnerId) -> Option<Value> {
    (owner != OwnerId::SOLE).then(|| owner.0.into())
}

pub(super) fn owner(owner: &OwnerView) -> Value {
    let Registration { host, pid, version, lease, patterns } = &owner.registration;
    json!({
        "owner": owner.id,
        "host": host,
        "pid": pid,
        "version": version,
        "patterns": patterns,
        "lease": lease.as_secs_f64(),
        "lease_left": owner.lease_left.as_secs_f64(),
        "fenced": owner.fenced,
        "held": owner.held,
    })
}

fn time(at: Timestamp) -> Value {
    Rfc3339(at).to_string().into()
}

fn state(row: RowState, live: Option<&Live>) -> &'static str {
    match (row, live.map(Live::stage)) {
        (RowState::Ended, _) => "ended",
        (RowState::Claimed, Some(Stage::Running)) => "running",
        (RowState::Parked, _) | (RowState::Claimed, Some(Stage::Delayed)) => "delayed",
        (RowState::Behind, _) | (RowState::Claimed, Some(Stage::Blocked)) => "blocked",
        (RowState::Ready | RowState::Unjudged | RowState::Claimed, _) => "queued",
    }
}

fn seconds(since: Instant64, now: Instant64) -> f64 {
    now.since(since).max(0) as f64 / 1e6
}
