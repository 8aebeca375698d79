//! The sources that tasks come from.

pub mod lines;
