//! The requests that the board has not answered. Each is repeated, under its number, until it is; one that somebody at the
//! edge waits for is given up after a while, if the store fails. Without a registration they are kept, and sent with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Effect;
use super::purpose::Purpose;
use crate::store::{Ask, Asker, OwnerId, Request, StoreError};
use crate::time::{Instant64, Now, Wakeup};

/// How long an answer may take before the request is repeated.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause after a failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Pending {
    request: Arc<Request>,
    purpose: Purpose,
    /// When it was asked first.
    asked: Instant64,
    /// When it is repeated or given up.
    again: Option<Instant64>,
    pause: Duration,
    /// How the last attempt failed; `None`: nothing was heard of it.
    error: Option<StoreError>,
    /// Whether an attempt may have been carried out though no answer to it came.
    unsure: bool,
}

/// A request that was answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) purpose: Purpose,
    pub(super) request: Arc<Request>,
}

/// A request that is not repeated any more, as the store failed for too long.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) no: u64,
    pub(super) purpose: Purpose,
    pub(super) request: Arc<Request>,
    pub(super) error: StoreError,
}

/// What became of the requests in flight when the registration was lost.
#[derive(Debug, Default)]
pub(super) struct Disowned {
    /// They meant something only to the owner that was.
    pub(super) dropped: Vec<(Purpose, Arc<Request>)>,
    /// The others have new numbers: a late answer to the owner that was must not be taken for the next one's.
    pub(super) renumbered: BTreeMap<u64, u64>,
}

/// The requests in flight.
#[derive(Debug)]
pub(super) struct Asks {
    /// Under whom is asked; `None`: without a registration, nothing is.
    owner: Option<OwnerId>,
    /// How long whoever waits at the edge waits for a store that fails.
    patience: Duration,
    /// What the store suffers from, as far as anybody said, and since when.
    down: Option<(StoreError, Instant64)>,
    last: u64,
    pending: BTreeMap<u64, Pending>,
    again: BTreeSet<(Instant64, u64)>,
    may_bring: usize,
}

