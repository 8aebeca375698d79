//! Boards on a Postgres server: what several dispatchers, a server that goes away, and applications make of them. Without a
//! server nothing is tested here, and that is said.
#![cfg(feature = "postgres")]

mod breaks;
mod clocks;
mod desk;
mod hints;
mod opening;
mod private;
mod proxy;
mod restart;
mod server;
mod sharing;
mod submitter;
#[path = "../../core/tests/board/task.rs"]
#[allow(dead_code, reason = "the suite uses more of it")]
mod task;
