//! The server that tests are given, and a schema on it for each: gone with the test.

use std::io::Write as _;
use std::sync::Once;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

/// Where the server's URL stands.
const VARIABLE: &str = "TASKYARD_TEST_POSTGRES";

/// The URL of the server, if there is one; else it is said aloud that nothing is tested.
pub(crate) fn url() -> Option<String> {
    static SAID: Once = Once::new();
    let url = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let said =
            format!("{VARIABLE} names no server: nothing is tested on Postgres. scripts/test starts one.\n");
        // Not by a macro: what they print is shown of tests that fail only.
        SAID.call_once(|| drop(std::io::stderr().write_all(said.as_bytes())));
    }
    url
}

/// A connection of the test's own.
pub(crate) struct Direct {
    runtime: Runtime,
    client: Client,
}

impl Direct {
    pub(crate) fn to(url: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(url, NoTls)).expect("the server is there");
        runtime.spawn(connection);
        Self { runtime, client }
    }

    pub(crate) fn batch(&self, sql: &str) {
        self.runtime.block_on(self.client.batch_execute(sql)).expect("the server does it");
    }

    pub(crate) fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.runtime.block_on(self.client.query(sql, params)).expect("the server answers")
    }

    /// Waits until another connection waits for what the transaction here has.
    pub(crate) fn wait_until_somebody_waits(&self) {
        const WAITING: &str =
            "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))";
        let begun = Instant::now();
        while self.rows(WAITING, &[]).is_empty() {
            assert!(begun.elapsed() < Duration::from_mins(1), "nobody waits");
        }
    }

    /// Has something done with the connection.
    pub(crate) fn with<T>(&mut self, act: impl AsyncFnOnce(&mut Client) -> T) -> T {
        self.runtime.block_on(act(&mut self.client))
    }
}

/// A schema that no other test has.
pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) direct: Direct,
}

impl Schema {
    /// `None`: there is no server.
    pub(crate) fn new() -> Option<Self> {
        Some(Self::at(&url()?))
    }

    pub(crate) fn at(url: &str) -> Self {
        let direct = Direct::to(url);
        direct.batch("SET synchronous_commit TO off; SET client_min_messages TO warning");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let thread: String =
            format!("{:?}", std::thread::current().id()).chars().filter(char::is_ascii_digit).collect();
        let name = format!("test_{}_{thread}_{now}", std::process::id());
        Self { url: url.to_owned(), name, direct }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        // A test that stopped its server has no schema to drop.
        let _ = self.direct.runtime.block_on(self.direct.client.batch_execute(&drop));
    }
}
