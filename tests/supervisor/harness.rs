//! Starts the supervisor, reads what it prints, speaks to its socket, and waits for its end. Waiting is on lines, replies
//! and process ends, never on a span of time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use serde_json::Value;

/// Nothing that is waited for takes so long, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The example's binary. Cargo builds it beside this test's with `--all-targets` or `--examples`, but not with `--test` alone.
pub(crate) fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("this test has a path");
    let target = own.parent().and_then(Path::parent).expect("it is in target/…/deps");
    let binary = target.join("examples/supervisor");
    assert!(binary.exists(), "{} is missing: run `cargo build --example supervisor` first", binary.display());
    binary
}

/// What starts the supervisor where a test says, with nothing else said.
pub(crate) fn bare() -> Command {
    let mut command = Command::new(binary());
    command.env("RUST_BACKTRACE", "0").env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// What starts the supervisor in the repository's root. Where nothing is said of it, its board is in memory: a file of that
/// place would be shared by all tests.
pub(crate) fn supervisor(arguments: &[&str]) -> Command {
    let mut command = bare();
    if !arguments.contains(&"--store") {
        command.args(["--store", "memory"]);
    }
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Runs the supervisor to its end.
pub(crate) fn run(arguments: &[&str]) -> Run {
    Run::of(&supervisor(arguments).output().expect("it starts"))
}

/// How a run ended and what it printed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// How many tasks the summary's table has for an outcome.
    #[track_caller]
    pub(crate) fn total(&self, outcome: &str) -> u64 {
        let rows = self.stdout.lines().skip_while(|line| !line.trim_start().starts_with("outcome"));
        let count =
            rows.filter_map(|row| row.trim().strip_prefix(outcome)).find_map(|rest| rest.trim().parse().ok());
        count.unwrap_or_else(|| panic!("no row {outcome:?} in {self:#?}"))
    }

    /// The row of a line of the file that did not succeed.
    #[track_caller]
    pub(crate) fn problem(&self, line: u64) -> &str {
        let number = format!("{line} ");
        let row = self.stdout.lines().find(|row| row.trim_start().starts_with(&number));
        row.unwrap_or_else(|| panic!("no row for line {line} in {self:#?}"))
    }
}

/// A directory of a test's own.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("taskyard-supervisor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary directory can be written");
        Self(path)
    }

    /// The path of a file in it, as text.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).expect("the temporary directory can be written");
        self.path(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A supervisor that serves. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    pub(crate) seen: Vec<String>,
    pub(crate) socket: String,
    pub(crate) scratch: Scratch,
}

impl Server {
    /// As without `--config`.
    pub(crate) fn start() -> Self {
        Self::start_in(Scratch::new(), &[])
    }

    /// As without `--config`, but for the place of the board.
    pub(crate) fn on_disk() -> Self {
        let scratch = Scratch::new();
        let store = format!("sqlite:{}", scratch.path("board.db"));
        Self::start_in(scratch, &["--store", &store])
    }

    /// With this configuration.
    pub(crate) fn with_config(config: &str) -> Self {
        let scratch = Scratch::new();
        let config = scratch.file("supervisor.toml", config);
        Self::start_in(scratch, &["--config", &config])
    }

    /// Leads a process group, as a shell would have it. Returns once it serves.
    pub(crate) fn start_in(scratch: Scratch, more: &[&str]) -> Self {
        let socket = scratch.path("yard.sock");
        let mut command = supervisor(more);
        command.args(["--socket", &socket]).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        let mut server = Self { child, lines, seen: Vec::new(), socket, scratch };
        server.line("taking tasks from");
        server
    }

    /// Waits for a line of its log.
    #[track_caller]
    pub(crate) fn line(&mut self, part: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with {part:?} ({error}); there were: {:#?}", self.seen),
            }
        }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::to(&self.socket)
    }

    /// One question on a connection of its own.
    #[track_caller]
    pub(crate) fn ask(&self, line: &str) -> Value {
        self.connect().ask(line)
    }

    /// Asks until the reply is as it shall be.
    #[track_caller]
    pub(crate) fn ask_until(&self, line: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let (mut connection, until) = (self.connect(), Instant::now() + PATIENCE);
        loop {
            let reply = connection.ask(line);
            if is_right(&reply) {
                return reply;
            }
            assert!(Instant::now() < until, "still {reply:#}");
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).expect("it runs");
    }

    /// Waits for its end, and reads its last lines.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().expect("it is a child"),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; there was: {:#?}", self.seen),
            }
        }
    }

    /// What it printed, in one text.
    pub(crate) fn log(&self) -> String {
        self.seen.join("\n")
    }

    /// All processes below it.
    pub(crate) fn descendants(&self) -> Vec<Pid> {
        descendants(self.pid())
    }

    /// Kills it, and waits until it and all below it are gone.
    pub(crate) fn kill(&mut self) {
        let below = self.descendants();
        self.signal(Signal::KILL);
        self.end();
        for pid in below {
            gone_within(pid, PATIENCE);
        }
    }
}

/// All processes below one.
fn descendants(of: Pid) -> Vec<Pid> {
    let mut found = vec![of];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children(*parent));
        next += 1;
    }
    found.split_off(1)
}

/// Kills a supervisor, and waits until it and all below it are gone.
pub(crate) fn kill(mut supervisor: Child) {
    let pid = Pid::from_child(&supervisor);
    let below = descendants(pid);
    kill_process(pid, Signal::KILL).expect("it runs");
    supervisor.wait().expect("it is a child");
    for pid in below {
        gone_within(pid, PATIENCE);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    let tasks = format!("/proc/{}/task", parent.as_raw_nonzero());
    let threads = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<_> =
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    pids.into_iter().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Waits until a process that is no child of ours is gone.
#[track_caller]
pub(crate) fn gone_within(pid: Pid, span: Duration) {
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let timeout = Timespec::try_from(span).expect("short");
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)).expect("can be polled");
    assert!(ended > 0, "process {pid:?} is still there");
}

/// A connection to the socket.
pub(crate) struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    pub(crate) fn to(socket: &str) -> Self {
        let stream = UnixStream::connect(socket).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("can be set");
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    /// A line that need not be text.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        self.stream.get_mut().write_all(&[line, b"\n"].concat()).expect("it is connected");
    }

    /// The next reply; `None` at the end of the connection.
    pub(crate) fn reply(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(serde_json::from_str(&line).expect("replies are JSON"))
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.reply().expect("the connection stays")
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) {
        drop(self.stream.read_to_end(&mut Vec::new()));
    }
}

/// The id in a reply to a task.
#[track_caller]
pub(crate) fn uuid(reply: &Value) -> String {
    reply["ok"]["uuid"].as_str().unwrap_or_else(|| panic!("no id in {reply}")).to_owned()
}
