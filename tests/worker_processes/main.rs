//! Worker processes, driven through `Launcher` and `Link` alone: no yard, real processes.

mod foreign;
mod handlers;
#[path = "../common/os.rs"]
mod os;
mod own;
mod parent;
mod rig;

/// What a worker process of these tests runs instead of its `main`; an ordinary test run finds nothing to do here.
#[test]
fn worker_entry() {
    taskyard::worker::run_if_worker(&handlers::registry());
}
