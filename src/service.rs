//! A yard as a service: built from a configuration, with its producers and its socket, until it is drained. What a program
//! does with signals, and what it prints, is its own matter.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::builder::Builder;
use crate::config::{ScheduleSettings, Settings};
use crate::control::execute::{Executor, LogLevelHook};
use crate::errors::{AskError, StartError};
use crate::producers::file::JsonLines;
use crate::producers::on_start::OnStart;
use crate::producers::schedules::Scheduled;
use crate::producers::socket::{Address, AddressError, Socket};
use crate::producers::status::Snapshot;
use crate::producers::supervision::Producers;
use crate::producers::{Intake, Kind, Producer as _, ProducerError, Roster};
use crate::registry::Registry;
use crate::yard::{Remains, Yard};

/// How long the last replies may take to be read once the yard has drained.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The socket can't be had.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The yard did not start.
    #[error(transparent)]
    Yard(#[from] StartError),
}

/// A running yard with its producers. Dropping it ends the yard at once, without a drain.
#[derive(Debug)]
pub struct Service {
    yard: Yard,
    roster: Arc<Roster>,
    executor: Arc<Executor>,
    producers: Producers,
    /// Apart from the others: it answers until the drain is over.
    socket: Producers,
}

impl Service {
    /// Starts the yard of `settings`, whose own handlers are those of `registry`, with its producers. `adapt` may set up
    /// more. Needs a tokio runtime around, on which the producers live.
    pub fn start(
        settings: Settings,
        registry: Registry,
        adapt: impl FnOnce(Builder) -> Builder,
    ) -> Result<Self, ServiceError> {
        // First of all: another server's path is no reason to start any worker.
        let address = settings.socket.as_deref().map(Address::claim).transpose()?;
        let builder = Yard::builder().registry(registry).conductor(settings.conductor);
        let builder = builder.store(settings.store).board(settings.board);
        let builder = settings.pools.into_iter().fold(builder, Builder::pool);
        let yard = adapt(builder).start()?;
        let roster = Arc::new(Roster::default());
        let executor =
            Executor::new(yard.clone(), Arc::clone(&roster)).with_schedules(settings.schedules.clone());
        let mut service = Self {
            yard,
            roster,
            executor: Arc::new(executor),
            producers: Producers::default(),
            socket: Producers::default(),
        };
        service.open(address);
        service.begin(settings.on_start, settings.schedules);
        Ok(service)
    }

    fn open(&mut self, address: Option<Address>) {
        if let Some(address) = address {
            let intake = self.intake(Kind::Socket, name_of(address.path()));
            self.socket.start(Socket::new(address, Arc::clone(&self.executor)), intake);
        }
    }

    fn begin(&mut self, on_start: Vec<String>, schedules: Vec<ScheduleSettings>) {
        if !on_start.is_empty() {
            let intake = self.intake(Kind::OnStart, "on_start");
            self.producers.start(OnStart::new(on_start), intake);
        }
        let now = self.yard.now().wall;
        for schedule in schedules {
            let intake = self.intake(Kind::Schedule, schedule.name.clone());
            self.producers.start(Scheduled::new(schedule, now), intake);
        }
    }

    /// The yard.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Pulls the tasks of these lines too, for as long as it takes.
    pub fn pull(&mut self, lines: JsonLines) {
        let intake = self.intake(Kind::File, lines.name());
        self.producers.start(lines, intake);
    }

    /// Pulls the tasks of these lines, and does not try again if the source fails.
    pub fn pull_once(
        &self,
        mut lines: JsonLines,
    ) -> impl Future<Output = Result<(), ProducerError>> + Send + 'static {
        let intake = self.intake(Kind::File, lines.name());
        async move { lines.run(&intake).await }
    }

    /// What each producer says of itself.
    pub fn producers(&self) -> Vec<Snapshot> {
        self.roster.snapshots()
    }

    /// Resolves once a shutdown was asked for by a control command.
    pub async fn shutdown_asked(&self) {
        self.executor.shutdown_asked().await;
    }

    /// What the control command `set_log_level` does.
    pub fn on_log_level(&self, hook: LogLevelHook) {
        self.executor.on_log_level(hook);
    }

    /// Stops schedules and sources, then drains the yard: see [`Yard::drain_and_count`]. The socket answers until that is over.
    pub async fn drain(&mut self) -> Result<Remains, AskError> {
        self.producers.stop().await;
        let remains = self.yard.drain_and_count().await;
        if let Ok(remains) = &remains {
            self.executor.drained(remains.clone());
        }
        drop(tokio::time::timeout(LAST_REPLIES, self.executor.replied()).await);
        self.socket.stop().await;
        // The store is closed too then: a program that ends now leaves nothing of it half done.
        self.yard.closed().await;
        remains
    }

    fn intake(&self, kind: Kind, name: impl Into<String>) -> Intake {
        let status = self.roster.enter(kind, name);
        Intake::new(self.yard.clone(), status)
    }
}

fn name_of(path: &Path) -> String {
    path.display().to_string()
}
