//! A pool's workers: which actor drives which, and the commands of this turn for each. A refilled slot is a new actor.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use actix::Recipient;
use taskyard_core::id::WorkerId;
use taskyard_core::map::Map;
use taskyard_core::pool;
use taskyard_core::worker::Command;

use crate::in_flight::InFlight;
use crate::inlet::Inlet;
use crate::post::Outbox;
use crate::tell::Tell;
use crate::worker::{Launcher, Worker};

/// The launcher of a pool, shared by the actors of its workers; they live on one thread.
pub(crate) type SharedLauncher = Rc<RefCell<Box<dyn Launcher>>>;

/// The workers of one pool.
pub struct Workers {
    pool_name: Box<str>,
    launcher: SharedLauncher,
    reports: Arc<Inlet<pool::Event>>,
    driven: Map<u32, Outbox<Command>>,
    /// Those with commands in this turn.
    addressed: Vec<u32>,
    in_flight: InFlight,
}

impl Workers {
    /// No worker yet; `pool` is told what they report.
    pub fn new(
        pool_name: &str,
        launcher: Box<dyn Launcher>,
        pool: Recipient<Tell<pool::Event>>,
        in_flight: &InFlight,
    ) -> Self {
        Self {
            pool_name: pool_name.into(),
            launcher: Rc::new(RefCell::new(launcher)),
            reports: Inlet::new(pool, in_flight.clone()),
            driven: Map::default(),
            addressed: Vec::new(),
            in_flight: in_flight.clone(),
        }
    }

    /// Takes a command in. One for a worker that is gone is dropped: its [`Exited`](taskyard_core::worker::Report::Exited)
    /// is on its way.
    pub fn put(&mut self, worker: WorkerId, command: Command) {
        if matches!(command, Command::Launch) {
            self.hire(worker);
        }
        if let Some(outbox) = self.driven.get_mut(&worker.number) {
            outbox.put(command);
            if self.addressed.last() != Some(&worker.number) {
                self.addressed.push(worker.number);
            }
        }
    }

    /// Sends each addressed worker its commands.
    pub fn deliver(&mut self) {
        for number in self.addressed.drain(..) {
            if let Some(outbox) = self.driven.get_mut(&number) {
                outbox.deliver(&self.in_flight);
            }
        }
    }

    fn hire(&mut self, worker: WorkerId) {
        self.driven.retain(|_, outbox| outbox.is_connected());
        let name = format!("{}-{}", self.pool_name, worker.number);
        let addr = Worker::hire(worker, name, Rc::clone(&self.launcher), &self.reports);
        self.driven.insert(worker.number, Outbox::new(&addr.recipient()));
    }
}
