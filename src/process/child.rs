//! A child process as the leader of its group: signals, the news of its death, and its burial. The group is killed before
//! the leader is reaped, so that its number can't be another's yet.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};
use taskyard_core::worker::Signal;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

/// A child process that was not reaped. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Leader {
    child: Option<Child>,
    pid: Pid,
}

impl Leader {
    pub(super) fn new(child: Child) -> Self {
        Self { pid: Pid::from_child(&child), child: Some(child) }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Kills what is left of the group, then reaps the leader; called once it is dead.
    pub(super) fn bury(mut self) -> String {
        signal_group(self.pid, Signal::Kill);
        let status = self.child.take().map(|mut child| child.wait());
        match status {
            Some(Ok(status)) => describe(status),
            Some(Err(error)) => format!("unknown exit status: {error}"),
            None => "unknown exit status".into(),
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        signal_group(self.pid, Signal::Kill);
        // It dies soon, but who drops it must not wait for that.
        let reaper = std::thread::Builder::new().spawn(move || drop(child.wait()));
        if let Err(error) = reaper {
            tracing::warn!(%error, "a dead worker is not reaped");
        }
    }
}

/// Sends a signal to a whole group whose leader was not reaped.
pub(super) fn signal_group(pid: Pid, signal: Signal) {
    let signal = match signal {
        Signal::Term => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    // It fails only if nobody is left to be signalled.
    let _ = rustix::process::kill_process_group(pid, signal);
}

/// The news that a child is dead; it does not reap it.
pub(super) enum Death {
    Pidfd(AsyncFd<OwnedFd>),
    /// For kernels without descriptors of processes: a thread waits.
    Thread(oneshot::Receiver<()>),
}

impl Death {
    pub(super) fn of(pid: Pid) -> std::io::Result<Self> {
        if let Ok(pidfd) = watch(pid) {
            return Ok(Self::Pidfd(pidfd));
        }
        let (news, death) = oneshot::channel();
        std::thread::Builder::new().name("taskyard-wait".into()).spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(pid), options));
            let _ = news.send(());
        })?;
        Ok(Self::Thread(death))
    }

    /// Waits for it. After it came, it must not be called again.
    pub(super) async fn wait(&mut self) {
        match self {
            Self::Pidfd(fd) => drop(fd.readable().await),
            Self::Thread(news) => drop(news.await),
        }
    }
}

#[allow(deprecated, reason = "sound for a descriptor that it owns; what replaces it is unsafe")]
fn watch(pid: Pid) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)?, Interest::READABLE)
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}{}", signal_name(signal)),
        (None, None) => status.to_string(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}

/// The resident memory of a process in bytes, if it can be read.
pub(super) fn resident(pid: Pid) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_said_in_words() {
        assert_eq!(describe(ExitStatus::from_raw(3 << 8)), "exit status 3");
        assert_eq!(describe(ExitStatus::from_raw(9)), "signal 9 (SIGKILL)");
    }

    #[test]
    fn the_resident_memory_of_a_process_is_known() {
        let bytes = resident(rustix::process::getpid()).unwrap();
        assert!((100_000..100_000_000_000).contains(&bytes), "{bytes}");
    }
}
