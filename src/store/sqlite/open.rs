//! How the file is opened: made for its owner alone, set up for one writer and a log beside it, and brought up to date.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::clock::{BootClock, KernelClock};
use super::error::SqliteError;
use super::file::Identity;
use super::late::Late;
use super::log::LogKeeper;
use super::mirror::Mirror;
use super::turn::Rules;
use super::{Sql, Sqlite, schema};
use crate::store::choice::Durability;
use crate::store::remembered::Remembered;
use crate::store::setup::Setup;

/// How a board in a file is set up.
pub struct Options {
    /// What is the same for every durable board.
    pub setup: Setup,
    /// What a task survives once its submit was answered.
    pub durability: Durability,
    /// The clock of the leases; `None`: the kernel's.
    pub clock: Option<Box<dyn BootClock>>,
    /// How long a request waits for another process that writes.
    pub patience: Duration,
    /// How long it is waited for another process that migrates the file, or closes it.
    pub opening_patience: Duration,
}

impl Options {
    /// As usual.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            durability: Durability::default(),
            clock: None,
            patience: Duration::from_millis(250),
            opening_patience: Duration::from_secs(10),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("setup", &self.setup)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

/// Prepared statements that are kept; there are fewer.
const STATEMENTS: usize = 200;

impl Sqlite {
    /// Opens the board in a file; makes one that only its owner may read if there is none.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, SqliteError> {
        let path = path.as_ref();
        let Options {
            setup: Setup { board, result_max, router, defaults },
            durability,
            clock,
            patience,
            opening_patience,
        } = options;
        let clock = match clock {
            Some(clock) => clock,
            None => Box::new(KernelClock::new().map_err(SqliteError::Boot)?),
        };
        let db = connect(path, durability, opening_patience)?;
        let file = Identity::of(path).map_err(|error| cannot_open(path, error))?;
        let opening = |error| SqliteError::opening(path.into(), error);
        db.busy_timeout(patience).map_err(opening)?;
        let mut mirror = Mirror::new(router);
        mirror.refresh(&db).map_err(opening)?;
        let log = LogKeeper::start(path, &db).map_err(opening)?;
        let late = RefCell::new(Late::new(result_max));
        let rules = Rules { settings: board, defaults, clock };
        let remembered = Remembered::default();
        Ok(Self { log, db, file, mirror, late, rules, remembered, stale_writes: 0 })
    }
}

fn cannot_open(path: &Path, error: io::Error) -> SqliteError {
    SqliteError::Open { path: path.into(), cause: Box::new(error) }
}

