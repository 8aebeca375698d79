//! Opens the store that was chosen, on a thread of its own, and says who registers there. It decides nothing about tasks.

use taskyard_actors::shell::Surroundings;
use taskyard_actors::store::{Bell, Closing, Opened, Store, open};
use taskyard_core::defaults::BOARD_MAX_ON_DISK;
use taskyard_core::router::Router;
use taskyard_core::store::Registration;
use taskyard_core::{board, conductor, lease};

use super::choice::{OpenError, Place, StoreChoice};
#[cfg(feature = "postgres")]
use super::postgres::{self, Postgres};
use super::setup::Setup;
#[cfg(feature = "sqlite")]
use super::sqlite::{Options, Sqlite};
use super::url::StoreUrl;
use crate::errors::StartError;
use crate::registry::Registry;

impl StoreChoice {
    /// `None`: there is nothing to open, as the board is in memory.
    pub(crate) fn open(
        self,
        surroundings: &Surroundings,
        setup: Setup,
    ) -> Result<Option<(Opened, Closing)>, StartError> {
        if !self.is_durable() {
            return Ok(None);
        }
        let (store, lease) = (self.to_string(), self.lease_settings());
        let opened = open(surroundings, lease, move |bell| self.open_here(setup, bell));
        match opened {
            Ok(Ok(opened)) => Ok(Some(opened)),
            Ok(Err(why)) => Err(StartError::Store { store, why }),
            Err(why) => Err(StartError::Thread(why)),
        }
    }

    /// As a board of this kind is set up if nothing is said.
    pub(crate) fn usual_board(&self) -> board::Settings {
        let usual = board::Settings::default();
        let board_max = if self.is_durable() { BOARD_MAX_ON_DISK } else { usual.board_max };
        board::Settings { board_max, ..usual }
    }

    /// What the Conductor must know of the store.
    pub(crate) fn inform(&self, conductor: &mut conductor::Settings) {
        conductor.shared = self.is_durable();
        conductor.history_for = self.kept.history;
        conductor.history_max = self.kept.history_max;
        conductor.result_ttl = self.kept.result_ttl;
    }

    /// What the store must know of the yard.
    pub(crate) fn setup(&self, router: Router, board: board::Settings, registry: &Registry) -> Setup {
        let setup = Setup { board, result_max: self.kept.result_max, ..Setup::new(router) };
        setup.registry(registry.clone())
    }

    fn lease_settings(&self) -> lease::Settings {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").into());
        let registration = Registration { host, pid, version, lease: self.lease };
        lease::Settings { registration, strict: self.is_remote() }
    }

    /// Blocks until the store is there.
    pub(crate) fn open_here(self, setup: Setup, bell: Bell) -> Result<Box<dyn Store>, OpenError> {
        match self.place {
            Place::Custom { open, .. } => open(setup, bell),
            Place::Named(StoreUrl::Memory) => Err("a board in memory is not opened".into()),
            #[cfg(feature = "sqlite")]
            Place::Named(StoreUrl::Sqlite(path)) => {
                let options = Options { durability: self.durability, ..Options::new(setup) };
                Ok(Box::new(Sqlite::open(path, options)?))
            }
            #[cfg(not(feature = "sqlite"))]
            Place::Named(StoreUrl::Sqlite(_)) => Err(missing("sqlite")),
            #[cfg(feature = "postgres")]
            Place::Named(StoreUrl::Postgres(url)) => {
                let usual = postgres::Options::new(url.parse()?);
                let (schema, patience) = (self.schema.parse()?, self.lease / 3);
                let options = postgres::Options { schema, durability: self.durability, patience, ..usual };
                Ok(Box::new(Postgres::open(options, setup, move || bell.ring())?))
            }
            #[cfg(not(feature = "postgres"))]
            Place::Named(StoreUrl::Postgres(_)) => Err(missing("postgres")),
        }
    }
}

#[cfg(not(all(feature = "postgres", feature = "sqlite")))]
fn missing(feature: &str) -> OpenError {
    format!("this program was built without the feature `{feature}`").into()
}
