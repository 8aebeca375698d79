//! The one thread that starts all worker processes of a yard and lives as long as the yard: the kernel sends the
//! parent-death signal when the *thread* that started a child ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use tokio::sync::oneshot;

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

/// A child process and the yard's ends of what connects it.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) child: Child,
    pub(super) socket: UnixStream,
}

impl LauncherThread {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let (orders, taken) = mpsc::channel::<Order>();
        std::thread::Builder::new().name("taskyard-launcher".into()).spawn(move || {
            for Order { command, answer } in taken {
                // Nobody waits for it: the yard's thread is gone, and so its workers must be.
                if let Err(Ok(mut unwanted)) = answer.send(spawn(command)) {
                    drop(unwanted.child.kill().and_then(|()| unwanted.child.wait()));
                }
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
    let child = command.process_group(0).spawn()?;
    Ok(Spawned { child, socket })
}
