//! What was answered to whom, for as long as the answer may not have arrived: so that a request that is asked again is
//! answered the same, and does nothing more.
//!
//! Posts and settlements are not remembered: their rows say what became of them. Nothing is written down here.

use std::collections::BTreeMap;

use taskyard_core::id::PoolId;
use taskyard_core::store::{Ask, Asker, OwnerId, Request};

type Question = (OwnerId, Asker, u64);
/// A claim, or (`true`) a preload, for a pool of an owner.
type Claim = (OwnerId, PoolId, bool);

/// Answers by the number of their request.
#[derive(Debug)]
pub(crate) struct Remembered<A> {
    answers: BTreeMap<Question, A>,
    /// The last claims: their answers are kept until the next one, so that one that comes late and twice claims nothing.
    claims: BTreeMap<Claim, Question>,
}

impl<A> Default for Remembered<A> {
    fn default() -> Self {
        Self { answers: BTreeMap::new(), claims: BTreeMap::new() }
    }
}

impl<A> Remembered<A> {
    /// What was answered when this was asked before. What the asker has the answers to is forgotten.
    pub(crate) fn recall(&mut self, ask: &Ask) -> Option<&A> {
        self.forget((ask.owner, ask.from, 0)..(ask.owner, ask.from, ask.oldest_open));
        self.answers.get(&question(ask))
    }

    /// Whether it is a claim, and a later one was answered: nobody waits for it any more.
    pub(crate) fn is_late(&self, ask: &Ask) -> bool {
        let last = claim(ask).and_then(|claim| self.claims.get(&claim));
        last.is_some_and(|last| question(ask) < *last)
    }

    /// This is the answer.
    pub(crate) fn keep(&mut self, ask: &Ask, answer: A) {
        self.answers.insert(question(ask), answer);
        if let Some(claim) = claim(ask) {
            self.claims.insert(claim, question(ask));
        }
    }

    /// That was not the answer: it was never given.
    pub(crate) fn discard(&mut self, ask: &Ask) {
        self.answers.remove(&question(ask));
    }

    /// An owner that is gone asks nothing again.
    pub(crate) fn forget_owner(&mut self, owner: OwnerId) {
        self.answers.retain(|(of, ..), _| *of != owner);
        self.claims.retain(|(of, ..), _| *of != owner);
    }

    fn forget(&mut self, questions: std::ops::Range<Question>) {
        if self.answers.range(questions.clone()).next().is_some() {
            let claims = &self.claims;
            self.answers
                .retain(|asked, _| !questions.contains(asked) || claims.values().any(|last| last == asked));
        }
    }

    /// How many answers are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.answers.len()
    }
}

fn claim(ask: &Ask) -> Option<Claim> {
    match &*ask.request {
        Request::Claim { pool, .. } => Some((ask.owner, *pool, false)),
        Request::Preload { pool, .. } => Some((ask.owner, *pool, true)),
        _ => None,
    }
}

fn question(ask: &Ask) -> Question {
    (ask.owner, ask.from, ask.no)
}

/// Whether the answer must be kept: a repetition would do something more.
pub(crate) fn must_be_kept(request: &Request) -> bool {
    match request {
        Request::Claim { .. }
        | Request::Preload { .. }
        | Request::Promote { .. }
        | Request::Cancel { .. }
        | Request::Reschedule { .. }
        | Request::MarkStart(_)
        | Request::Register(_)
        | Request::TakeOver { .. }
        | Request::Release
        | Request::Requeue { .. }
        | Request::Purge { .. }
        | Request::Tick { .. }
        | Request::OpenBatch { .. }
        | Request::Prune { .. } => true,
        Request::Post { .. }
        | Request::Settle(_)
        | Request::Get(_)
        | Request::List { .. }
        | Request::Count
        | Request::CountOf { .. }
        | Request::Outcomes(_)
        | Request::Learn { .. }
        | Request::Renew
        | Request::Held
        | Request::Owners
        | Request::ListTrash { .. }
        | Request::Schedule { .. }
        | Request::PauseSchedule { .. }
        | Request::Schedules
        | Request::SealBatch(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn ask(owner: u64, from: Asker, no: u64, oldest_open: u64) -> Ask {
        Ask { owner: OwnerId(owner), from, no, request: Arc::new(Request::Count), oldest_open }
    }

    fn claim(pool: u8, no: u64, oldest_open: u64) -> Ask {
        let request = Request::Claim { pool: PoolId(pool), ready: 1, unjudged: 0 };
        Ask { request: Arc::new(request), ..ask(1, Asker::Conductor, no, oldest_open) }
    }

    #[test]
    fn an_answer_is_kept_until_it_is_known_to_have_arrived() {
        let mut remembered = Remembered::default();
        for no in 1..=3 {
            remembered.keep(&ask(1, Asker::Conductor, no, 1), no);
        }
        assert_eq!(remembered.recall(&ask(1, Asker::Conductor, 2, 2)), Some(&2));
        assert_eq!(remembered.recall(&ask(1, Asker::Conductor, 1, 2)), None);
        assert_eq!(remembered.recall(&ask(1, Asker::Conductor, 9, 9)), None);
        assert_eq!(remembered.len(), 0);
    }

    #[test]
    fn each_owner_and_each_of_its_askers_counts_for_itself() {
        let mut remembered = Remembered::default();
        remembered.keep(&ask(1, Asker::Conductor, 1, 1), "a");
        remembered.keep(&ask(1, Asker::Lease, 1, 1), "b");
        remembered.keep(&ask(2, Asker::Conductor, 1, 1), "c");
        assert_eq!(remembered.recall(&ask(1, Asker::Lease, 5, 5)), None);
        assert_eq!(remembered.recall(&ask(1, Asker::Conductor, 1, 1)), Some(&"a"));
        remembered.forget_owner(OwnerId(1));
        assert_eq!(remembered.recall(&ask(1, Asker::Conductor, 1, 1)), None);
        assert_eq!(remembered.recall(&ask(2, Asker::Conductor, 1, 1)), Some(&"c"));
    }

    #[test]
    fn the_last_claim_of_a_pool_is_remembered_until_the_next() {
        let mut remembered = Remembered::default();
        remembered.keep(&claim(0, 1, 1), 1);
        remembered.keep(&claim(1, 2, 2), 2);
        assert_eq!(remembered.recall(&claim(0, 1, 3)), Some(&1));
        assert!(!remembered.is_late(&claim(0, 1, 1)));
        remembered.keep(&claim(0, 4, 4), 4);
        assert_eq!(remembered.recall(&claim(0, 1, 4)), None);
        assert!(remembered.is_late(&claim(0, 1, 1)) && !remembered.is_late(&claim(1, 2, 2)));
        assert_eq!(remembered.len(), 2);
    }
}
