//! The log beside the file is written back on a thread and by a connection of its own, so that no commit waits for it. When
//! that is begun is decided here; how it is done is SQLite's.
//!
//! A log that is written to all the time never comes to its end in this way: the little that came meanwhile the writer does,
//! which then begins the log anew.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, OpenFlags};

use super::Sql;

/// Earlier versions of SQLite may lose what is committed while another connection writes back a log that has just been
/// finished (sqlite.org/wal.html, "the WAL-reset bug"). There the writer does all.
const SAFE_SINCE: i32 = 3_051_003;
/// How many pages the log holds when it is to be written back.
const PAGES: i64 = 10_000;
/// How many it may hold before the writer does so, however long that takes: 125 MiB.
const PAGES_MAX: i64 = 32_000;
/// After so many changes of rows the writer looks how long the log is.
const LOOK_AFTER: u64 = 1_000;
/// What is short enough to be left to the writer.
const REST: i64 = 100;
/// So often what came meanwhile is written back as well, if it is more than a rest.
const PASSES: usize = 4;

/// Has the log written back; see the [module](self). Dropped, it ends its thread.
pub(super) struct LogKeeper {
    /// `None`: the writer does all.
    helper: Option<Helper>,
    looked_at: u64,
}

struct Helper {
    /// Taken when the thread is to end.
    wake: Option<Sender<()>>,
    /// It was woken and has not finished.
    awake: bool,
    /// The rest is the writer's.
    finished: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LogKeeper {
    /// For the file that `db` has open, too.
    pub(super) fn start(path: &Path, db: &Connection) -> Sql<Self> {
        let safe = rusqlite::version_number() >= SAFE_SINCE;
        let helper = if safe { Helper::start(path)? } else { None };
        let pages = if helper.is_some() { PAGES_MAX } else { PAGES };
        db.query_row(&format!("PRAGMA wal_autocheckpoint = {pages}"), [], |_| Ok(()))?;
        Ok(Self { helper, looked_at: 0 })
    }

    /// The writer has committed something.
    pub(super) fn committed(&mut self, db: &Connection) -> Sql<()> {
        let Some(helper) = &mut self.helper else { return Ok(()) };
        if helper.finished.swap(false, Ordering::Acquire) {
            helper.awake = false;
            write_back(db)?;
        }
        let changes = db.total_changes();
        if !helper.awake && changes - self.looked_at >= LOOK_AFTER {
            self.looked_at = changes;
            if length(db)?.rest() >= PAGES {
                helper.wake();
            }
        }
        Ok(())
    }
}

impl Helper {
    /// `None`: the system has no thread for it.
    fn start(path: &Path) -> Sql<Option<Self>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        // It reads no tables.
        db.pragma_update(None, "cache_size", 1)?;
        // The connection reads the file's header now, rather than while somebody waits.
        length(&db)?;
        let (wake, woken) = mpsc::channel();
        let finished = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&finished);
        let work = move || work(&db, &woken, &done);
        let thread = thread::Builder::new().name("taskyard-log".into()).spawn(work);
        Ok(thread.ok().map(|thread| Self { wake: Some(wake), awake: false, finished, thread: Some(thread) }))
    }

    /// If the thread is gone, the writer writes back whatever exceeds the bound.
    fn wake(&mut self) {
        self.awake = self.wake.as_ref().is_some_and(|wake| wake.send(()).is_ok());
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.wake = None;
        // What it did not write back the last connection does as it closes.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Writes back each time it is woken, until nobody can wake it.
fn work(db: &Connection, woken: &Receiver<()>, finished: &AtomicBool) {
    while woken.recv().is_ok() {
        for _ in 0..PASSES {
            match write_back(db) {
                Ok(log) if log.rest() > REST => {}
                Ok(_) => break,
                Err(error) => {
                    // The writer meets the same as soon as it matters, and says so.
                    tracing::debug!(%error, "the log was not written back");
                    break;
                }
            }
        }
        finished.store(true, Ordering::Release);
    }
}

/// In pages: what the log holds, and how much of that the file has.
struct Log {
    length: i64,
    written_back: i64,
}

impl Log {
    fn rest(&self) -> i64 {
        self.length - self.written_back
    }
}

/// Writes back what no reader needs, and waits for nobody.
fn write_back(db: &Connection) -> Sql<Log> {
    log(db, "PRAGMA wal_checkpoint(PASSIVE)")
}

fn length(db: &Connection) -> Sql<Log> {
    log(db, "PRAGMA wal_checkpoint(NOOP)")
}

fn log(db: &Connection, pragma: &str) -> Sql<Log> {
    db.prepare_cached(pragma)?.query_row([], |row| Ok(Log { length: row.get(1)?, written_back: row.get(2)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Writer {
        folder: std::path::PathBuf,
        db: Connection,
        log: LogKeeper,
    }

    impl Writer {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("taskyard-log-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let db = Connection::open(folder.join("board.db")).unwrap();
            db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
            db.execute_batch("CREATE TABLE note (text TEXT)").unwrap();
            let log = LogKeeper::start(&folder.join("board.db"), &db).unwrap();
            Self { folder, db, log }
        }

        /// Commits once, a page a row.
        fn write(&mut self, rows: i64) {
            let note = "INSERT INTO note WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                SELECT hex(zeroblob(2000)) FROM n";
            self.db.execute(note, [rows]).unwrap();
            self.log.committed(&self.db).unwrap();
        }

        fn helper(&self) -> &Helper {
            self.log.helper.as_ref().expect("this SQLite is new enough")
        }

        fn wait_for_the_helper(&self) {
            while !self.helper().finished.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }
    }

    impl Drop for Writer {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    #[test]
    fn a_long_log_is_written_back_beside_the_writer_which_then_begins_it_anew() {
        let mut writer = Writer::new("long");
        writer.write(PAGES / 2);
        assert!(length(&writer.db).unwrap().rest() > PAGES / 2, "the writer writes nothing back");
        writer.write(PAGES / 2);
        writer.wait_for_the_helper();
        assert!(length(&writer.db).unwrap().rest() <= REST);
        writer.write(1);
        assert_eq!(length(&writer.db).unwrap().rest(), 0);
        writer.write(1);
        assert!(length(&writer.db).unwrap().length < 10, "begun anew");
    }

    #[test]
    fn a_short_log_is_left_alone() {
        let mut writer = Writer::new("short");
        for _ in 0..10 {
            writer.write(100);
        }
        assert_eq!(length(&writer.db).unwrap().written_back, 0);
    }

    #[test]
    fn who_closes_last_leaves_no_log_behind() {
        let mut writer = Writer::new("closed");
        writer.write(10);
        let Writer { db, log, .. } = &mut writer;
        *log = LogKeeper { helper: None, looked_at: 0 };
        *db = Connection::open_in_memory().unwrap();
        assert!(!writer.folder.join("board.db-wal").exists());
    }
}