impl Asks {
    pub(super) fn new(owner: Option<OwnerId>, patience: Duration) -> Self {
        Self {
            owner,
            patience,
            down: None,
            last: 0,
            pending: BTreeMap::new(),
            again: BTreeSet::new(),
            may_bring: 0,
        }
    }

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
        let pending = Pending {
            request: Arc::new(request),
            purpose,
            asked: now.mono,
            again: None,
            pause: FIRST_PAUSE,
            error: None,
            unsure: false,
        };
        self.pending.insert(no, pending);
        self.send(now, no, effects);
        no
    }

    /// Sends it, or keeps it for the registration.
    fn send(&mut self, now: Now, no: u64, effects: &mut Vec<Effect>) {
        let oldest_open = self.oldest();
        let Some(pending) = self.pending.get(&no) else { return };
        let deadline = pending.asked + self.patience;
        let Some(owner) = self.owner else {
            let at = pending.purpose.can_be_refused().then_some(deadline);
            return self.schedule(no, at);
        };
        let request = Arc::clone(&pending.request);
        self.schedule(no, Some(now.mono + PATIENCE));
        effects.push(Effect::Ask(Ask { owner, from: Asker::Conductor, no, request, oldest_open }));
    }

    fn schedule(&mut self, no: u64, at: Option<Instant64>) {
        let Some(pending) = self.pending.get_mut(&no) else { return };
        if let Some(before) = std::mem::replace(&mut pending.again, at) {
            self.again.remove(&(before, no));
        }
        self.again.extend(at.map(|at| (at, no)));
    }

    fn take(&mut self, no: u64) -> Option<Pending> {
        self.schedule(no, None);
        let pending = self.pending.remove(&no)?;
        self.may_bring -= brings(&pending.request);
        Some(pending)
    }

    /// The request was answered: what it was, unless that was known already.
    pub(super) fn answered(&mut self, no: u64) -> Option<Answered> {
        let Pending { request, purpose, .. } = self.take(no)?;
        Some(Answered { purpose, request })
    }

    /// The store failed: the request is repeated after a pause, or given up.
    pub(super) fn failed(&mut self, now: Now, no: u64, error: StoreError) -> Option<GivenUp> {
        let pending = self.pending.get_mut(&no)?;
        pending.unsure |= matches!(error, StoreError::Unknown(_));
        let unwritable = matches!(error, StoreError::Unwritable(_));
        // Who was fenced is told so soon, and asks anew under another registration.
        let pause = if error == StoreError::Fenced { PATIENCE } else { pending.pause };
        pending.pause = (pending.pause * 2).min(LONGEST_PAUSE);
        pending.error = Some(error);
        let refusable = pending.purpose.can_be_refused();
        let deadline = pending.asked + self.patience;
        let at = now.mono + pause;
        self.schedule(no, Some(if refusable { at.min(deadline) } else { at }));
        if refusable && unwritable { self.give_up(no) } else { self.give_up_in_time(now, no) }
    }

    /// Repeats what is due for it. What is given up instead.
    pub(super) fn repeat(&mut self, now: Now, effects: &mut Vec<Effect>) -> Vec<GivenUp> {
        let mut given_up = Vec::new();
        while let Some((_, no)) = self.again.first().copied().filter(|(at, _)| *at <= now.mono) {
            if let Some(hopeless) = self.give_up_in_time(now, no) {
                given_up.push(hopeless);
                continue;
            }
            let Some(pending) = self.pending.get_mut(&no) else { continue };
            // Nobody said that nothing was done.
            pending.unsure |= pending.error.take().is_none();
            self.send(now, no, effects);
        }
        given_up
    }

    /// Gives up what somebody waited for long enough, if the store is known to fail.
    fn give_up_in_time(&mut self, now: Now, no: u64) -> Option<GivenUp> {
        let pending = self.pending.get(&no)?;
        let fails = pending.error.is_some() || self.down.is_some() || self.owner.is_none();
        let over = pending.asked + self.patience <= now.mono;
        (over && fails && pending.purpose.can_be_refused()).then(|| self.give_up(no))?
    }

    fn give_up(&mut self, no: u64) -> Option<GivenUp> {
        let Pending { purpose, request, error, unsure, .. } = self.take(no)?;
        let unsure = unsure || error.is_none() && self.owner.is_some();
        let unregistered = || StoreError::Unavailable("this dispatcher is not registered there".into());
        let error = match error.or_else(|| self.suffers_from()).unwrap_or_else(unregistered) {
            StoreError::Unavailable(why) | StoreError::Unwritable(why) if unsure => StoreError::Unknown(why),
            error => error,
        };
        Some(GivenUp { no, purpose, request, error })
    }

    /// The store cannot be reached, or fails.
    pub(super) fn store_is_down(&mut self, now: Now, error: StoreError) {
        let since = self.down.take().map_or(now.mono, |(_, since)| since);
        self.down = Some((error, since));
    }

    fn suffers_from(&self) -> Option<StoreError> {
        self.down.as_ref().map(|(error, _)| error.clone())
    }

    /// Until when whoever has waited since `begun` waits for a store that fails; `None`: it does not.
    pub(super) fn hopeless_at(&self, begun: Instant64) -> Option<Instant64> {
        self.down.as_ref().map(|(_, since)| begun.max(*since) + self.patience)
    }

    /// The store answers again: what failed need not wait for the end of its pause.
    pub(super) fn store_is_up(&mut self, now: Now) {
        self.down = None;
        let failed = self.pending.iter().filter(|(_, pending)| pending.error.is_some());
        for no in failed.map(|(no, _)| *no).collect::<Vec<_>>() {
            self.schedule(no, Some(now.mono));
        }
    }

    /// Registered: what was kept is sent, in order.
    pub(super) fn owned(&mut self, now: Now, owner: OwnerId, effects: &mut Vec<Effect>) {
        self.owner = Some(owner);
        for no in self.pending.keys().copied().collect::<Vec<_>>() {
            self.send(now, no, effects);
        }
    }

    /// The registration is lost: what still means something is kept for the next.
    pub(super) fn disowned(&mut self, now: Now) -> Disowned {
        let sent = self.owner.take().is_some();
        let mut disowned = Disowned::default();
        self.again.clear();
        self.may_bring = 0;
        for (no, pending) in std::mem::take(&mut self.pending) {
            if pending.purpose.ends_with_the_owner() {
                disowned.dropped.push((pending.purpose, pending.request));
                continue;
            }
            self.last += 1;
            disowned.renumbered.insert(no, self.last);
            self.may_bring += brings(&pending.request);
            let unsure = pending.unsure || sent && pending.error.is_none();
            let kept = Pending { again: None, error: None, pause: FIRST_PAUSE, unsure, ..pending };
            self.pending.insert(self.last, kept);
            self.send(now, self.last, &mut Vec::new());
        }
        disowned
    }

    /// Whether there is somebody under whom to ask.
    pub(super) fn is_owned(&self) -> bool {
        self.owner.is_some()
    }

    fn oldest(&self) -> u64 {
        self.pending.first_key_value().map_or(self.last, |(no, _)| *no)
    }

    /// The requests in flight that may bring dispatches into the yard.
    pub(super) fn bringing_work(&self) -> BTreeSet<u64> {
        let brings = |purpose: &Purpose| matches!(purpose, Purpose::Post(_) | Purpose::Claim { .. });
        self.pending.iter().filter(|(_, pending)| brings(&pending.purpose)).map(|(no, _)| *no).collect()
    }

    /// How many dispatches the answers on their way may bring into the yard.
    pub(super) fn may_bring(&self) -> usize {
        self.may_bring
    }

    /// The number of the last request.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether somebody at the edge waits who will be refused if the store goes on to fail.
    pub(super) fn is_waited_for(&self) -> bool {
        self.pending.values().any(|pending| pending.purpose.can_be_refused())
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
