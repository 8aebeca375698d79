//! Which board a yard has, and how it keeps what has ended. Said before the start; nothing is opened here before that.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taskyard_actors::store::{Bell, Store};
use taskyard_core::defaults;

use super::setup::Setup;
use super::url::StoreUrl;

/// What a store that does not open says of it.
pub type OpenError = Box<dyn std::error::Error + Send + Sync>;

/// Opens a store on the thread where it stays. The [`Bell`] is for a store that hears of what others do.
type Open = dyn Fn(Setup, Bell) -> Result<Box<dyn Store>, OpenError> + Send + Sync;

/// Where a yard keeps its tasks, and what has ended. The default is the memory of the process.
///
/// ```no_run
/// use std::time::Duration;
/// use taskyard::store::{Durability, StoreChoice};
/// use taskyard::{Pool, Yard};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = StoreChoice::sqlite("taskyard.db")
///     .durability(Durability::Normal)
///     .result_ttl(Duration::from_secs(3600));
/// let yard = Yard::builder().store(store).pool(Pool::process("default").pattern("#")).start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StoreChoice {
    pub(crate) place: Place,
    pub(crate) durability: Durability,
    pub(crate) schema: String,
    pub(crate) lease: Duration,
    pub(crate) kept: Kept,
}

/// Where it is.
#[derive(Clone)]
pub(crate) enum Place {
    Named(StoreUrl),
    Custom {
        open: Arc<Open>,
        /// See [`StoreChoice::is_remote`].
        remote: bool,
    },
}

/// What a task survives once its submit was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Loss of power.
    #[default]
    Full,
    /// A crash of the process; after a loss of power the last few seconds may be missing.
    Normal,
}

/// How long what has ended is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The value of a task.
    pub result_ttl: Duration,
    /// The largest value, in bytes. Of a task with a larger one is kept that it succeeded.
    pub result_max: usize,
    /// How a task ended.
    pub history: Duration,
    /// How many ended tasks at most.
    pub history_max: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            result_ttl: defaults::RESULT_TTL,
            result_max: defaults::RESULT_MAX,
            history: defaults::HISTORY_FOR,
            history_max: defaults::HISTORY_MAX,
        }
    }
}

/// In which schema of a Postgres database the tables are.
const SCHEMA: &str = "taskyard";

impl Default for StoreChoice {
    fn default() -> Self {
        Self::memory()
    }
}

impl From<StoreUrl> for StoreChoice {
    fn from(url: StoreUrl) -> Self {
        Self::at(Place::Named(url))
    }
}

impl StoreChoice {
    fn at(place: Place) -> Self {
        Self {
            place,
            durability: Durability::default(),
            schema: SCHEMA.into(),
            lease: defaults::LEASE,
            kept: Kept::default(),
        }
    }

    /// In the memory of this process: the fastest, and gone with it.
    pub fn memory() -> Self {
        StoreUrl::Memory.into()
    }

    /// In an SQLite file, which is made if it is not there.
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        StoreUrl::Sqlite(path.into()).into()
    }

    /// On a Postgres server, by its connection URL.
    pub fn postgres(url: impl Into<String>) -> Self {
        StoreUrl::Postgres(url.into()).into()
    }

    /// In a store of one's own. `open` is called at each start, on the thread on which the store then lives. It may keep the
    /// [`Bell`], and ring it when others have changed the board.
    pub fn custom(
        open: impl Fn(Setup, Bell) -> Result<Box<dyn Store>, OpenError> + Send + Sync + 'static,
    ) -> Self {
        Self::at(Place::Custom { open: Arc::new(open), remote: false })
    }

    /// What a task survives, in an SQLite file or on a Postgres server.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// In which schema of a Postgres database the tables are; `taskyard` if nothing is said.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// How long this yard's claims hold after its last sign of life; then another one runs its tasks again.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long the value of an ended task is kept.
    pub fn result_ttl(mut self, ttl: Duration) -> Self {
        self.kept.result_ttl = ttl;
        self
    }

    /// The largest value that is kept, in bytes.
    pub fn result_max(mut self, bytes: usize) -> Self {
        self.kept.result_max = bytes;
        self
    }

    /// How long it is kept how a task ended, and of how many at most. The trash is kept whatever its age.
    pub fn history(mut self, age: Duration, tasks: usize) -> Self {
        (self.kept.history, self.kept.history_max) = (age, tasks);
        self
    }

    /// Whether the tasks outlive the yard.
    pub fn is_durable(&self) -> bool {
        !matches!(self.place, Place::Named(StoreUrl::Memory))
    }

    /// Whether a lease that could not be renewed must be taken for lost: where others may reach the store while this yard
    /// can't.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.place, Place::Named(StoreUrl::Postgres(_)) | Place::Custom { remote: true, .. })
    }
}

impl fmt::Debug for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where it is, without passwords.
impl fmt::Display for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Named(url) => url.fmt(f),
            Place::Custom { .. } => f.write_str("a store of its own"),
        }
    }
}
