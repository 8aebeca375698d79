//! Process pools: each worker is a child process, this binary again or a foreign command, with a socket pair between it and
//! the yard. Here stands how such a pool is set up; each step of a worker's life has a file of its own.

mod attendant;
mod capture;
mod child;
mod conversation;
mod launcher_thread;
mod link;
mod outbox;
pub(crate) mod shim;

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

use taskyard_actors::{Launcher, Link, Reports};
use taskyard_core::id::WorkerId;

use crate::context::Calls;
use crate::registry::Options;
use attendant::Attendant;
pub use launcher_thread::LauncherThread;
use link::{ProcessLink, Shared};
pub use shim::Limits;
use shim::Shim;

/// Where the running binary can be found again, even after it was replaced on disk.
const OWN_BINARY: &str = "/proc/self/exe";

/// What the workers of a pool are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// This binary again; its `main` calls [`run_if_worker`](crate::worker::run_if_worker).
    OwnBinary,
    /// A command that speaks the worker protocol, searched in `PATH` if it has no slash.
    Command {
        /// The command.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

/// How the workers of a pool are started.
#[derive(Debug, Clone)]
pub struct ProcessSettings {
    /// The pool's name, for the worker's information.
    pub pool: String,
    /// What they are.
    pub program: Program,
    /// Arguments for this binary when it is started as a worker or as a foreign command's shim. Tests of applications use
    /// `["--exact", "worker_entry", "--nocapture"]` with a `#[test] fn worker_entry()` that calls
    /// [`run_if_worker`](crate::worker::run_if_worker).
    pub worker_args: Vec<String>,
    /// Set in the worker's environment.
    pub env: Vec<(String, String)>,
    /// Where it starts; else where this process is.
    pub directory: Option<PathBuf>,
    /// Limits that the kernel keeps.
    pub limits: Limits,
    /// How workers of this binary take tasks; else as their registry says.
    pub options: Option<Options>,
    /// Whether their resident memory is reported: after tasks, and every second while busy.
    pub watch_memory: bool,
}

impl ProcessSettings {
    /// Workers of the pool `pool` that are `program`, with nothing special.
    pub fn new(pool: impl Into<String>, program: Program) -> Self {
        Self {
            pool: pool.into(),
            program,
            worker_args: Vec::new(),
            env: Vec::new(),
            directory: None,
            limits: Limits::default(),
            options: None,
            watch_memory: false,
        }
    }

    /// What starts a worker. A foreign command is started through a shim: this binary, which then becomes it.
    fn command(&self) -> Command {
        let mut command = Command::new(OWN_BINARY);
        // This process may be another yard's worker: what that one was told is not for ours.
        command.env_remove("TASKYARD_CONCURRENCY").env_remove("TASKYARD_AHEAD");
        command.args(&self.worker_args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env("TASKYARD_FD", "0");
        let mut shim = Shim { parent: std::process::id(), limits: self.limits, exec: Vec::new() };
        if let Program::Command { program, args } = &self.program {
            shim.exec = std::iter::once(program).chain(args).cloned().collect();
        }
        command.env(shim::VARIABLE, shim.to_text());
        if let Some(Options { concurrency, ahead }) = self.options {
            command.env("TASKYARD_CONCURRENCY", concurrency.to_string());
            command.env("TASKYARD_AHEAD", ahead.to_string());
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// Launches the workers of a process pool.
pub struct ProcessLauncher {
    settings: ProcessSettings,
    thread: LauncherThread,
    calls: Arc<dyn Calls>,
}

impl ProcessLauncher {
    /// Workers as `settings` say, started by `thread`, whose handlers may ask `calls`.
    pub fn new(settings: ProcessSettings, thread: LauncherThread, calls: Arc<dyn Calls>) -> Self {
        Self { settings, thread, calls }
    }
}

impl Launcher for ProcessLauncher {
    fn launch(&mut self, _: WorkerId, name: &str, reports: Reports) -> Box<dyn Link> {
        let shared = Rc::new(Shared::default());
        shared.hello(name, &self.settings.pool);
        let spawned = self.thread.spawn(self.settings.command());
        let attendant = Attendant {
            shared: Rc::clone(&shared),
            reports,
            calls: Arc::clone(&self.calls),
            name: name.into(),
            watch_memory: self.settings.watch_memory,
            _thread: self.thread.clone(),
        };
        tokio::task::spawn_local(attendant.attend(spawned));
        Box::new(ProcessLink(shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_hears_how_to_take_tasks_from_its_own_yard_alone() {
        let mut settings = ProcessSettings::new("p", Program::OwnBinary);
        let said = |settings: &ProcessSettings| {
            let command = settings.command();
            let mut all = command.get_envs().filter(|(name, _)| *name == "TASKYARD_CONCURRENCY");
            all.next().map(|(_, value)| value.map(ToOwned::to_owned))
        };
        assert_eq!(said(&settings), Some(None), "not this process's own");
        settings.options = Some(Options { concurrency: 3, ahead: 0 });
        assert_eq!(said(&settings), Some(Some("3".into())));
    }
}
