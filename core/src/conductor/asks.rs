//! The requests that the board has not answered. Each is repeated, under its number, until it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Effect;
use crate::id::{PoolId, Token};
use crate::store::{Ask, Asker, OwnerId, Request};
use crate::time::{Instant64, Now, Wakeup};

/// How long an answer may take before the request is repeated.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause after a failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// For whom an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A post of new tasks.
    Post,
    /// A claim or preload of so many at most.
    Claim { pool: PoolId, ready: usize, near: usize },
    /// Settlements.
    Settle,
    /// A promotion.
    Promote,
    /// A cancel, by the operation's number.
    Cancel(u64),
    /// A reschedule.
    Reschedule(Token),
    /// Somebody waits for a task's outcome and may be late.
    Watch(Token),
    /// Somebody wants to know; the answer is passed on.
    Query(Token),
    /// What is left when the yard has drained.
    Left,
    /// Names that were learned.
    Learn,
}

#[derive(Debug)]
struct Pending {
    request: Arc<Request>,
    purpose: Purpose,
    again: Instant64,
    pause: Duration,
}

/// The requests in flight.
#[derive(Debug, Default)]
pub(super) struct Asks {
    last: u64,
    pending: BTreeMap<u64, Pending>,
    again: BTreeSet<(Instant64, u64)>,
    may_bring: usize,
}

impl Asks {
    /// Asks the board. The request's number.
    pub(super) fn ask(
        &mut self,
        now: Now,
        request: Request,
        purpose: Purpose,
        effects: &mut Vec<Effect>,
    ) -> u64 {
        self.last += 1;
        let no = self.last;
        self.may_bring += brings(&request);
        let request = Arc::new(request);
        let again = now.mono + PATIENCE;
        self.again.insert((again, no));
        self.pending
            .insert(no, Pending { request: Arc::clone(&request), purpose, again, pause: FIRST_PAUSE });
        effects.push(Effect::Ask(self.numbered(no, request)));
        no
    }

    /// The request was answered: what it was, unless that was known already.
    pub(super) fn answered(&mut self, no: u64) -> Option<(Purpose, Arc<Request>)> {
        let pending = self.pending.remove(&no)?;
        self.again.remove(&(pending.again, no));
        self.may_bring -= brings(&pending.request);
        Some((pending.purpose, pending.request))
    }

    /// The store failed: the request is repeated after a pause.
    pub(super) fn failed(&mut self, now: Now, no: u64) {
        let Some(pending) = self.pending.get_mut(&no) else { return };
        self.again.remove(&(pending.again, no));
        pending.again = now.mono + pending.pause;
        pending.pause = (pending.pause * 2).min(LONGEST_PAUSE);
        self.again.insert((pending.again, no));
    }

    /// Repeats what is due for it.
    pub(super) fn repeat(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some((_, no)) = self.again.first().copied().filter(|(at, _)| *at <= now.mono) {
            self.again.pop_first();
            let Some(pending) = self.pending.get_mut(&no) else { continue };
            pending.again = now.mono + PATIENCE;
            self.again.insert((pending.again, no));
            let request = Arc::clone(&pending.request);
            effects.push(Effect::Ask(self.numbered(no, request)));
        }
    }

    fn numbered(&self, no: u64, request: Arc<Request>) -> Ask {
        Ask { owner: OwnerId::SOLE, from: Asker::Conductor, no, request, oldest_open: self.oldest() }
    }

    fn oldest(&self) -> u64 {
        self.pending.first_key_value().map_or(self.last, |(no, _)| *no)
    }

    /// The requests in flight that may bring dispatches into the yard.
    pub(super) fn bringing_work(&self) -> BTreeSet<u64> {
        let brings = |purpose: &Purpose| matches!(purpose, Purpose::Post | Purpose::Claim { .. });
        self.pending.iter().filter(|(_, pending)| brings(&pending.purpose)).map(|(no, _)| *no).collect()
    }

    /// How many dispatches the answers on their way may bring into the yard.
    pub(super) fn may_bring(&self) -> usize {
        self.may_bring
    }

    /// Whether everything was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn next_wakeup(&self) -> Wakeup {
        Wakeup::mono(self.again.first().map(|(at, _)| *at))
    }
}

/// How many dispatches the answer may bring into the yard.
fn brings(request: &Request) -> usize {
    match request {
        Request::Post { rows, room } => rows.len().min(room.total),
        Request::Claim { ready, unjudged, .. } => ready + unjudged,
        Request::Preload { up_to, .. } => *up_to,
        _ => 0,
    }
}
