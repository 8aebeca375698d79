//! Where tasks are kept: in memory, or on boards that outlive the yard. Those answer the Board's requests behind the actors'
//! [`Store`] trait.
//!
//! - [`StoreChoice`]: which one a yard has · [`StoreUrl`] its name in one line of text · [`Setup`] what it must know
//!
//! What durable stores share stands here: how a record looks outside memory, how a stored task is read back, which lanes
//! there are and who takes them, and what was answered to whom. What a board decides (where a row goes, in which order) is
//! [`taskyard_core::filing`].

pub(crate) mod choice;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod lanes;
pub(crate) mod opening;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod reading;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod record;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod remembered;
pub mod setup;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod url;

pub use choice::{Durability, Kept, OpenError, StoreChoice};
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use setup::Setup;
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use taskyard_actors::store::{Bell, Store, StoreDown, StoreStatus};
pub use url::{BadStoreUrl, StoreUrl};
