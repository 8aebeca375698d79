//! What the tasks themselves wrote down: the test's own witness of what ran.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use taskyard::core::TaskId;
use taskyard::core::id::Epoch;
use taskyard::core::rfc3339;
use taskyard::core::time::Timestamp;

/// Nothing that goes on rests for so long.
const PATIENCE: Duration = Duration::from_mins(1);
/// A file tells nobody that it grew.
const LOOK: Duration = Duration::from_millis(2);

/// One run of a task.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Start {
    pub(crate) uuid: TaskId,
    pub(crate) epoch: Epoch,
    pub(crate) attempt: u32,
    /// The worker.
    pub(crate) pid: i32,
    /// RFC 3339.
    began: String,
}

impl Start {
    /// When it began, by the wall clock.
    pub(crate) fn began(&self) -> Timestamp {
        rfc3339::parse(&self.began).expect("a time")
    }
}

/// The attempt of each pass that ran.
pub(crate) type Passes = BTreeMap<Epoch, u32>;

/// Reads it as it grows.
pub(crate) struct Journal {
    path: PathBuf,
    read: u64,
    /// The beginning of a line whose end is not there yet.
    rest: String,
    starts: Vec<Start>,
}

impl Journal {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, read: 0, rest: String::new(), starts: Vec::new() }
    }

    /// All that is there by now.
    pub(crate) fn starts(&mut self) -> &[Start] {
        // It is not there before the first task ran.
        if let Ok(mut file) = File::open(&self.path) {
            file.seek(SeekFrom::Start(self.read)).expect("a file");
            self.read += file.read_to_string(&mut self.rest).expect("readable") as u64;
            if let Some((lines, rest)) = self.rest.rsplit_once('\n') {
                let start = |line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line:?}: {why}"));
                self.starts.extend(lines.lines().map(start));
                self.rest = rest.to_owned();
            }
        }
        &self.starts
    }

    /// Waits until there is what is looked for.
    pub(crate) fn until<T>(&mut self, find: impl Fn(&[Start]) -> Option<T>) -> T {
        let (mut until, mut known) = (Instant::now() + PATIENCE, self.starts.len());
        loop {
            if let Some(found) = find(self.starts()) {
                return found;
            }
            if self.starts.len() > known {
                (until, known) = (Instant::now() + PATIENCE, self.starts.len());
            }
            assert!(Instant::now() < until, "it is not there: {:#?}", self.starts);
            thread::sleep(LOOK);
        }
    }

    /// In which passes each task ran, and as which attempt.
    ///
    /// # Panics
    /// If one ran twice in one epoch.
    pub(crate) fn passes(&mut self) -> BTreeMap<TaskId, Passes> {
        let mut passes = BTreeMap::<_, Passes>::new();
        for start in self.starts() {
            let before = passes.entry(start.uuid).or_default().insert(start.epoch, start.attempt);
            assert!(before.is_none(), "it ran twice in one pass: {start:?}");
        }
        passes
    }
}
