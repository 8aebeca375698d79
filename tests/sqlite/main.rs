//! What only a file can meet: other processes, other files, damage, and a disk that is full. What every store must answer
//! stands in `board_sqlite`. That a loss of power loses nothing cannot be tested here: it is SQLite's promise at
//! `synchronous = FULL`, and that this is what SQLite is told is held by a test beside `open.rs`.
#![cfg(feature = "sqlite")]

mod children;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod desk;
mod disk;
mod folder;
mod opening;
mod owners;
mod replaced;
mod sharing;
mod yards;