fn connect(path: &Path, durability: Durability, patience: Duration) -> Result<Connection, SqliteError> {
    if path.is_dir() {
        return Err(SqliteError::Folder { path: path.into() });
    }
    make(path).map_err(|error| cannot_open(path, error))?;
    let opening = |error| SqliteError::opening(path.into(), error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(opening)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.busy_timeout(patience.min(Duration::from_millis(100))).map_err(opening)?;
    let deadline = Instant::now() + patience;
    check_kind(path, &again_while_busy(deadline, || kind(&db)).map_err(opening)?)?;
    if again_while_busy(deadline, || log_mode(&db)).map_err(opening)? != "wal" {
        return Err(SqliteError::NoLog { path: path.into() });
    }
    set_up(&db, durability).map_err(opening)?;
    let found = again_while_busy(deadline, || bring_up_to_date(&db)).map_err(opening)?;
    check_kind(path, &found)?;
    Ok(db)
}

/// Makes an empty file that only its owner may read, if there is none. SQLite gives log and index the same mode.
fn make(path: &Path) -> io::Result<()> {
    // A file that is there is not opened here: to close it again would take away the locks of this process on it.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// What is in the file.
struct Kind {
    application: i32,
    version: i32,
    tables: i64,
}

fn kind(db: &Connection) -> Sql<Kind> {
    // In one statement: another process may be making the tables.
    let kind = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
        FROM pragma_application_id, pragma_user_version";
    db.query_row(kind, [], |row| {
        Ok(Kind { application: row.get(0)?, version: row.get(1)?, tables: row.get(2)? })
    })
}

fn check_kind(path: &Path, found: &Kind) -> Result<(), SqliteError> {
    if found.application != schema::APPLICATION && (found.tables > 0 || found.application != 0) {
        return Err(SqliteError::Foreign { path: path.into() });
    }
    if found.version > schema::VERSION {
        return Err(SqliteError::Newer { path: path.into(), found: found.version });
    }
    Ok(())
}

fn log_mode(db: &Connection) -> Sql<String> {
    db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
}

fn set_up(db: &Connection, durability: Durability) -> Sql<()> {
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    db.pragma_update(None, "synchronous", synchronous)?;
    // In KiB. Pages of the file are held here and nowhere else, so that memory has a bound.
    db.pragma_update(None, "cache_size", -16 * 1024)?;
    db.query_row("PRAGMA mmap_size = 0", [], |_| Ok(()))?;
    // Plans must not depend on what is bound: else SQLite compiles a statement again for each new value, to see whether a
    // partial index fits now.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // In bytes: what the log keeps on disk once it was written back.
    db.query_row("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))
}

/// What is in the file once it is up to date; what is not for us is left as it is.
fn bring_up_to_date(db: &Connection) -> Sql<Kind> {
    let found = kind(db)?;
    if found.version >= schema::VERSION {
        return Ok(found);
    }
    db.execute_batch("BEGIN IMMEDIATE")?;
    // Another process may have been faster.
    let migrated = kind(db).and_then(|found| {
        let ours = found.application == schema::APPLICATION || found.tables == 0;
        if ours && found.version < schema::VERSION {
            schema::migrate(db, found.version)?;
        }
        kind(db)
    });
    let committed = migrated.and_then(|found| db.execute_batch("COMMIT").map(|()| found));
    if committed.is_err() && !db.is_autocommit() {
        db.execute_batch("ROLLBACK")?;
    }
    committed
}

/// Tries again while another process opens, migrates or closes the file: some of its locks no time-out waits for.
fn again_while_busy<T>(deadline: Instant, mut attempt: impl FnMut() -> Sql<T>) -> Sql<T> {
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    fn pragma(db: &Connection, name: &str) -> i64 {
        db.pragma_query_value(None, name, |row| row.get(0)).unwrap()
    }

    fn in_a_file(name: &str, durability: Durability, look: impl FnOnce(&Connection)) {
        let file = std::env::temp_dir().join(format!("taskyard-{name}-{}.db", std::process::id()));
        let db = Connection::open(&file).unwrap();
        set_up(&db, durability).unwrap();
        look(&db);
        std::fs::remove_file(file).unwrap();
    }

    /// What was accepted survives a loss of power only if SQLite is told to wait for the disk.
    #[test]
    fn each_durability_is_what_sqlite_calls_so() {
        for (durability, synchronous) in [(Durability::Full, 2), (Durability::Normal, 1)] {
            in_a_file(&format!("{durability:?}"), durability, |db| {
                assert_eq!(pragma(db, "synchronous"), synchronous);
                assert_eq!(pragma(db, "cache_size"), -16 * 1024, "its memory has a bound");
            });
        }
    }

    /// Seen: whoever asked for the first row of a lane paid for a new plan each time.
    #[test]
    fn a_statement_is_compiled_once_whatever_is_bound() {
        in_a_file("compiled", Durability::Normal, |db| {
            schema::migrate(db, 0).unwrap();
            let first = "SELECT due FROM task INDEXED BY task_parked WHERE state = 0 AND lane = ?1
                ORDER BY due LIMIT 1";
            let mut first = db.prepare(first).unwrap();
            for lane in 0..3 {
                assert!(!first.exists([lane]).unwrap());
            }
            assert_eq!(first.get_status(StatementStatus::RePrepare), 0);
        });
    }
}
