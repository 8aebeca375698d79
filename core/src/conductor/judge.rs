//! What becomes of a task whose dispatch ended: the table "what each end counts". Pure functions.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::ledger::After;
use crate::dispatch::{Dispatch, End, Failure, Outcome, Reason, Return, Trash};
use crate::id::{Epoch, TaskId};
use crate::store::Settle;
use crate::task::{DueAt, Retry};
use crate::time::Now;

/// The pause after the first setback; it doubles with each.
const FIRST_SETBACK: Duration = Duration::from_secs(1);
/// The longest pause after a setback.
const LONGEST_SETBACK: Duration = Duration::from_mins(1);

/// What the judge looks at beside the end itself.
pub(super) struct Case<'a> {
    pub(super) dispatch: &'a Dispatch,
    pub(super) retry: Retry,
    pub(super) setbacks: u32,
    pub(super) wish: Option<Reason>,
}

/// Judges an end: what that makes of the task, and what is recorded.
pub(super) fn judge(now: Now, case: &Case<'_>, end: End) -> (After, Settle) {
    let gave_up = case.wish == Some(Reason::User);
    match end {
        End::Succeeded(value) => done(Outcome::Succeeded(value)),
        End::Discarded { lost_to } => done(Outcome::Discarded { lost_to }),
        End::Expired => done(Outcome::Expired),
        End::Cancelled => done(Outcome::Cancelled),
        _ if gave_up => done(Outcome::Cancelled),
        End::Failed(failure) => failed(now, case, failure),
        End::Snoozed(pause) => {
            let due = now.wall + pause;
            (After::Again(due), give_back(DueAt::Wall(due), true, true))
        }
        End::Rescheduled(due) => rescheduled(due),
        End::Returned(Return::Drain) => match case.wish {
            Some(Reason::Reschedule(due)) => rescheduled(due),
            _ => as_it_was(now, case.dispatch),
        },
        End::Returned(Return::Setback) => set_back(now, case),
    }
}

/// Whether only a dispatch that had started ends like this.
pub(super) fn tells_of_a_start(end: &End) -> bool {
    matches!(end, End::Succeeded(_) | End::Failed(_) | End::Snoozed(_))
}

fn give_back(due: DueAt, renew: bool, started: bool) -> Settle {
    Settle::GiveBack { due: Some(due), setback: false, renew, started }
}

fn has_started(dispatch: &Dispatch) -> bool {
    dispatch.live.running().is_some()
}

fn rescheduled(due: DueAt) -> (After, Settle) {
    (After::Rescheduled, give_back(due, true, false))
}

/// Back to the board, in its place.
pub(super) fn as_it_was(now: Now, dispatch: &Dispatch) -> (After, Settle) {
    let due = match dispatch.due {
        // The board's own: nothing is gained by reckoning it from this clock's.
        DueAt::Wall(_) => None,
        kept_here => Some(kept_here),
    };
    let settle = Settle::GiveBack { due, setback: false, renew: false, started: has_started(dispatch) };
    (After::Again(now.wall), settle)
}

/// Back to the board before it began, for a while.
pub(super) fn later(now: Now, dispatch: &Dispatch) -> (After, Settle) {
    let pause = now.wall + FIRST_SETBACK;
    let due = if let DueAt::Wall(due) = dispatch.due { due.max(pause) } else { pause };
    (After::Again(due), give_back(DueAt::Wall(due), false, false))
}

/// Nobody survived so many deliveries to report how they ended.
pub(super) fn crashed(deliveries: u32) -> (After, Settle) {
    trashed(Trash::Crashed { deliveries })
}

fn set_back(now: Now, case: &Case<'_>) -> (After, Settle) {
    let (due, started) = (now.wall + setback_pause(case.setbacks), has_started(case.dispatch));
    let settle = Settle::GiveBack { due: Some(DueAt::Wall(due)), setback: true, renew: false, started };
    (After::Again(due), settle)
}

fn done(outcome: Outcome) -> (After, Settle) {
    (After::Finished(outcome.clone()), Settle::Done(outcome))
}

fn failed(now: Now, case: &Case<'_>, failure: Failure) -> (After, Settle) {
    let attempts = case.dispatch.live.attempt;
    let refused = matches!(&failure, Failure::Error(error) if !error.retry);
    if refused {
        return trashed(Trash::Refused(failure));
    }
    if attempts >= case.retry.max_attempts {
        return trashed(Trash::Exhausted { attempts, last: failure });
    }
    let due = now.wall + pause(&case.retry, attempts, case.dispatch.id(), case.dispatch.epoch());
    (After::Again(due), Settle::Retry { due, error: failure })
}

fn trashed(trash: Trash) -> (After, Settle) {
    let outcome = Outcome::Trashed(trash);
    (After::Finished(outcome.clone()), Settle::Trash(outcome))
}

/// The pause after the `attempts`-th counted failure: exponential, bounded, spread by the jitter. What spreads it is
/// derived from the dispatch's name, so that a replay gives the same pauses and a thousand tasks different ones.
pub(super) fn pause(retry: &Retry, attempts: u32, id: TaskId, epoch: Epoch) -> Duration {
    // Kept finite: no pause at first stays none however often it is doubled.
    let growth = retry.factor.powi(attempts.saturating_sub(1).min(1_000) as i32).min(f64::MAX);
    let bounded = (retry.initial.as_secs_f64() * growth).min(retry.max.as_secs_f64());
    let spread = 1.0 + retry.jitter * (2.0 * unit(id, epoch) - 1.0);
    Duration::try_from_secs_f64(bounded * spread).unwrap_or(retry.max)
}

/// An evenly spread number from 0 to 1 (one round of `SplitMix64`).
fn unit(id: TaskId, epoch: Epoch) -> f64 {
    let mut x = (id.0 as u64) ^ ((id.0 >> 64) as u64) ^ u64::from(epoch).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn setback_pause(setbacks: u32) -> Duration {
    (FIRST_SETBACK * 2_u32.pow(setbacks.min(6))).min(LONGEST_SETBACK)
}
