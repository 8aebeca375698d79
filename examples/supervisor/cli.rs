//! What can be said on the command line, and the settings that follow from it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use taskyard::config::{Config, ConfigError, Handlers, Settings, raw};
use taskyard::producers::file::Source;
use taskyard::store::{BadStoreUrl, StoreUrl};

/// What holds without `--config`.
const BUILT_IN: &str = include_str!("../supervisor.toml");
/// Where tasks are kept if nothing is said.
const STORE: &str = "sqlite:taskyard.db";

/// Runs tasks in supervised worker processes: from a socket until a signal, or those of a file.
///
/// Exit status: 0 all went well · 1 a task or command failed · 2 wrong usage · 69 nobody answered · 70 an internal fault ·
/// 71 the system refused something at the start · 78 the configuration is wrong.
#[derive(Debug, Parser)]
#[command(name = "supervisor")]
pub(crate) struct Cli {
    /// The configuration; without it, two pools of processes (see examples/supervisor.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the socket is [as configured, else taskyard.sock in `$XDG_RUNTIME_DIR`, or `/tmp/taskyard-UID.sock`]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Where tasks are kept: `memory`, `sqlite:PATH` or `postgres://…` [as configured, else sqlite:taskyard.db]
    #[arg(long, value_name = "STORE", value_parser = store_url)]
    store: Option<String>,
    /// Runs the tasks of a file of JSON lines (`-`: standard input), prints a summary and ends
    #[arg(long, value_name = "FILE", conflicts_with = "ctl")]
    tasks: Option<PathBuf>,
    /// Asks a running supervisor: status, running, cancel '{"all":true}', task show '{"uuid":"…"}', trash list, schedules, drain, …
    #[arg(long, num_args = 1..=3, value_names = ["COMMAND", "JSON"])]
    pub(crate) ctl: Option<Vec<String>>,
    /// Breaks the yard after so many seconds, to see how that ends
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(crate) fault_after: Option<f64>,
}

impl Cli {
    /// Where tasks are read from, if they are.
    pub(crate) fn source(&self) -> Option<Source> {
        let path = self.tasks.clone()?;
        Some(if path.as_os_str() == "-" { Source::Stdin } else { Source::File(path) })
    }

    /// Refuses a file of tasks that cannot be read, before anything is made.
    pub(crate) fn check_source(&self) -> anyhow::Result<()> {
        let Some(Source::File(path)) = self.source() else { return Ok(()) };
        let check = || match std::fs::metadata(&path)? {
            found if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            // A pipe is opened once, by who reads it.
            found if found.is_file() => File::open(&path).map(drop),
            _ => Ok(()),
        };
        check().map_err(|error: std::io::Error| anyhow::anyhow!("{}: {error}", path.display()))
    }

    fn parse(&self, text: &str) -> Result<Settings, ConfigError> {
        let mut config = Config::parse(text)?;
        // What the file says is for its own store: what does not fit another kind does not count.
        match self.store.as_ref().map(|url| url.parse()) {
            Some(Ok(StoreUrl::Memory)) => config.store = raw::Store::default(),
            Some(Ok(StoreUrl::Sqlite(_))) => config.store.schema = None,
            _ => {}
        }
        let url = self.store.clone().or(config.store.url);
        config.store.url = Some(url.unwrap_or_else(|| STORE.into()));
        config.check(Handlers::Own)
    }

    /// The settings.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = match &self.config {
            Some(path) => {
                let name = || path.display().to_string();
                let text = std::fs::read_to_string(path).with_context(name)?;
                self.parse(&text).with_context(name)?
            }
            None => self.parse(BUILT_IN).context("the built-in configuration")?,
        };
        if self.tasks.is_some() {
            // Only what the file says is run, and what nobody can run fails.
            settings.socket.clone_from(&self.socket);
            settings.schedules.clear();
            settings.on_start.clear();
            settings.board.reject_unroutable = true;
        } else {
            let socket = self.socket.clone().or(settings.socket);
            settings.socket = Some(socket.unwrap_or_else(default_socket));
        }
        Ok(settings)
    }
}

/// Refuses what names no store. As it is read again, it stays as it was typed: shown, a URL has lost its password.
fn store_url(text: &str) -> Result<String, BadStoreUrl> {
    text.parse::<StoreUrl>().map(|_| text.to_owned())
}

fn default_socket() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty());
    match runtime {
        Some(directory) => PathBuf::from(directory).join("taskyard.sock"),
        None => format!("/tmp/taskyard-{}.sock", rustix::process::getuid().as_raw()).into(),
    }
}
