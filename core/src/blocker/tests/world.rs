//! Blocker and InProgress on the shipped wiring, amid a Delayer, Queuer and Pool that do as the test says. Mail is
//! first in first out per pair; across pairs it is delivered in any order that the test likes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::blocker::Blocker;
use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Ended, Order};
use crate::in_progress::InProgress;
use crate::keys::fixture;
use crate::live::Live;
use crate::machine::{Machine, Stage};
use crate::task::{Key, KeyLimits};
use crate::time::Now;
use crate::wiring::Mail;
use crate::{blocker, conductor, in_progress, queuer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Delayer,
    Blocker,
    InProgress,
    Queuer,
    Pool,
    Conductor,
}

/// Sender and addressee.
pub(super) type Pair = (Role, Role);

#[derive(Default)]
pub(super) struct World {
    pub(super) blocker: Blocker,
    pub(super) in_progress: InProgress,
    pub(super) mail: BTreeMap<Pair, VecDeque<Mail>>,
    /// What the Blocker let go and nobody ended yet, in that order.
    pub(super) passed: Vec<Dispatch>,
    pub(super) ended: Vec<(DispatchName, End)>,
    /// What is announced as waiting.
    blocked: BTreeSet<DispatchName>,
    pub(super) missed: usize,
    pub(super) drained: bool,
    /// Leaves the invariants unchecked, whose cost grows with what is held.
    pub(super) unchecked: bool,
}

impl World {
    pub(super) fn send(&mut self, from: Role, mail: impl Into<Mail>) {
        let mail = mail.into();
        let to = match &mail {
            Mail::Blocker(_) => Role::Blocker,
            Mail::InProgress(_) => Role::InProgress,
            Mail::Queuer(_) => Role::Queuer,
            Mail::Conductor(_) => Role::Conductor,
            other => panic!("{other:?}"),
        };
        self.mail.entry((from, to)).or_default().push_back(mail);
    }

    pub(super) fn deliver(&mut self, pair: Pair) {
        let Some(mail) = self.mail.get_mut(&pair).and_then(VecDeque::pop_front) else { return };
        self.mail.retain(|_, queue| !queue.is_empty());
        match mail {
            Mail::Blocker(event) => {
                let mut effects = Vec::new();
                self.blocker.handle(Now::default(), event, &mut effects);
                for effect in effects {
                    self.send(Role::Blocker, effect);
                }
            }
            Mail::InProgress(event) => {
                let mut effects = Vec::new();
                self.in_progress.handle(Now::default(), event, &mut effects);
                for effect in effects {
                    self.send(Role::InProgress, effect);
                }
            }
            Mail::Queuer(event) => self.queuer(event),
            Mail::Conductor(event) => self.conductor(event),
            other => panic!("{other:?}"),
        }
        if !self.unchecked {
            self.blocker.check_invariants();
            self.in_progress.check_invariants();
        }
    }

    fn queuer(&mut self, event: queuer::Event) {
        match event {
            queuer::Event::Dispatch(dispatch) => {
                if let Some(key) = dispatch.key() {
                    self.send(Role::Queuer, queuer::Effect::Queued { key, name: dispatch.name() });
                }
                self.passed.push(*dispatch);
            }
            queuer::Event::Cancel(cancel) => {
                match self.passed.iter().position(|dispatch| dispatch.name() == cancel.name()) {
                    Some(at) => self.end(at, cancel.reason.end(), Role::Queuer),
                    None => self.missed += 1,
                }
            }
            queuer::Event::Drain => self.drained = true,
            other => panic!("{other:?}"),
        }
    }

    fn conductor(&mut self, event: conductor::Event) {
        match event {
            conductor::Event::Ended(Ended { dispatch, end }) => {
                self.blocked.remove(&dispatch.name());
                self.ended.push((dispatch.name(), end));
            }
            conductor::Event::Blocked(name) => assert!(self.blocked.insert(name), "announced twice"),
            // The end may have overtaken it.
            conductor::Event::Unblocked(name) => drop(self.blocked.remove(&name)),
            other => panic!("{other:?}"),
        }
    }

    /// Delivers until all is quiet.
    pub(super) fn settle(&mut self) {
        while let Some(pair) = self.mail.keys().next().copied() {
            self.deliver(pair);
        }
    }

    /// Sends a dispatch the Delayer's way.
    pub(super) fn dispatch(&mut self, dispatch: Dispatch) -> Arc<Live> {
        let live = Arc::clone(&dispatch.live);
        self.send(Role::Delayer, Mail::Blocker(blocker::Event::Dispatch(Box::new(dispatch))));
        live
    }

    /// Submits task `n` with the shared key and lets all settle.
    pub(super) fn submit(&mut self, n: u64, limits: KeyLimits) {
        self.submit_with(n, limits, |_| ());
    }

    pub(super) fn submit_with(&mut self, n: u64, limits: KeyLimits, change: impl FnOnce(&mut Dispatch)) {
        let mut dispatch = fixture::dispatch(n, Some(fixture::KEY), limits);
        change(&mut dispatch);
        self.dispatch(dispatch);
        self.settle();
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        self.send(Role::Delayer, Mail::Blocker(blocker::Event::Cancel(cancel)));
    }

    /// Ends what was passed as `at`th.
    pub(super) fn end(&mut self, at: usize, end: End, by: Role) {
        let dispatch = Box::new(self.passed.remove(at));
        self.send(by, Mail::InProgress(in_progress::Event::Ended(Ended { dispatch, end })));
    }

    /// The first of those that were passed succeeds.
    pub(super) fn succeed(&mut self) {
        self.end(0, End::Succeeded("null".into()), Role::Pool);
        self.settle();
    }

    /// The tasks that were passed and did not end.
    pub(super) fn running(&self) -> Vec<u64> {
        self.passed.iter().map(|dispatch| dispatch.id().0 as u64).collect()
    }

    /// The tasks that are announced as waiting.
    pub(super) fn blocked(&self) -> Vec<u64> {
        self.blocked.iter().map(|name| name.id.0 as u64).collect()
    }

    /// The tasks that the Blocker holds, in order.
    pub(super) fn held(&self) -> Vec<u64> {
        self.blocker.held().map(|dispatch| dispatch.id().0 as u64).collect()
    }

    /// Who lost to whom, in that order.
    pub(super) fn discarded(&self) -> Vec<(u64, u64)> {
        let lost = |(name, end): &(DispatchName, End)| match end {
            End::Discarded { lost_to } => Some((name.id.0 as u64, lost_to.0 as u64)),
            _ => None,
        };
        self.ended.iter().filter_map(lost).collect()
    }

    pub(super) fn in_progress_of(&self, key: Key) -> u32 {
        self.in_progress.count(key)
    }

    pub(super) fn assert_nothing_left(&self) {
        assert!(self.mail.is_empty(), "{:?}", self.mail);
        assert!(self.passed.is_empty() && self.blocker.is_empty() && self.blocked.is_empty());
        assert_eq!(format!("{:?}", self.in_progress), format!("{:?}", InProgress::default()));
        assert!(format!("{:?}", self.blocker).contains("lines: {}"), "{:?}", self.blocker);
    }
}

/// A dispatch's place: as it arrived, but ranked as said.
pub(super) fn ranked(rank: i64) -> impl FnOnce(&mut Dispatch) {
    move |dispatch| dispatch.order = Order { rank, ..dispatch.order }
}

/// It was judged in an earlier pass.
pub(super) fn retried(dispatch: &mut Dispatch) {
    dispatch.judged = true;
}
