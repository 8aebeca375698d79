//! Drain: nothing new comes in, a mark travels the dispatches' way, and when all is settled the registration is given up.
//! What remains on a board that ends with the yard is listed.

use std::collections::BTreeSet;
use std::time::Duration;

use super::purpose::Purpose;
use super::{Answer, Conductor, Effect};
use crate::id::{PoolId, TaskId, Token};
use crate::store::{Counts, Filter, Request, TaskView};
use crate::time::{Instant64, Now, Wakeup, earlier};

/// How far a drain is.
#[derive(Debug, Default)]
pub(super) struct Drain {
    waiting: Vec<Token>,
    phase: Phase,
    /// When what runs is not waited for any more, if somebody said so.
    force_at: Option<Instant64>,
    /// Since when only the store is waited for.
    done: Option<Instant64>,
    /// When a store that fails is not waited for any more.
    hopeless_at: Option<Instant64>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Open,
    /// These pools are gone.
    Draining(BTreeSet<PoolId>),
    /// All is settled; the board is asked what remains.
    Asked,
    /// All is settled; the registration is to be given up, and so many remain.
    Leaving(Option<Counts>),
    /// Over; this remains.
    Drained(Vec<TaskId>, Option<Counts>),
}

impl Drain {
    pub(super) fn is_draining(&self) -> bool {
        !matches!(self.phase, Phase::Open)
    }

    pub(super) fn pool_drained(&mut self, pool: PoolId) {
        if let Phase::Draining(gone) = &mut self.phase {
            gone.insert(pool);
        }
    }

    pub(super) fn next_wakeup(&self) -> Wakeup {
        Wakeup::mono(self.force_at).or(Wakeup::mono(self.hopeless_at))
    }

    /// Whether it waits for the store alone.
    fn waits_for_the_store(&self, pools: usize) -> bool {
        match &self.phase {
            Phase::Draining(gone) => gone.len() == pools,
            Phase::Asked => true,
            Phase::Open | Phase::Leaving(_) | Phase::Drained(..) => false,
        }
    }

    fn tell(&mut self, effects: &mut Vec<Effect>) {
        if let Phase::Drained(left, counts) = &self.phase {
            let answer = || Answer::Drained { left: left.clone(), counts: *counts };
            effects.extend(self.waiting.drain(..).map(|reply| Effect::Answer(reply, answer())));
        }
    }
}

/// To whom the end of a drain is told that nobody asked for.
const NOBODY: Token = 0;

impl Conductor {
    /// After the last dispatch that the settings allow.
    pub(super) fn drain_by_itself(&mut self, effects: &mut Vec<Effect>) {
        if self.allowance.is_used_up() && !self.drain.is_draining() {
            self.start_drain(NOBODY, effects);
        }
    }

    pub(super) fn start_drain(&mut self, reply: Token, effects: &mut Vec<Effect>) {
        self.drain.waiting.push(reply);
        if !self.drain.is_draining() {
            self.drain.phase = Phase::Draining(BTreeSet::new());
            effects.push(Effect::Drain);
        }
        self.drain.tell(effects);
    }

    /// Drains; what runs has `grace`, or less if somebody granted less.
    pub(super) fn stop(&mut self, now: Now, grace: Duration, reply: Token, effects: &mut Vec<Effect>) {
        self.start_drain(reply, effects);
        self.drain.force_at = earlier(self.drain.force_at, Some(now.mono + grace));
        self.force_in_time(now, effects);
    }

    pub(super) fn force_in_time(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.drain.force_at.is_some_and(|at| at <= now.mono) {
            self.drain.force_at = None;
            self.force(effects);
        }
    }

    pub(super) fn force(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.ledger.pool_ids().map(Effect::Force));
    }

    /// Once the pools are gone, only what is to be recorded is waited for: for a store that fails as long as a submit would.
    /// What it never heard of is found under this owner by others, when the lease has ended.
    pub(super) fn go_on_draining(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.drain.hopeless_at = None;
        if !self.drain.waits_for_the_store(self.ledger.pool_ids().count()) {
            return;
        }
        let done = *self.drain.done.get_or_insert(now.mono);
        let hopeless_at = self.asks.hopeless_at(done).filter(|_| self.settings.shared);
        let hopeless = hopeless_at.is_some_and(|at| at <= now.mono);
        let nobody_answers = self.settings.shared && !self.asks.is_owned();
        let waits = match self.drain.phase {
            Phase::Draining(_) => self.ledger.len() > 0 || !self.all_is_answered(),
            _ => !nobody_answers,
        };
        if hopeless || nobody_answers && !waits {
            return self.leave(None, effects);
        }
        if !waits {
            self.ask_what_remains(now, effects);
        }
        self.drain.hopeless_at = hopeless_at;
    }

    /// On a board that goes on without this yard there may be millions: they are counted only.
    fn ask_what_remains(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.drain.phase = Phase::Asked;
        let filter = Filter { all: true, ..Filter::default() };
        let all = Request::List { filter, after: 0, limit: usize::MAX };
        let question = if self.settings.shared { Request::Count } else { all };
        self.asks.ask(now, question, Purpose::Left, effects);
    }

    /// So many remain on a board that goes on: the registration can go.
    pub(super) fn leave(&mut self, counts: Option<Counts>, effects: &mut Vec<Effect>) {
        self.drain.phase = Phase::Leaving(counts);
        effects.push(Effect::Release);
    }

    /// Without a registration nothing is answered; who waits at the edge is refused soon.
    fn all_is_answered(&self) -> bool {
        if self.asks.is_owned() { self.asks.is_empty() } else { !self.asks.is_waited_for() }
    }

    /// These are lost with the board.
    pub(super) fn drained(&mut self, left: &[TaskView], effects: &mut Vec<Effect>) {
        let counts = Counts::of(left.iter().map(|view| view.state));
        self.drain.phase = Phase::Drained(left.iter().map(|view| view.id).collect(), Some(counts));
        self.drain.tell(effects);
    }

    /// The registration is given up: what remains is for others.
    pub(super) fn released(&mut self, effects: &mut Vec<Effect>) {
        self.pulse.stop();
        if let Phase::Leaving(counts) = self.drain.phase {
            self.drain.phase = Phase::Drained(Vec::new(), counts);
            self.drain.tell(effects);
        }
    }
}
