//! Owners: the dispatchers that share a board, each registered with a lease.

use std::fmt;
use std::time::Duration;

use crate::id::TaskId;
use crate::names::{Namespace, Pattern};
use crate::router;

/// One registration of a dispatcher; never reused. A dispatcher that was fenced registers anew and is another owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct OwnerId(pub u64);

impl OwnerId {
    /// The only owner of a board that is not shared: it needs no registration and its lease never ends. With a shared
    /// board: who has not registered yet, and holds nothing.
    pub const SOLE: Self = Self(0);
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who registers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registration {
    /// The machine's name.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Taskyard's version.
    pub version: String,
    /// How long the lease holds without renewal.
    pub lease: Duration,
    /// What its pools take: the patterns of all of them.
    pub patterns: Vec<Pattern>,
}

/// Whether an owner other than the asking one may take tasks of a namespace of which the asking one's pools do not take the
/// lane in question. `live`: the owners whose leases hold, with the patterns of their pools; which names their workers know is
/// not known. A pattern that the asking owner has as well does not count: which names go with that is known.
pub fn others_take<'p>(
    live: impl Iterator<Item = (OwnerId, &'p [Pattern])> + Clone,
    asking: OwnerId,
    namespace: &Namespace,
) -> bool {
    let own = live.clone().find(|(id, _)| *id == asking).map_or(&[][..], |(_, patterns)| patterns);
    let others = live.filter(|(id, _)| *id != asking).flat_map(|(_, patterns)| patterns);
    others.into_iter().any(|pattern| router::matches(pattern, namespace) && !own.contains(pattern))
}

/// What an owner learns when it renews its lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renewal {
    /// Tasks of its own that somebody wants cancelled. Told at each renewal until they are settled.
    pub marked: Vec<TaskId>,
    /// Whether another owner's lease has ended (or it is fenced already) and it has tasks left: they can be taken over.
    pub lapsed: bool,
}

/// An owner, as status pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerView {
    /// Which.
    pub id: OwnerId,
    /// Who.
    pub registration: Registration,
    /// How long its lease still holds; zero: it has ended.
    pub lease_left: Duration,
    /// Whether its tasks are being taken over.
    pub fenced: bool,
    /// How many tasks it holds.
    pub held: usize,
}
