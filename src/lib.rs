//! x

pub mod context;
pub mod handler;
pub mod inline;
mod local;
pub mod payload;
pub mod process;
mod protocol;
pub mod registry;
pub mod submit;
pub mod threads;
pub mod worker;
