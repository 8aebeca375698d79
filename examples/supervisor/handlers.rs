//! The tasks that the supervisor can run: a few that are useful, and a few that go wrong in all ways that can be.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taskyard::context::Context;
use taskyard::core::names::Namespace;
use taskyard::handler::{HandlerError, TaskDefaults, TaskHandler};
use taskyard::registry::{Registry, RegistryError};

use crate::command::Command;
use crate::journal::Journal;

/// All of them.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    Registry::new()
        .register::<Command>()?
        .register::<HashFile>()?
        .register::<CountWords>()?
        .register::<Sleep>()?
        .register::<Echo>()?
        .register::<Flaky>()?
        .register::<Fail>()?
        .register::<Crash>()?
        .register::<Journal>()
}

/// Tasks that go to this namespace unless they say another.
pub(crate) fn namespace(name: &str) -> TaskDefaults {
    TaskDefaults { namespace: name.parse::<Namespace>().ok(), ..TaskDefaults::default() }
}

/// The BLAKE3 hash of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HashFile {
    path: PathBuf,
}

impl TaskHandler for HashFile {
    const NAME: &'static str = "hash_file";
    type Output = Value;

    fn defaults() -> TaskDefaults {
        namespace("files.hash")
    }

    async fn run(self, cx: Context) -> Result<Value, HandlerError> {
        let mut file = open(&self.path)?;
        let length = file.metadata()?.len();
        let (mut hasher, mut buffer, mut bytes) = (blake3::Hasher::new(), vec![0; 64 * 1024], 0);
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(json!({ "blake3": hasher.finalize().to_hex().as_str(), "bytes": bytes }));
            }
            if cx.is_cancelled() {
                return Err(HandlerError::cancelled());
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
            cx.progress(bytes as f64 / length.max(1) as f64, "");
        }
    }
}

/// How many lines, words and bytes a text file has.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountWords {
    path: PathBuf,
}

impl TaskHandler for CountWords {
    const NAME: &'static str = "count_words";
    type Output = Value;

    fn defaults() -> TaskDefaults {
        namespace("files.count")
    }

    async fn run(self, _: Context) -> Result<Value, HandlerError> {
        let mut text = String::new();
        open(&self.path)?.read_to_string(&mut text)?;
        let (lines, words) = (text.lines().count(), text.split_whitespace().count());
        Ok(json!({ "lines": lines, "words": words, "bytes": text.len() }))
    }
}

fn open(path: &std::path::Path) -> Result<std::fs::File, HandlerError> {
    std::fs::File::open(path)
        .map_err(|error| HandlerError::new(format!("{}: {error}", path.display())).kind("io"))
}

/// Does nothing for a while.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sleep {
    seconds: f64,
}

impl TaskHandler for Sleep {
    const NAME: &'static str = "sleep";
    type Output = f64;

    fn defaults() -> TaskDefaults {
        namespace("work.sleep")
    }

    async fn run(self, cx: Context) -> Result<f64, HandlerError> {
        let span = Duration::try_from_secs_f64(self.seconds).map_err(HandlerError::fatal)?;
        tokio::select! {
            () = tokio::time::sleep(span) => Ok(self.seconds),
            _ = cx.cancelled() => Err(HandlerError::cancelled()),
        }
    }
}

/// Gives its payload back, whatever it is.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Echo(Value);

impl TaskHandler for Echo {
    const NAME: &'static str = "echo";
    type Output = Value;

    fn defaults() -> TaskDefaults {
        namespace("work.echo")
    }

    async fn run(self, _: Context) -> Result<Value, HandlerError> {
        Ok(self.0)
    }
}

/// Fails so many times, then succeeds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flaky {
    failures: u32,
}

impl TaskHandler for Flaky {
    const NAME: &'static str = "flaky";
    type Output = Value;

    fn defaults() -> TaskDefaults {
        namespace("work.flaky")
    }

    async fn run(self, cx: Context) -> Result<Value, HandlerError> {
        if cx.attempt() <= self.failures {
            return Err(HandlerError::new(format!("attempt {} fails on purpose", cx.attempt())).kind("flaky"));
        }
        Ok(json!({ "attempts": cx.attempt() }))
    }
}

/// Fails for good.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fail {
    message: String,
}

impl TaskHandler for Fail {
    const NAME: &'static str = "fail";
    type Output = ();

    fn defaults() -> TaskDefaults {
        namespace("work.fail")
    }

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        Err(HandlerError::fatal(self.message).kind("fail"))
    }
}

/// Takes its worker along.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crash {}

impl TaskHandler for Crash {
    const NAME: &'static str = "crash";
    type Output = ();

    fn defaults() -> TaskDefaults {
        namespace("work.crash")
    }

    async fn run(self, _: Context) -> Result<(), HandlerError> {
        Ok(kill_process(getpid(), Signal::KILL)?)
    }
}
