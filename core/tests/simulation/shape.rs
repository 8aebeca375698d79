//! What a seed makes of the yard: how many nodes, which pools, whose bounds, which lease.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::blocker::Blocker;
use taskyard_core::conductor::{self, Conductor};
use taskyard_core::delayer::Delayer;
use taskyard_core::id::PoolId;
use taskyard_core::in_progress::InProgress;
use taskyard_core::lease::{self, Lease};
use taskyard_core::live::LiveIndex;
use taskyard_core::names::{Pattern, TaskName};
use taskyard_core::pool::{self, Pool};
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;
use taskyard_core::store::Registration;
use taskyard_core::time::Instant64;

use crate::mail::Post;
use crate::node::Node;
use crate::rng::Rng;
use crate::workers::Workers;

/// What all nodes of a world have in common.
pub(crate) struct Shape {
    pub(crate) nodes: u64,
    /// Whether the board is shared; else there is one node, and it lives as long as the board.
    pub(crate) shared: bool,
    pub(crate) lease: lease::Settings,
    pub(crate) max_deliveries: u32,
    /// How far wall clocks may be apart, in microseconds.
    pub(crate) skew: i64,
    /// Whether some tasks take their dispatcher with them.
    pub(crate) poison: bool,
    /// Faults stop then, if there is nothing more to submit.
    pub(crate) faulty_until: Instant64,
    pub(crate) router: Router,
    /// By pool: the names that its workers know, unless they are to be learned.
    names: Vec<Option<Vec<TaskName>>>,
}

impl Shape {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let shared = rng.permille(600);
        let mut shape = Self {
            nodes: if shared { 1 + rng.below(3) } else { 1 },
            shared,
            lease: lease::Settings {
                registration: Registration {
                    lease: Duration::from_millis(2_500 + rng.below(2_500)),
                    ..Registration::default()
                },
                strict: rng.permille(500),
            },
            max_deliveries: 2 + rng.below(3) as u32,
            skew: rng.pick(&[0, 0, 5_000_000, 3_600_000_000]),
            poison: shared && rng.permille(250),
            faulty_until: Instant64(0),
            router: Router::default(),
            names: Vec::new(),
        };
        if shape.poison {
            // So that a task can run as often as it may.
            shape.faulty_until = Instant64(rng.below(60_000_000) as i64);
        }
        for number in 0..=rng.below(2) as u8 {
            let learned = rng.permille(300);
            let names = (!learned).then(|| vec!["one".parse().unwrap(), "two".parse().unwrap()]);
            let pattern: Pattern = if number == 0 { "#" } else { "a.#" }.parse().unwrap();
            shape.router.bind(PoolId(number), &[pattern], names.as_deref());
            shape.names.push(names);
        }
        shape
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.names.len() as u8).map(PoolId)
    }

    /// A node that was not started yet.
    pub(crate) fn node(&self, rng: &mut Rng, life: u64, faults: bool) -> Node {
        let index = Arc::new(LiveIndex::default());
        let settings = conductor::Settings {
            near_max: 1 + rng.below(8) as usize,
            live_max: 2 + rng.below(30) as usize,
            shared: self.shared,
            max_deliveries: self.max_deliveries,
            submit_patience: Duration::from_secs(rng.pick(&[2, 3_600])),
            ..conductor::Settings::default()
        };
        let live_max = settings.live_max;
        let pool = |(number, names): (usize, &Option<Vec<TaskName>>)| {
            Pool::new(PoolId(number as u8), pool_settings(rng, names.clone()))
        };
        let pools: Vec<_> = self.names.iter().enumerate().map(pool).collect();
        Node {
            life,
            conductor: Conductor::new(settings, pools.len(), Arc::clone(&index)),
            owner: None,
            lease: self.shared.then(|| Lease::new(self.lease.clone())),
            index,
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(self.router.clone()),
            pools,
            workers: Workers::new(faults, self.shared),
            post: Post::default(),
            acts: std::collections::BTreeMap::new(),
            act_number: 0,
            live_max,
            ahead: rng.below(1 + self.skew.unsigned_abs()) as i64,
            halt: None,
            looks_at: Instant64(0),
            store_down: false,
            dies_at: None,
            cleared_by: None,
            drained: false,
            released: false,
        }
    }
}

fn pool_settings(rng: &mut Rng, names: Option<Vec<TaskName>>) -> pool::Settings {
    pool::Settings {
        min: rng.below(2) as u32,
        max: 1 + rng.below(4) as u32,
        names,
        idle_for: Duration::from_millis(500),
        grace: Duration::from_millis(100),
        kill_after: Duration::from_millis(100),
        drain_grace: Duration::from_millis(300),
        ready_within: Duration::from_secs(1),
        max_tasks: rng.permille(300).then(|| 1 + rng.below(5) as u32),
        timeout: rng.permille(200).then(|| Duration::from_millis(300)),
        ..pool::Settings::default()
    }
}
