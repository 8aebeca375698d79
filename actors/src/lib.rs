//! x

pub mod worker;

pub use worker::{Launcher, Link, Reports};
