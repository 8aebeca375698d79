//! A task that leaves a line for each of its runs, and goes wrong as it is told: what a test of guarantees looks at.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::{Signal, getpid, getppid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::json;
use taskyard::context::Context;
use taskyard::core::id::Epoch;
use taskyard::core::rfc3339::Rfc3339;
use taskyard::handler::{HandlerError, TaskDefaults, TaskHandler};

use crate::handlers::namespace;

/// How often it is looked for a file.
const LOOK: Duration = Duration::from_millis(5);

/// Writes down that it runs, in one line at the end of a file that many may write at once; then takes its time, and fails if
/// it is one of its first `failures` attempts.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    path: PathBuf,
    #[serde(default)]
    seconds: f64,
    /// It goes on once this file is there.
    until: Option<PathBuf>,
    #[serde(default)]
    failures: u32,
    /// What it submits, which is there once however often it runs.
    child: Option<Box<Journal>>,
    /// Whom it takes along, once it has written.
    kills: Option<Victim>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Victim {
    Worker,
    Dispatcher,
}

/// Which of its runs succeeded.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry {
    epoch: Epoch,
    attempt: u32,
}

impl TaskHandler for Journal {
    const NAME: &'static str = "journal";
    type Output = Entry;

    fn defaults() -> TaskDefaults {
        namespace("work.journal")
    }

    async fn run(self, cx: Context) -> Result<Entry, HandlerError> {
        self.write(&cx)?;
        if let Some(child) = self.child {
            cx.submit(*child).once("child").await?;
        }
        if let Some(victim) = self.kills {
            victim.kill()?;
        }
        let span = Duration::try_from_secs_f64(self.seconds).map_err(HandlerError::fatal)?;
        tokio::time::sleep(span).await;
        while self.until.as_ref().is_some_and(|file| !file.exists()) {
            tokio::time::sleep(LOOK).await;
        }
        let (epoch, attempt) = (cx.epoch(), cx.attempt());
        if attempt <= self.failures {
            return Err(HandlerError::new(format!("attempt {attempt} fails on purpose")).kind("journal"));
        }
        Ok(Entry { epoch, attempt })
    }
}

impl Journal {
    fn write(&self, cx: &Context) -> Result<(), HandlerError> {
        let (id, epoch, attempt, pid) = (cx.id(), cx.epoch(), cx.attempt(), std::process::id());
        let began = Rfc3339(SystemTime::now().into()).to_string();
        let entry = json!({ "uuid": id, "epoch": epoch, "attempt": attempt, "pid": pid, "began": began });
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        // One write, so that lines of others never come in between.
        Ok(file.write_all(format!("{entry}\n").as_bytes())?)
    }
}

impl Victim {
    fn kill(self) -> Result<(), HandlerError> {
        let pid = match self {
            Self::Worker => Some(getpid()),
            // A worker is the child of its dispatcher.
            Self::Dispatcher => getppid(),
        };
        Ok(kill_process(pid.ok_or_else(|| HandlerError::fatal("nobody to kill"))?, Signal::KILL)?)
    }
}
