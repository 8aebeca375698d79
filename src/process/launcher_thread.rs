//! The one thread that starts all worker processes of a yard and lives as long as the yard: the kernel sends the
//! parent-death signal when the *thread* that started a child ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc;

use tokio::sync::oneshot;

use super::child::Leader;

/// Starts worker processes, for all process pools of a yard. When the last clone is dropped, the thread ends and the kernel
/// kills what it started.
#[derive(Debug, Clone)]
pub struct LauncherThread {
    orders: mpsc::Sender<Order>,
}

#[derive(Debug)]
struct Order {
    command: Command,
    answer: oneshot::Sender<io::Result<Spawned>>,
}

/// A child process and the yard's ends of what connects it. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) leader: Leader,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    pub(super) socket: UnixStream,
}

impl LauncherThread {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let (orders, taken) = mpsc::channel::<Order>();
        std::thread::Builder::new().name("taskyard-launcher".into()).spawn(move || {
            for Order { command, answer } in taken {
                // If nobody waits for it, the yard's thread is gone, and so its workers must be: the drop kills.
                drop(answer.send(spawn(command)));
            }
        })?;
        Ok(Self { orders })
    }

    /// Starts `command` with a socket as its standard input, as the leader of a process group.
    pub(super) fn spawn(&self, command: Command) -> oneshot::Receiver<io::Result<Spawned>> {
        let (answer, spawned) = oneshot::channel();
        // If the thread is gone, the answer is dropped with the order, which the receiver sees.
        drop(self.orders.send(Order { command, answer }));
        spawned
    }
}

fn spawn(mut command: Command) -> io::Result<Spawned> {
    let (socket, theirs) = UnixStream::pair()?;
    socket.set_nonblocking(true)?;
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    Ok(Spawned { leader: Leader::new(child), stdout, stderr, socket })
}

#[cfg(test)]
mod tests {
    use super::*;

    use rustix::process::{Pid, Signal, kill_process, test_kill_process};

    /// Seen: a yard that ended between the start of a worker and the news of it left a process that nobody reaped.
    #[test]
    fn a_process_whose_start_nobody_hears_of_is_killed_and_reaped() {
        let thread = LauncherThread::start().unwrap();
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut spawned = thread.spawn(command);
        let spawned = loop {
            match spawned.try_recv() {
                Ok(spawned) => break spawned.unwrap(),
                Err(_) => std::thread::yield_now(),
            }
        };
        let pid = spawned.leader.pid();
        drop(spawned);
        let gone = |pid: Pid| test_kill_process(pid).is_err();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !gone(pid) && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let killed = gone(pid);
        let _ = kill_process(pid, Signal::KILL);
        assert!(killed, "it lives, or is a zombie");
    }
}
