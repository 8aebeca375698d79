//! Real supervisors on one board, killed with SIGKILL at random moments and held up with SIGSTOP: what was accepted is not
//! lost, what ran is what is recorded, and who comes too late is refused.
#![cfg(all(feature = "sqlite", feature = "testing"))]

mod acknowledged;
mod board;
mod campaign;
mod crowd;
mod dice;
mod dispatcher;
#[path = "../supervisor/harness.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod harness;
mod journal;
mod owners;
mod plan;
#[cfg(feature = "postgres")]
#[path = "../postgres/private.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod private;
mod random;
#[cfg(feature = "postgres")]
#[path = "../postgres/server.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod server;
mod site;
mod team;
mod verdict;
