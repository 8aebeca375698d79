//! Programs whose life is bound to their worker's: however that ends, the kernel ends them. The bond can only be tied by the
//! new process itself, so this binary is started first and then becomes the program.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// The first argument of a process that is to become a program.
const ORDER: &str = "--become";
/// The exit status of one that could not, as shells have it.
const NOT_EXECUTED: i32 = 127;

/// What starts a program; its arguments are still to be added.
pub(crate) fn command(program: &str) -> tokio::process::Command {
    let mut command = tokio::process::Command::new("/proc/self/exe");
    command.args([ORDER, &std::process::id().to_string(), program]);
    command
}

/// In a process that was started so, becomes the program; in others does nothing.
pub(crate) fn become_program_if_told() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|word| word != ORDER) {
        return;
    }
    let (Some(parent), Some(program)) = (words.next(), words.next()) else {
        std::process::exit(NOT_EXECUTED)
    };
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    // One that died before this is not seen by the kernel's signal.
    let orphaned = getppid().is_none_or(|pid| parent != *pid.as_raw_nonzero().to_string());
    if let Err(error) = bound {
        eprintln!("{}: {error}", program.display());
    } else if !orphaned {
        eprintln!("{}: {}", program.display(), Command::new(&program).args(words).exec());
    }
    std::process::exit(NOT_EXECUTED);
}
