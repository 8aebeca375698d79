//! Boards that outlive the yard: each answers the Board's requests behind the actors'
//! [`Store`](taskyard_actors::store::Store) trait.
//!
//! What they share stands here: how a [record](record) looks outside memory, how a stored task is [read](reading) back,
//! which [lanes] there are and who takes them, and what was [answered](remembered) to whom. What a board decides (where a
//! row goes, in which order) is [`taskyard_core::filing`].

pub(crate) mod lanes;
#[cfg(feature = "postgres")]
pub mod postgres;
pub(crate) mod reading;
pub(crate) mod record;
pub(crate) mod remembered;
pub mod setup;

pub use setup::Setup;
