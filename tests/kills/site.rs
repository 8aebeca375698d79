//! A place of one test: a board, a configuration, a journal, and supervisors there.

use std::fs::File;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use serde_json::{Value, json};
use taskyard::StoreChoice;
use taskyard::store::StoreUrl;

use crate::harness::{Run, Scratch, Server, supervisor};
use crate::journal::Journal;
#[cfg(feature = "postgres")]
use crate::private::PrivateServer;
#[cfg(feature = "postgres")]
use crate::server::Schema;

/// The shortest lease that a configuration may say.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Few, so that none has all that falls due at once.
const NEAR: usize = 50;

pub(crate) struct Site {
    pub(crate) scratch: Scratch,
    url: String,
    config: String,
    runs: AtomicU32,
    /// Of a Postgres database, where the board is there.
    #[cfg(feature = "postgres")]
    schema: Option<Schema>,
    /// The server that has it, if it is this site's own.
    #[cfg(feature = "postgres")]
    database: Option<PrivateServer>,
}

impl Site {
    /// With a board in a file of its own.
    pub(crate) fn on_disk() -> Self {
        let scratch = Scratch::new();
        let url = format!("sqlite:{}", scratch.path("board.db"));
        Self::on(scratch, url, "")
    }

    /// With a board in a schema of its own on a server.
    #[cfg(feature = "postgres")]
    pub(crate) fn on_postgres(schema: Schema) -> Self {
        let site = Self::on(Scratch::new(), schema.url.clone(), &format!("schema = '{}'\n", schema.name));
        Self { schema: Some(schema), ..site }
    }

    /// With a board on a server of its own, which may be struck too.
    #[cfg(feature = "postgres")]
    pub(crate) fn on_database(database: PrivateServer) -> Self {
        let site = Self::on_postgres(Schema::at(&database.url));
        Self { database: Some(database), ..site }
    }

    /// Stops a supervisor, though not while it has the board's file locked: that would stop all others as well.
    pub(crate) fn hold_up(&self, late: &Server) {
        stop(late);
        while self.is_locked() {
            late.signal(Signal::CONT);
            // It goes on only once it is given a processor, and a second stop may come before that.
            while self.is_locked() {}
            stop(late);
        }
    }

    /// For longer than those who live need.
    fn is_locked(&self) -> bool {
        self.is_on_disk() && {
            let board = rusqlite::Connection::open(self.scratch.path("board.db")).expect("it is there");
            board.busy_timeout(Duration::from_millis(500)).expect("a time");
            board.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err()
        }
    }

    /// Whether the board is a file.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.url.starts_with("sqlite:")
    }

    /// The server that may be struck.
    #[cfg(feature = "postgres")]
    pub(crate) fn database(&self) -> Option<&PrivateServer> {
        self.database.as_ref()
    }

    fn on(scratch: Scratch, url: String, more: &str) -> Self {
        let config = format!(
            "[store]\nlease = '{lease}s'\n{more}[yard]\nnear_max = {NEAR}\n\
             [pools.work]\npatterns = ['work.#']\nmin = 1\nmax = 4\ngrace = '200ms'\nkill_after = '200ms'\n",
            lease = LEASE.as_secs()
        );
        let config = scratch.file("supervisor.toml", &config);
        let runs = AtomicU32::new(0);
        Self {
            scratch,
            url,
            config,
            runs,
            #[cfg(feature = "postgres")]
            schema: None,
            #[cfg(feature = "postgres")]
            database: None,
        }
    }

    /// The board, for the test itself.
    pub(crate) fn store(&self) -> StoreChoice {
        let store: StoreChoice = self.url.parse::<StoreUrl>().expect("a store").into();
        #[cfg(feature = "postgres")]
        if let Some(schema) = &self.schema {
            return store.schema(&*schema.name);
        }
        store
    }

    /// What the tasks wrote down.
    pub(crate) fn journal(&self) -> Journal {
        Journal::at(self.scratch.path("journal").into())
    }

    /// A task that writes itself down; more is said to its handler.
    pub(crate) fn task(&self, mut kwargs: Value) -> Value {
        kwargs["path"] = self.scratch.path("journal").into();
        json!({ "task": "journal", "kwargs": kwargs })
    }

    fn arguments(&self) -> [&str; 4] {
        ["--config", &self.config, "--store", &self.url]
    }

    /// A supervisor that serves there.
    pub(crate) fn serve(&self) -> Server {
        Server::start_in(Scratch::new(), &self.arguments())
    }

    /// Lets one end all that is on the board: what follows tasks of a file does not hold up who runs the file.
    pub(crate) fn finish(&self) {
        let mut server = self.serve();
        server.ask_until(r#"{"control":"status"}"#, |status| {
            let tasks = &status["ok"]["tasks"];
            ["running", "queued", "blocked", "delayed"].iter().all(|place| tasks[*place] == 0)
        });
        server.signal(Signal::TERM);
        assert_eq!(server.end().code(), Some(0), "{}", server.log());
    }

    /// A supervisor that runs a file of tasks.
    pub(crate) fn run(&self, file: &str) -> Running {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let paths = ["out", "log"].map(|kind| self.scratch.path(&format!("run-{number}.{kind}")));
        let mut command = supervisor(&self.arguments());
        command.args(["--tasks", file]);
        let [out, log] = paths.each_ref().map(|path| File::create(path).expect("writable"));
        let child = command.stdout(out).stderr(log).spawn().expect("it starts");
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("it is there");
        Running { child, ended, paths }
    }
}

/// Stops a supervisor, and waits until all its threads have: before that one of them may still lock the file.
fn stop(server: &Server) {
    server.signal(Signal::STOP);
    let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(server.pid()), either).expect("it is a child").expect("waited for");
    assert!(status.stopped(), "{status:?}");
}

/// A supervisor that runs a file of tasks. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    ended: OwnedFd,
    /// What it prints, and what it logs.
    paths: [String; 2],
}

impl Running {
    /// Whether it ends within this span.
    pub(crate) fn ends_within(&self, span: Duration) -> bool {
        let span = Timespec::try_from(span).expect("short");
        poll(&mut [PollFd::new(&self.ended, PollFlags::IN)], Some(&span)).expect("can be polled") > 0
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it is a child");
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> Run {
        let status = self.child.wait().expect("it is a child");
        self.read(status)
    }

    fn read(&self, status: ExitStatus) -> Run {
        let [stdout, stderr] =
            self.paths.each_ref().map(|path| std::fs::read_to_string(path).expect("UTF-8"));
        Run { code: status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
