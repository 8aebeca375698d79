//! The mail of one node: first in, first out per pair of sender and addressee, free across pairs.

use std::collections::{BTreeMap, VecDeque};

use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::wiring::Mail;

/// Who sends or receives mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    World,
    Conductor,
    Board,
    Lease,
    Delayer,
    Blocker,
    InProgress,
    Queuer,
    Pool(PoolId),
    Worker(WorkerId),
    Edge,
}

/// Sender and addressee.
pub(crate) type Way = (Role, Role);

/// What was sent and did not arrive yet.
#[derive(Default)]
pub(crate) struct Post(BTreeMap<Way, VecDeque<Mail>>);

impl Post {
    pub(crate) fn send(&mut self, from: Role, mail: Mail) {
        self.0.entry((from, addressee(&mail))).or_default().push_back(mail);
    }

    /// The ways on which there is mail.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> {
        self.0.keys().copied()
    }

    /// The first on this way.
    pub(crate) fn take(&mut self, way: Way) -> Option<Mail> {
        let queue = self.0.get_mut(&way)?;
        let mail = queue.pop_front();
        if queue.is_empty() {
            self.0.remove(&way);
        }
        mail
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn addressee(mail: &Mail) -> Role {
    match mail {
        Mail::Conductor(_) => Role::Conductor,
        Mail::Board(_) => Role::Board,
        Mail::Lease(_) => Role::Lease,
        Mail::Delayer(_) => Role::Delayer,
        Mail::Blocker(_) => Role::Blocker,
        Mail::InProgress(_) => Role::InProgress,
        Mail::Queuer(_) => Role::Queuer,
        Mail::Pool(pool, _) => Role::Pool(*pool),
        Mail::Worker(worker, _) => Role::Worker(*worker),
        Mail::Answer(..) | Mail::Happened(_) => Role::Edge,
    }
}
