//! What Taskyard decides, as pure state machines: no clock, no I/O, no randomness, no async, no actor.
//!
//! Each machine is told [events](Machine::Event) and says what it wants told to whom ([`Machine::Effect`]); who that is
//! stands in one place, [`wiring`].

pub mod blocker;
pub mod board;
pub mod chunks;
pub mod conductor;
pub mod defaults;
pub mod delayer;
pub mod dispatch;
pub mod filing;
pub mod id;
pub mod in_progress;
pub mod keys;
pub mod lanes;
pub mod lease;
pub mod live;
pub mod machine;
pub mod map;
pub mod names;
pub mod new_task;
pub mod options;
pub mod paired;
pub mod pool;
pub mod queuer;
pub mod rfc3339;
pub mod router;
pub mod schedule;
pub mod status;
pub mod store;
pub mod task;
pub mod time;
pub mod topic;
pub mod trie;
pub mod window;
pub mod wire;
pub mod wiring;
pub mod worker;

pub use id::TaskId;
pub use machine::{Machine, Stage};
pub use time::{Now, Wakeup};
