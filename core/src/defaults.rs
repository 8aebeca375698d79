//! Every default, in one table. The user's guide shows the same one.

use std::time::Duration;

/// How far ahead of its due time a parked task is taken into the Delayer.
pub const HORIZON: Duration = Duration::from_secs(2);
/// How many not yet due tasks a pool may have in the yard.
pub const NEAR_MAX: usize = 1_000;
/// How many tasks may be in the yard.
pub const LIVE_MAX: usize = 100_000;
/// How many unfinished tasks a memory board keeps.
pub const BOARD_MAX: usize = 100_000;
/// How many unfinished tasks a board on disk keeps.
pub const BOARD_MAX_ON_DISK: usize = 50_000_000;
/// How long a dispatcher's lease holds without renewal.
pub const LEASE: Duration = Duration::from_secs(10);
/// How many deliveries in a row may end with nobody left to report it.
pub const MAX_DELIVERIES: u32 = 5;
/// How long a submit waits for a store that fails.
pub const SUBMIT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the value of an ended task is kept.
pub const RESULT_TTL: Duration = Duration::from_hours(24);
/// The largest value that is kept, in bytes.
pub const RESULT_MAX: usize = 1 << 16;
/// How long ended tasks are kept.
pub const HISTORY_FOR: Duration = Duration::from_hours(7 * 24);
/// How many ended tasks are kept.
pub const HISTORY_MAX: usize = 1_000_000;
/// How many lanes may have unfinished tasks.
pub const LANES_MAX: usize = 10_000;
/// A task waits behind at most what arrived within 9 × aging after it.
pub const AGING: Duration = Duration::from_mins(1);
/// From `cancel` to SIGTERM.
pub const GRACE: Duration = Duration::from_secs(5);
/// From SIGTERM to SIGKILL.
pub const KILL_AFTER: Duration = Duration::from_secs(2);
/// How long running tasks have once the yard drains.
pub const DRAIN_GRACE: Duration = Duration::from_secs(10);
/// How long a surplus worker idles before it goes.
pub const IDLE_FOR: Duration = Duration::from_secs(30);
/// How many ended tasks a memory board remembers.
pub const REMEMBERED: usize = 10_000;
/// The largest message from a producer, a file or a worker, in bytes.
pub const MESSAGE_MAX: usize = 1 << 20;
/// How deep a message may nest.
pub const NESTING_MAX: usize = 128;
/// How many connections the socket serves at once.
pub const CONNECTIONS_MAX: usize = 1_000;
