//! Boards on a Postgres server: what several dispatchers, a server that goes away, and applications make of them. Without a
//! server nothing is tested here, and that is said.
#![cfg(feature = "postgres")]

mod breaks;
mod clocks;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod desk;
mod durability;
mod hints;
mod leases;
mod node;
mod opening;
mod pages;
mod private;
mod proxy;
mod restart;
mod schedules;
mod server;
mod sharing;
mod submitter;
#[path = "../../core/tests/board/task.rs"]
#[allow(dead_code, reason = "the suite uses more of it")]
mod task;
mod yard;
