//! The Rust kit for workers: what a child process of this binary does instead of `main`. It speaks the worker protocol and
//! runs tasks of a registry.

mod pulse;
mod serve;
mod stand_in;
mod station;
mod table;
mod wire;

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::process::shim::Shim;
pub use crate::registry::Options;
use crate::registry::Registry;
use station::Station;
use wire::Wire;

/// The exit status of a worker that can't be one.
const UNFIT: i32 = 70;

/// Must be the first call in `main` of every program that has pools of processes.
///
/// In a normal process it returns at once. In a process that a yard started as its worker it never returns: it runs the
/// tasks of `registry` until the yard tells it to stop or is gone. In one that a yard started for a foreign command it
/// becomes that command.
///
/// ```
/// # use taskyard::registry::Registry;
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let registry = Registry::new().register_fn("hello", |_, _, _| async { Ok("world") })?;
///     taskyard::worker::run_if_worker(&registry);
///     // Here the application begins.
///     Ok(())
/// }
/// ```
pub fn run_if_worker(registry: &Registry) {
    let Some(shim) = Shim::here() else { return };
    shim.carry_out();
    let station = match take_over(registry) {
        Ok(station) => station,
        Err(error) => {
            eprintln!("this worker process has no connection: {error}");
            std::process::exit(UNFIT);
        }
    };
    match serve::serve(&station) {
        Ok(()) => std::process::exit(0),
        Err(error) => serve::leave(&error),
    }
}

/// Whether this process was started as a worker. Then it must call [`run_if_worker`] and not become a yard.
pub fn is_worker() -> bool {
    Shim::here().is_some()
}

/// Whether this process was started as a worker and did not become one: whoever is about to start a yard in it forgot to
/// call [`run_if_worker`].
pub(crate) fn was_forgotten() -> bool {
    is_worker() && rustix::net::sockopt::socket_type(rustix::stdio::stdin()).is_ok()
}

/// The socket that is descriptor 0 becomes ours alone; whatever reads standard input finds nothing.
fn take_over(registry: &Registry) -> std::io::Result<Arc<Station>> {
    let socket = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    socket.set_nonblocking(true)?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(Arc::new(Station::new(Wire::new(socket), registry.clone(), options(registry.options()))))
}

fn options(registered: Options) -> Options {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    Options {
        concurrency: set("TASKYARD_CONCURRENCY").unwrap_or(registered.concurrency).max(1),
        ahead: set("TASKYARD_AHEAD").unwrap_or(registered.ahead),
    }
}
