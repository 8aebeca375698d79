//! Opens the store that was chosen, on a thread of its own, and says who registers there. It decides nothing about tasks.

use std::time::Duration;

use taskyard_actors::shell::Surroundings;
use taskyard_actors::store::{Bell, Closing, Opened, Store, open};
use taskyard_core::defaults::BOARD_MAX_ON_DISK;
use taskyard_core::names::Pattern;
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
use crate::config::ConfigError;
use crate::errors::StartError;
use crate::registry::Registry;

impl StoreChoice {
    /// `patterns`: those of all pools here. `None`: there is nothing to open, as the board is in memory.
    pub(crate) fn open(
        self,
        surroundings: &Surroundings,
        setup: Setup,
        patterns: Vec<Pattern>,
    ) -> Result<Option<(Opened, Closing)>, StartError> {
        if !self.is_durable() {
            return Ok(None);
        }
        check_lease(self.lease)?;
        let (store, lease) = (self.to_string(), self.lease_settings(patterns));
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

    fn lease_settings(&self, patterns: Vec<Pattern>) -> lease::Settings {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").into());
        let registration = Registration { host, pid, version, lease: self.lease, patterns };
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
                let open = || {
                    let bell = bell.clone();
                    Postgres::open(options.clone(), setup.clone(), move || bell.ring())
                };
                Ok(Box::new(patiently(open, |why| matches!(why, postgres::OpenError::Unreachable(_)))?))
            }
            #[cfg(not(feature = "postgres"))]
            Place::Named(StoreUrl::Postgres(_)) => Err(missing("postgres")),
        }
    }
}

/// The shortest lease: a third of it must be long enough for a renewal on a busy machine.
const LEASE_MIN: Duration = Duration::from_secs(2);
/// The longest lease: so long what a dead dispatcher held waits.
const LEASE_MAX: Duration = Duration::from_hours(1);

/// Whether a lease can be so long.
pub(crate) fn check_lease(lease: Duration) -> Result<(), ConfigError> {
    let (min, max) = (LEASE_MIN.as_secs(), LEASE_MAX.as_secs());
    let fits = (LEASE_MIN..=LEASE_MAX).contains(&lease);
    let refuse = || ConfigError::new("store.lease", format!("must be from {min} s to {max} s"));
    if fits { Ok(()) } else { Err(refuse()) }
}

#[cfg(not(all(feature = "postgres", feature = "sqlite")))]
fn missing(feature: &str) -> OpenError {
    format!("this program was built without the feature `{feature}`").into()
}

/// How long a server may be out of reach at the start, as when both start together.
#[cfg(feature = "postgres")]
const START_PATIENCE: Duration = Duration::from_secs(10);
/// The pause before the second attempt; it doubles with each.
#[cfg(feature = "postgres")]
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Tries again while what is wrong may pass, for a while.
#[cfg(feature = "postgres")]
fn patiently<T, E: std::fmt::Display>(
    mut open: impl FnMut() -> Result<T, E>,
    may_pass: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
    loop {
        match open() {
            Err(why) if may_pass(&why) && waited < START_PATIENCE => {
                tracing::warn!(%why, "the store does not open; trying again in {pause:?}");
            }
            opened => return opened,
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (2 * pause).min(START_PATIENCE.saturating_sub(waited));
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_what_may_not_is_told_at_once() {
        let mut left = 2;
        let opened = patiently(
            || {
                left -= 1;
                if left > 0 { Err("starting") } else { Ok(7) }
            },
            |_| true,
        );
        assert_eq!(opened, Ok(7));
        let mut tries = 0;
        let refused = patiently(
            || {
                tries += 1;
                Err::<(), _>("a newer version")
            },
            |_| false,
        );
        assert_eq!((refused, tries), (Err("a newer version"), 1));
    }
}
