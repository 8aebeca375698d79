//! A server of a test's own, which it may stop.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Stopped and removed in the end.
pub(crate) struct PrivateServer {
    folder: PathBuf,
    pub(crate) url: String,
}

impl PrivateServer {
    /// `None`: nothing is tested on Postgres here. `options`: what the server is told besides.
    pub(crate) fn start(name: &str, options: &[&str]) -> Option<Self> {
        crate::server::url()?;
        let folder = std::env::temp_dir().join(format!("taskyard-{name}-{}", std::process::id()));
        let mut server = Self { folder, url: String::new() };
        server.url = server.begin(options);
        Some(server)
    }

    /// Gives the URL.
    fn begin(&self, options: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.script("start", options);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap().trim().to_owned()
    }

    /// Starts it again, with the same URL.
    pub(crate) fn start_again(&self) {
        assert_eq!(self.begin(&[]), self.url);
    }

    /// The whole path of one of its files.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// As a power cut would.
    pub(crate) fn stop(&self) {
        assert!(self.script("stop", &[]).status.success());
    }

    /// Of what it has on disk. It must be stopped.
    pub(crate) fn keep_a_copy(&self) {
        self.run("cp", &["-a", &self.file("data"), &self.file("copy")]);
    }

    /// What it wrote since the copy was made is lost. It must be stopped.
    pub(crate) fn go_back_to_the_copy(&self) {
        self.run("rm", &["-r", &self.file("data")]);
        self.run("mv", &[&self.file("copy"), &self.file("data")]);
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = Command::new(program).args(arguments).status().unwrap();
        assert!(status.success(), "{program} for {}", self.folder.display());
    }

    fn script(&self, verb: &str, options: &[&str]) -> Output {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres");
        Command::new(script).arg(verb).arg(&self.folder).args(options).output().unwrap()
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.script("remove", &[]);
    }
}
