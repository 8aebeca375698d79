//! Runs a program, without a shell. It belongs to its worker's process group: whatever it starts goes with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_current_process_group, kill_process};
use serde::{Deserialize, Serialize};
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskDefaults, TaskHandler};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;

use crate::bound;
use crate::handlers::namespace;

/// So much of each output is kept; the rest is read and forgotten.
const OUTPUT_MAX: usize = 64 * 1024;
/// How long output is waited for once the program has ended: what it left behind may hold it open.
const LINGER: Duration = Duration::from_millis(500);

/// A program to run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
    directory: Option<PathBuf>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    input: Option<String>,
}

/// How it went.
#[derive(Serialize, Deserialize)]
pub(crate) struct Done {
    status: String,
    stdout: String,
    stderr: String,
    /// How many bytes of both outputs were forgotten.
    forgotten: u64,
}

impl TaskHandler for Command {
    const NAME: &'static str = "command";
    type Output = Done;

    fn defaults() -> TaskDefaults {
        namespace("work.command")
    }

    async fn run(self, cx: Context) -> Result<Done, HandlerError> {
        let mut child = self.spawn()?;
        let input = feed(&mut child, self.input.unwrap_or_default());
        let (mut out, mut err) = (Output::default(), Output::default());
        let outputs = (child.stdout.take(), child.stderr.take());
        let read = async { tokio::join!(out.read(outputs.0), err.read(outputs.1), input) };
        let status = watch(wait(&mut child, &cx), read).await?;
        if cx.is_cancelled() {
            // What the program left behind goes too, and this worker with it: the pool starts another one.
            kill_current_process_group(Signal::KILL)?;
        }
        finish(status, out, err)
    }
}

impl Command {
    fn spawn(&self) -> Result<Child, HandlerError> {
        let mut command = bound::command(&self.program);
        command.args(&self.arguments).envs(&self.environment);
        for own in ["TASKYARD_SHIM", "TASKYARD_FD"] {
            command.env_remove(own);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let not_started =
            |error| HandlerError::fatal(format!("{}: {error}", self.program)).kind("not_started");
        command.spawn().map_err(not_started)
    }
}

/// Waits for the program's end and for its outputs'.
async fn watch<T>(ended: impl Future<Output = T>, read: impl Future) -> T {
    tokio::pin!(ended, read);
    tokio::select! {
        status = &mut ended => {
            drop(tokio::time::timeout(LINGER, read).await);
            status
        }
        _ = &mut read => ended.await,
    }
}

/// Writes the input; a program that does not read it to its end is no fault.
fn feed(child: &mut Child, input: String) -> impl Future<Output = ()> + use<> {
    let stdin = child.stdin.take();
    async move {
        if let Some(mut stdin) = stdin {
            drop(stdin.write_all(input.as_bytes()).await);
        }
    }
}

/// Waits for the program's end. Told to end, it is asked to; if it does not, the yard kills the whole group.
async fn wait(child: &mut Child, cx: &Context) -> std::io::Result<ExitStatus> {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    tokio::select! {
        status = child.wait() => return status,
        _ = cx.cancelled() => {}
    }
    if let Some(pid) = pid {
        kill_process(pid, Signal::TERM)?;
    }
    child.wait().await
}

fn finish(status: ExitStatus, out: Output, err: Output) -> Result<Done, HandlerError> {
    let forgotten = out.forgotten + err.forgotten;
    // "exit status: 3" reads badly in front of a message.
    let status_text = status.to_string().replacen(": ", " ", 1);
    let done = Done { status: status_text, stdout: out.text(), stderr: err.text(), forgotten };
    if status.success() {
        return Ok(done);
    }
    let last = done.stderr.lines().next_back().unwrap_or_default();
    let message = if last.is_empty() { done.status } else { format!("{}: {last}", done.status) };
    Err(HandlerError::new(message).kind("exit_status"))
}

/// The beginning of an output.
#[derive(Default)]
struct Output {
    kept: Vec<u8>,
    forgotten: u64,
}

impl Output {
    async fn read(&mut self, source: Option<impl AsyncRead + Unpin>) {
        let Some(mut source) = source else { return };
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = source.read(&mut buffer).await {
            let room = OUTPUT_MAX - self.kept.len();
            let fits = read.min(room);
            self.kept.extend_from_slice(&buffer[..fits]);
            self.forgotten += (read - fits) as u64;
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
