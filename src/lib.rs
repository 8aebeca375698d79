//! Taskyard: an actor-model task dispatcher. Tasks now, later, on a schedule and again after a failure, in supervised
//! workers.
//!
//! A [`Yard`] is built with [`Yard::builder`], runs on a thread of its own beside whatever runtime the host has (tokio,
//! actix, actix-web, or none), and is spoken to through its handle, which can be cloned and sent anywhere.
//!
//! - [`handler`]: what a kind of task is · [`context`] what it sees of the yard · [`registry`] those that a binary has
//! - [`pool`]: who runs tasks, set up · [`process`] [`threads`] [`inline`] its kinds · [`launcher`] a kind of one's own ·
//!   [`worker`] what a worker process is
//! - [`builder`]: how a yard is set up · [`yard`] the handle
//! - [`draft`]: a task being written · [`submit`] how it gets in · [`task_handle`] what follows it
//! - [`service`]: a yard from a configuration, with its [`producers`] and its [`control`] commands
//! - [`errors`]: what can go wrong, each with what to do
//! - [`store`]: where tasks are kept
//! - [`config`]: what stands in one · [`schedule`] when schedules are due
//! - [`testing`]: a yard for tests

mod board_calls;
pub mod builder;
mod calls;
pub mod config;
pub mod context;
pub mod control;
mod desk;
pub mod draft;
pub mod errors;
pub mod handler;
mod ids;
pub mod inline;
pub mod launcher;
mod local;
pub mod payload;
pub mod pool;
pub mod process;
pub mod producers;
mod protocol;
mod readiness;
pub mod registry;
pub mod schedule;
pub mod service;
pub mod store;
pub mod submit;
pub mod task_handle;
#[cfg(feature = "testing")]
pub mod testing;
pub mod threads;
mod watch;
pub mod worker;
pub mod yard;

pub use builder::{Builder, PoolSpec};
pub use draft::Draft;
pub use errors::{
    AskError, CancelError, NoOutcome, NotTaken, ScaleError, StartError, SubmitError, TaskFailed, YardDown,
};
pub use ids::fresh_id;
pub use pool::Pool;
pub use store::StoreChoice;
pub use submit::Refused;
pub use task_handle::{BatchHandle, Ended, TaskHandle};
pub use taskyard_actors::guardian::Closed;
pub use taskyard_core as core;
pub use yard::{Remains, Stages, Submitted, WeakYard, Yard};

/// The programs in the documents compile.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/tasks.md")]
    struct Tasks;
}
