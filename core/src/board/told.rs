//! What was answered to requests that may be asked again because the answer was lost. A repetition is told the same and does
//! nothing more: of its second answer nobody takes notice if the first one was only late.

use std::collections::BTreeMap;

use crate::store::{Answer, Asker, OwnerId};

/// Who asked, and under which number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) owner: OwnerId,
    pub(super) from: Asker,
    pub(super) no: u64,
}

/// The answers that are still of use.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<(OwnerId, Asker), BTreeMap<u64, Answer>>);

impl Told {
    /// Forgets what this asker was answered before a number: the answers came.
    pub(super) fn forget_before(&mut self, asked: Asked, oldest_open: u64) {
        if self.0.is_empty() {
            return;
        }
        let who = (asked.owner, asked.from);
        let Some(answers) = self.0.get_mut(&who) else { return };
        if answers.first_key_value().is_some_and(|(no, _)| *no < oldest_open) {
            *answers = answers.split_off(&oldest_open);
        }
        if answers.is_empty() {
            self.0.remove(&who);
        }
    }

    pub(super) fn remember(&mut self, asked: Asked, answer: Answer) {
        self.0.entry((asked.owner, asked.from)).or_default().insert(asked.no, answer);
    }

    /// The answer when it was asked before; `None`: it was not.
    pub(super) fn before(&self, asked: Asked) -> Option<&Answer> {
        self.0.get(&(asked.owner, asked.from))?.get(&asked.no)
    }

    pub(super) fn forget_owner(&mut self, owner: OwnerId) {
        self.0.retain(|(who, _), _| *who != owner);
    }
}
