//! The scenarios, black-box over the facade: real processes and real time wherever the behaviour is about them.

mod basket_disk;
mod board_disk;
mod board_events;
mod board_faults;
mod board_lease;
mod board_shared;
mod board_stop;
mod cancel;
#[path = "../common/mod.rs"]
mod common;
mod coverage;
mod crashes;
mod delays;
mod drain;
mod duplicates;
mod foreign;
mod handlers;
mod keys;
#[path = "../common/os.rs"]
mod os;
mod payloads;
mod rig;
mod routing;
mod scaling;
mod starts;
mod timeouts;

use common::gate;

/// What a worker process of these tests runs instead of its `main`; an ordinary test run finds nothing to do here.
#[test]
fn worker_entry() {
    taskyard::worker::run_if_worker(&handlers::registry());
}
