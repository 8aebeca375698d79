//! What the tests ask the operating system: whether a process lives, and how much memory this one has.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

/// Waits until a process is gone; it need not be a child.
pub(crate) fn wait_gone(pid: u32, within: Duration) {
    let Ok(pidfd) = rustix::process::pidfd_open(process(pid), PidfdFlags::empty()) else { return };
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    let gone = rustix::event::poll(&mut fds, Some(&within.try_into().unwrap())).unwrap();
    assert_eq!(gone, 1, "process {pid} still lives");
}

/// Sends SIGKILL; `false` if the process was gone.
pub(crate) fn kill(pid: u32) -> bool {
    rustix::process::kill_process(process(pid), Signal::KILL).is_ok()
}

/// The resident memory of this process, in bytes.
pub(crate) fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
}

/// The most resident memory that this process ever had, in bytes.
pub(crate) fn resident_peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

fn process(pid: u32) -> Pid {
    Pid::from_raw(pid.cast_signed()).unwrap()
}
