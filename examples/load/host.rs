//! What the system says of this process, of its workers and of the machine (`/proc`).

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::spans::Spans;

/// How the fields of `/proc/<pid>/stat` count processor time, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// So many pages are written to learn how fast the disk is.
const DISK_WRITES: u64 = 1_000;

/// What the yard's process and its workers have used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Host {
    pub(crate) yard: Usage,
    pub(crate) workers: Usage,
}

/// What one or more processes have used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) processor: Duration,
    /// The sum of the processes' peaks.
    pub(crate) peak_bytes: u64,
}

/// The machine, as far as figures depend on it.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    /// The load average of the last minute: what else the machine had to do.
    pub(crate) busy: String,
}

impl Host {
    /// What was used until now.
    pub(crate) fn look() -> anyhow::Result<Self> {
        let mut workers = Usage::default();
        for child in children()? {
            workers.add(&Usage::of(&child)?);
        }
        Ok(Self { yard: Usage::of("self")?, workers })
    }

    /// The processor time since then, and the peaks as they are.
    pub(crate) fn since(self, then: &Self) -> Self {
        Self { yard: self.yard.since(&then.yard), workers: self.workers.since(&then.workers) }
    }
}

impl Usage {
    fn of(process: &str) -> anyhow::Result<Self> {
        let stat = read(&format!("/proc/{process}/stat"))?;
        // The name may hold anything; the numbers follow the last bracket, user and system time as the 12th and 13th.
        let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = numbers.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        let peak_bytes = status_bytes(process, "VmHWM:")?;
        Ok(Self { processor: Duration::from_secs_f64(ticks / TICKS_PER_SECOND), peak_bytes })
    }

    fn add(&mut self, other: &Self) {
        self.processor += other.processor;
        self.peak_bytes += other.peak_bytes;
    }

    fn since(self, then: &Self) -> Self {
        Self { processor: self.processor.saturating_sub(then.processor), ..self }
    }
}

impl Machine {
    /// This one.
    pub(crate) fn look() -> anyhow::Result<Self> {
        let busy = read("/proc/loadavg")?;
        Ok(Self {
            cores: std::thread::available_parallelism()?.get(),
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            busy: busy.split_whitespace().next().unwrap_or_default().to_owned(),
        })
    }
}

/// The memory that this process has now.
pub(crate) fn resident_bytes() -> anyhow::Result<u64> {
    status_bytes("self", "VmRSS:")
}

/// How long this disk takes to keep a page, which is what no commit can undercut.
pub(crate) fn disk_writes(folder: &Path) -> anyhow::Result<Spans> {
    let path = folder.join(format!("taskyard-load-{}.probe", std::process::id()));
    let file = fs::File::create_new(&path)?;
    fs::remove_file(&path)?;
    let mut spans = Spans::default();
    for page in 0..DISK_WRITES {
        file.write_all_at(&[page as u8; 4_096], page % 256 * 4_096)?;
        let began = Instant::now();
        file.sync_data()?;
        spans.add(began.elapsed().as_micros() as u64);
    }
    Ok(spans)
}

/// The processes that any thread of this one started.
fn children() -> anyhow::Result<Vec<String>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").context("/proc/self/task")? {
        let path = thread?.path().join("children");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        children.extend(text.split_whitespace().map(str::to_owned));
    }
    Ok(children)
}

fn status_bytes(process: &str, field: &str) -> anyhow::Result<u64> {
    let status = read(&format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("no such field")?;
    Ok(kib.parse::<u64>()? * 1_024)
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.to_owned())
}
