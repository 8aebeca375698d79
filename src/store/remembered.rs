//! What was answered to whom, for as long as the answer may not have arrived: so that a request that is asked again is
//! answered the same, and does nothing more.
//!
//! Posts and settlements are not remembered: their rows say what became of them. Nothing is written down here.

use std::collections::BTreeMap;

use taskyard_core::store::{Ask, Asker, OwnerId, Request};

type Question = (OwnerId, Asker, u64);

/// Answers by the number of their request.
#[derive(Debug)]
pub(crate) struct Remembered<A> {
    answers: BTreeMap<Question, A>,
}

impl<A> Default for Remembered<A> {
    fn default() -> Self {
        Self { answers: BTreeMap::new() }
    }
}

impl<A> Remembered<A> {
    /// What was answered when this was asked before. What the asker has the answers to is forgotten.
    pub(crate) fn recall(&mut self, ask: &Ask) -> Option<&A> {
        self.forget((ask.owner, ask.from, 0)..(ask.owner, ask.from, ask.oldest_open));
        self.answers.get(&question(ask))
    }

    /// This is the answer.
    pub(crate) fn keep(&mut self, ask: &Ask, answer: A) {
        self.answers.insert(question(ask), answer);
    }

    /// That was not the answer: it was never given.
    pub(crate) fn discard(&mut self, ask: &Ask) {
        self.answers.remove(&question(ask));
    }

    /// An owner that is gone asks nothing again.
    pub(crate) fn forget_owner(&mut self, owner: OwnerId) {
        self.answers.retain(|(of, ..), _| *of != owner);
    }

    fn forget(&mut self, questions: std::ops::Range<Question>) {
        while let Some((question, _)) = self.answers.range(questions.clone()).next() {
            let question = *question;
            self.answers.remove(&question);
        }
    }

    /// How many answers are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.answers.len()
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
}
