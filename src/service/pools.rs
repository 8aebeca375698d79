//! From a pool's settings to the pool: which launcher starts its workers. Starts nothing.

use std::io;
use std::sync::Arc;

use crate::builder::PoolSpec;
use crate::config::{Kind, PoolSettings};
use crate::context::Calls;
use crate::inline::InlineLauncher;
use crate::process::{LauncherThread, ProcessLauncher, ProcessSettings, Program};
use crate::registry::{Options, Registry};
use crate::threads::BlockingLauncher;

/// Makes the pools of one yard.
pub(super) struct Pools {
    pub(super) registry: Registry,
    pub(super) calls: Arc<dyn Calls>,
    /// Started for the first pool of processes.
    pub(super) thread: Option<LauncherThread>,
}

impl Pools {
    pub(super) fn spec(&mut self, settings: PoolSettings) -> io::Result<PoolSpec> {
        let (registry, calls) = (self.registry.clone(), Arc::clone(&self.calls));
        let mut machine = settings.machine.clone();
        if settings.command.is_none() {
            machine.names = Some(registry.names().cloned().collect());
        }
        let options = Options { concurrency: machine.concurrency, ..registry.options() };
        let launcher: Box<dyn FnOnce() -> Box<dyn taskyard_actors::Launcher> + Send> = match settings.kind {
            Kind::Process => {
                let thread = self.thread()?;
                let process = process(&settings, options);
                Box::new(move || Box::new(ProcessLauncher::new(process, thread, calls)))
            }
            Kind::Blocking => {
                Box::new(move || Box::new(BlockingLauncher::new(registry, options.ahead, calls)))
            }
            Kind::Inline => Box::new(move || Box::new(InlineLauncher::new(registry, options, calls))),
        };
        Ok(PoolSpec { name: settings.name, patterns: settings.patterns, settings: machine, launcher })
    }

    fn thread(&mut self) -> io::Result<LauncherThread> {
        if let Some(thread) = &self.thread {
            return Ok(thread.clone());
        }
        Ok(self.thread.insert(LauncherThread::start()?).clone())
    }
}

fn process(settings: &PoolSettings, options: Options) -> ProcessSettings {
    let mut process = ProcessSettings::new(&settings.name, Program::OwnBinary);
    process.watch_memory = settings.machine.memory_limit.is_some();
    match settings.command.clone() {
        None => process.options = Some(options),
        Some(command) => {
            process.program = Program::Command { program: command.program, args: command.arguments };
            process.directory = command.directory;
            process.env = command.environment.into_iter().collect();
        }
    }
    process
}
