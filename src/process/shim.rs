//! What happens in a new worker process before anything else: it is bound to its parent's life, given its limits, and, for a
//! foreign command, becomes that command. The parent writes the order, the child carries it out.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};

use crate::protocol::from_worker;

/// Where the order stands in the child's environment.
pub(crate) const VARIABLE: &str = "TASKYARD_SHIM";
/// The exit status of a command that could not be executed, as shells have it.
const NOT_EXECUTED: i32 = 127;

/// Limits of a worker process that the kernel keeps; `None`: as this process has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How many descriptors it may have open.
    pub open_files: Option<u64>,
    /// How large its address space may be, in bytes. Resident memory is watched by the pool instead.
    pub address_space: Option<u64>,
    /// How much processor time it may use in its life, in seconds.
    pub cpu_seconds: Option<u64>,
    /// How large its core dump may be, in bytes.
    pub core_size: Option<u64>,
}

/// The order to a new process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shim {
    /// Whose child it must be.
    pub(crate) parent: u32,
    pub(crate) limits: Limits,
    /// The command to become, with its arguments; empty for a worker of this binary.
    pub(crate) exec: Vec<String>,
}

impl Shim {
    pub(crate) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The order to this process, if it is a new worker. A grandchild has its parent's environment but not its socket.
    pub(crate) fn here() -> Option<Self> {
        let shim: Self = serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()?;
        let is_child = shim.is_child();
        (is_child || rustix::net::sockopt::socket_type(rustix::stdio::stdin()).is_ok()).then_some(shim)
    }

    fn is_child(&self) -> bool {
        rustix::process::getppid()
            .is_some_and(|pid| pid.as_raw_nonzero().get().cast_unsigned() == self.parent)
    }

    /// Carries it out; returns in a worker of this binary only.
    pub(crate) fn carry_out(&self) {
        // The order matters: a parent that dies after the first line takes us along, one that died before is seen by the
        // second.
        let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if !self.is_child() {
            std::process::exit(0);
        }
        let limited = bound.and_then(|()| self.limits.apply());
        if let Err(error) = limited {
            give_up(&format!("limits: {}", std::io::Error::from(error)));
        }
        if let Some((program, args)) = self.exec.split_first() {
            let error = Command::new(program).args(args).env_remove(VARIABLE).exec();
            give_up(&format!("{program}: {error}"));
        }
    }
}

impl Limits {
    fn apply(self) -> rustix::io::Result<()> {
        let limits = [
            (Resource::Nofile, self.open_files),
            (Resource::As, self.address_space),
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Core, self.core_size),
        ];
        limits.into_iter().filter_map(|(resource, limit)| Some((resource, limit?))).try_for_each(
            |(resource, limit)| {
                rustix::process::setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            },
        )
    }
}

/// Tells the yard why there will be no worker.
fn give_up(why: &str) -> ! {
    let mut frame = Vec::new();
    from_worker::unstartable(&mut frame, why);
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map(UnixStream::from);
    if socket.is_err() || socket.is_ok_and(|mut socket| socket.write_all(&frame).is_err()) {
        eprintln!("{why}");
    }
    std::process::exit(NOT_EXECUTED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let limits = Limits { open_files: Some(64), ..Limits::default() };
        let shim = Shim { parent: 7, limits, exec: vec!["sh".into(), "-c \"'\n".into()] };
        assert_eq!(serde_json::from_str::<Shim>(&shim.to_text()).unwrap(), shim);
    }

    #[test]
    fn an_ordinary_process_has_no_order() {
        assert_eq!(Shim::here(), None);
    }
}
