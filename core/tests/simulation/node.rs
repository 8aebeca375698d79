//! One dispatcher: its machines on the shipped wiring, its mail, its workers and its wall clock. It knows of no other node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::blocker::Blocker;
use taskyard_core::board::Board;
use taskyard_core::conductor::{self, Conductor};
use taskyard_core::delayer::Delayer;
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::in_progress::InProgress;
use taskyard_core::lease::Lease;
use taskyard_core::live::LiveIndex;
use taskyard_core::pool::Pool;
use taskyard_core::queuer::Queuer;
use taskyard_core::store::OwnerId;
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Now, Stage, Wakeup};

use crate::checks::Checks;
use crate::mail::{Post, Role, Way};
use crate::rng::Rng;
use crate::workers::{Act, Workers};

/// How long it takes to make a task stop, whatever it does, and more.
pub(crate) const LADDER: Duration = Duration::from_secs(2);

/// What a node does not know of and its turns touch.
pub(crate) struct Around<'a> {
    /// By the node's own clocks.
    pub(crate) now: Now,
    pub(crate) rng: &'a mut Rng,
    /// Only looked at.
    pub(crate) board: &'a mut Board,
    pub(crate) checks: &'a mut Checks,
    /// Whether a machine's invariants are checked after this turn.
    pub(crate) careful: bool,
    /// Whether there are tasks that take their dispatcher with them.
    pub(crate) poison: bool,
}

/// What a node does not do for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Anything, as if it were stopped by a signal. Its workers go on.
    Stopped,
    /// Anything but what runs with the store: its own thread is busy.
    Busy,
    /// Reach the board.
    CutOff,
}

impl Halt {
    fn stops(self, way: Way) -> bool {
        let (from, to) = way;
        match self {
            Self::Stopped => true,
            Self::Busy => to != Role::Lease && way != (Role::Lease, Role::Board),
            Self::CutOff => from == Role::Board || to == Role::Board,
        }
    }

    fn lets_wake(self, role: Role) -> bool {
        match self {
            Self::Stopped => false,
            Self::Busy => role == Role::Lease,
            Self::CutOff => true,
        }
    }
}

pub(crate) struct Node {
    /// Its number; one that is started in a dead one's place has another.
    pub(crate) life: u64,
    pub(crate) conductor: Conductor,
    /// As whom its Conductor asks; none: without a registration, or the board is not shared.
    pub(crate) owner: Option<OwnerId>,
    /// None: the board is not shared.
    pub(crate) lease: Option<Lease>,
    pub(crate) index: Arc<LiveIndex>,
    pub(crate) delayer: Delayer,
    pub(crate) blocker: Blocker,
    pub(crate) in_progress: InProgress,
    pub(crate) queuer: Queuer,
    pub(crate) pools: Vec<Pool>,
    pub(crate) workers: Workers,
    pub(crate) post: Post,
    pub(crate) acts: BTreeMap<(Instant64, u64), (WorkerId, Act)>,
    pub(crate) act_number: u64,
    pub(crate) live_max: usize,
    /// How far its wall clock is ahead of the world's.
    pub(crate) ahead: i64,
    pub(crate) halt: Option<(Halt, Instant64)>,
    /// When its gateway next looks whether others changed the board.
    pub(crate) looks_at: Instant64,
    /// Whether its Conductor was told that the store fails.
    pub(crate) store_down: bool,
    /// When a task that it runs takes it down.
    pub(crate) dies_at: Option<Instant64>,
    /// When what it ran for the registration that it lost must have ended.
    pub(crate) cleared_by: Option<Instant64>,
    pub(crate) drained: bool,
    pub(crate) released: bool,
}

impl Node {
    /// What its clocks say.
    pub(crate) fn now(&self, world: Now) -> Now {
        Now { mono: world.mono, wall: Timestamp(world.wall.0 + self.ahead) }
    }

    /// Whether it does nothing at all.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.halt, Some((Halt::Stopped, _)))
    }

    /// The ways on which mail may arrive now.
    pub(crate) fn ways(&self, board_stalls: bool) -> impl Iterator<Item = Way> {
        let stopped = move |way: &Way| {
            board_stalls && way.1 == Role::Board || self.halt.is_some_and(|(halt, _)| halt.stops(*way))
        };
        self.post.ways().filter(move |way| !stopped(way))
    }

    pub(crate) fn tell(&mut self, event: conductor::Event) {
        self.post.send(Role::World, Mail::Conductor(event));
    }

    pub(crate) fn wishes(&self) -> Vec<(Role, Wakeup)> {
        let mut wishes = vec![
            (Role::Conductor, self.conductor.next_wakeup()),
            (Role::Delayer, self.delayer.next_wakeup()),
        ];
        wishes.extend(self.lease.iter().map(|lease| (Role::Lease, lease.next_wakeup())));
        wishes.extend((0..).zip(&self.pools).map(|(id, pool)| (Role::Pool(PoolId(id)), pool.next_wakeup())));
        let lets = |role| self.halt.is_none_or(|(halt, _)| halt.lets_wake(role));
        wishes.retain(|(role, wish)| *wish != Wakeup::NEVER && lets(*role));
        wishes
    }

    /// Goes on after it did nothing for a while, if that is over.
    pub(crate) fn go_on(&mut self, now: Instant64) {
        if self.halt.is_some() {
            self.cleared_by = self.cleared_by.map(|_| now + LADDER);
        }
        self.halt = self.halt.filter(|(_, over)| *over > now);
    }

    /// A while after the lease was lost nothing of it runs any more, unless the node could not act.
    pub(crate) fn check_cleared(&mut self, around: &mut Around<'_>) {
        let now = around.now.mono;
        if self.cleared_by.take_if(|at| *at <= now).is_none() {
            return;
        }
        for run in self.workers.running() {
            let owner = around.checks.record.owner(run.task.id, run.epoch);
            assert_eq!(owner, self.owner, "{} is another's and runs on", run.task.id);
        }
    }

    /// Whether a worker lives or something is on its way or in the yard.
    pub(crate) fn is_busy(&self) -> bool {
        self.conductor.live() > 0 || self.workers.running().next().is_some()
    }

    pub(crate) fn check_empty(&self) {
        assert_eq!(self.conductor.live(), 0);
        assert_eq!(self.index.len(), 0);
        assert_eq!(self.held(), 0, "a stage still holds something");
        assert_eq!(self.workers.running().count(), 0);
        assert!(self.in_progress.is_empty(), "a grant was never released");
    }

    fn held(&self) -> usize {
        self.delayer.len() + self.blocker.len() + self.queuer.len()
    }

    pub(crate) fn check_invariants(&self) {
        self.conductor.check_invariants();
        self.delayer.check_invariants();
        self.blocker.check_invariants();
        self.in_progress.check_invariants();
        self.queuer.check_invariants();
        self.pools.iter().for_each(Machine::check_invariants);
    }

    pub(crate) fn where_all_is(&self) -> String {
        format!(
            "node {}: in the yard {}, delayed {}, blocked {}, queued {}, running {}",
            self.life,
            self.conductor.live(),
            self.delayer.len(),
            self.blocker.len(),
            self.queuer.len(),
            self.workers.running().count(),
        )
    }
}
