//! What the Lease asks, and what is asked about owners.

use taskyard_core::dispatch::DispatchName;
use taskyard_core::store::{Answer, OwnerId, OwnerView, Registration, Renewal, Request};

use super::{LEASE, Rig};
use crate::suite::task::id;

impl Rig {
    /// Another owner, with pools as the store has them; who asks remains the same.
    pub(crate) fn register(&mut self) -> OwnerId {
        self.register_with(&["a.#", "b.#", "a.shared"])
    }

    /// Another owner, whose pools have these patterns; who asks remains the same.
    pub(crate) fn register_with(&mut self, patterns: &[&str]) -> OwnerId {
        let patterns = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let (host, version) = ("here".into(), "1".into());
        match self.ask(Request::Register(Registration { host, pid: 7, version, lease: LEASE, patterns })) {
            Answer::Registered(owner) => owner,
            other => panic!("{other:?}"),
        }
    }

    /// What who asks has, with its epochs, oldest first.
    pub(crate) fn held(&mut self) -> Vec<(u64, u32)> {
        match self.ask(Request::Held) {
            Answer::Held(names) => names.iter().map(|name| (name.id.0 as u64, name.epoch)).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn renew(&mut self) -> Renewal {
        match self.ask(Request::Renew) {
            Answer::Renewed(renewal) => renewal,
            other => panic!("{other:?}"),
        }
    }

    /// How many rows were given back, and whether there are more.
    pub(crate) fn take_over(&mut self, up_to: usize) -> (usize, bool) {
        match self.ask(Request::TakeOver { up_to }) {
            Answer::TakenOver { returned, more } => (returned, more),
            other => panic!("{other:?}"),
        }
    }

    /// Takes over all there is, in steps of so many rows. How many were given back.
    pub(crate) fn take_over_all(&mut self, step: usize) -> usize {
        let mut returned = 0;
        for _ in 0..1_000 {
            let (some, more) = self.take_over(step);
            returned += some;
            if !more {
                return returned;
            }
        }
        panic!("there is always more to take over");
    }

    pub(crate) fn owners(&mut self) -> Vec<OwnerView> {
        match self.ask(Request::Owners) {
            Answer::Owners(owners) => owners,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn mark_start(&mut self, n: u64, epoch: u32) -> bool {
        match self.ask(Request::MarkStart(DispatchName { id: id(n), epoch })) {
            Answer::Marked(marked) => marked,
            other => panic!("{other:?}"),
        }
    }
}
