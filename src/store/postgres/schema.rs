//! The tables, in a schema of their own: made and brought up to date when a store is opened, by one of however many are
//! opened at once. No task is looked at here.

use std::fmt;
use std::str::FromStr;

use super::fault::Fault;
use super::link::Session;

/// What brings the tables from one version to the next; the first makes them.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/1.sql")];
/// Whoever makes or changes tables holds this lock; the second half is the schema's.
const LOCK: i32 = 0x7461_736b;

/// The name of a schema: letters, digits and `_`, not beginning with a digit, at most 48 of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaName(String);

/// Not the name of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot name a schema: at most 48 lower-case letters, digits and `_`, the first no digit")]
pub struct BadSchemaName(String);

impl FromStr for SchemaName {
    type Err = BadSchemaName;

    fn from_str(text: &str) -> Result<Self, BadSchemaName> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fits = !text.is_empty() && text.len() <= 48 && text.chars().all(plain);
        let bad = !fits || text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("pg_");
        if bad { Err(BadSchemaName(text.chars().take(64).collect())) } else { Ok(Self(text.to_owned())) }
    }
}

impl Default for SchemaName {
    fn default() -> Self {
        Self("taskyard".to_owned())
    }
}

impl SchemaName {
    /// The channel on which is said that something changed.
    pub(super) fn channel(&self) -> String {
        format!("taskyard_{}", self.0)
    }

    /// Tells locks of one schema from those of another.
    pub(super) fn seed(&self) -> i64 {
        // FNV-1a: stable, and for names of our own it need not be more.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0.bytes().fold(0xcbf2_9ce4_8422_2325, step) as i64
    }
}

/// Quoted, as it stands in statements.
impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// Why the tables cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadTables {
    #[error(
        "the tables in schema {schema} are of version {found}, of a later Taskyard: this one knows {known}"
    )]
    Newer { schema: SchemaName, found: i32, known: usize },
    #[error("Postgres 13 or later is needed, and this is {0}")]
    OldServer(String),
    #[error("the database's encoding must be UTF8, as results and errors may hold any text, and it is {0}")]
    Encoding(String),
    #[error(transparent)]
    Server(#[from] Fault),
}

/// The first version that says by its number what became of a transaction.
const OLDEST_SERVER: i32 = 130_000;
const SERVER: &str =
    "SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
      current_setting('server_encoding')";

/// Making the tables, or waiting for who makes them, may take longer than what is done for a task.
const UNHURRIED: &str =
    "BEGIN; SET LOCAL statement_timeout TO '1min'; SET LOCAL idle_in_transaction_session_timeout TO '1min'";

/// Makes the tables or brings them up to date. No step of it may take more than a minute.
pub(super) async fn set_up(session: &Session, schema: &SchemaName) -> Result<(), BadTables> {
    check_server(session).await?;
    session.batch(UNHURRIED).await?;
    let lock = [&LOCK as &(dyn tokio_postgres::types::ToSql + Sync), &(schema.seed() as i32)];
    session.rows_anew("SELECT pg_advisory_xact_lock($1, $2)", &lock).await?;
    let found = version(session, schema).await?;
    let Some(missing) = MIGRATIONS.get(found.max(0) as usize..) else {
        return Err(BadTables::Newer { schema: schema.clone(), found, known: MIGRATIONS.len() });
    };
    for migration in missing {
        session.batch(migration).await?;
    }
    if !missing.is_empty() {
        session.batch(&format!("UPDATE version SET version = {}", MIGRATIONS.len())).await?;
    }
    Ok(session.batch("COMMIT").await?)
}

async fn check_server(session: &Session) -> Result<(), BadTables> {
    let rows = session.rows_anew(SERVER, &[]).await?;
    match rows.first() {
        Some(row) if row.get::<_, i32>(0) < OLDEST_SERVER => Err(BadTables::OldServer(row.get(1))),
        Some(row) if row.get::<_, &str>(2) != "UTF8" => Err(BadTables::Encoding(row.get(2))),
        _ => Ok(()),
    }
}

/// The version of the tables; 0: there are none yet.
async fn version(session: &Session, schema: &SchemaName) -> Result<i32, Fault> {
    let there = format!("SELECT to_regclass('{schema}.version') IS NOT NULL");
    let is_there = session.rows_anew(&there, &[]).await?.first().is_some_and(|row| row.get(0));
    if !is_there {
        // Whoever may not make schemas may still be given one.
        let make = format!(
            "DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$;
            CREATE TABLE version (version integer NOT NULL); INSERT INTO version VALUES (0)"
        );
        session.batch(&make).await?;
    }
    let rows = session.rows_anew("SELECT version FROM version", &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_needs_no_quoting_to_be_harmless() {
        for good in ["taskyard", "a", "_a1"] {
            assert_eq!(good.parse::<SchemaName>().unwrap().to_string(), format!("\"{good}\""));
        }
        for bad in ["", "1a", "A", "a-b", "a\"; DROP", "pg_a", "é", &"a".repeat(49)] {
            assert!(bad.parse::<SchemaName>().is_err(), "{bad}");
        }
    }
}
