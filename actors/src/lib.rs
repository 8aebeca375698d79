//! Who runs Taskyard's machines: one generic actor around a machine, mail between them, supervision, workers and probes.
//!
//! - [`shell`]: the actor around every machine · [`tell`] its message · [`post`] its outgoing mail
//! - [`crew`]: the actors of one yard, hired and wired · [`thread`] where they live · [`guardian`] what ends them
//! - [`store`]: the board where it is a database, on a thread of its own
//! - [`worker`]: the actor that drives one worker · [`workers`] those of a pool
//! - [`inlet`]: the way in from other threads · [`in_flight`] what is on its way · [`clock`] the time

pub mod clock;
pub mod crew;
pub mod guardian;
pub mod in_flight;
pub mod inlet;
mod last_word;
pub mod post;
pub mod shell;
pub mod store;
pub mod tell;
#[cfg(feature = "testing")]
pub mod testing;
pub mod thread;
pub mod worker;
pub mod workers;

pub use worker::{Launcher, Link, Reports};
