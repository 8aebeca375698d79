//! What can go wrong with the file, each with what to do about it.

use std::path::PathBuf;

use rusqlite::{ErrorCode, ffi};
use taskyard_core::store::StoreError;

use super::schema;

/// Why a board could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The file can be neither opened nor made, or not be written.
    #[error(
        "the board {path:?} cannot be opened: {cause}. Its folder must exist, and file and folder must be writable"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system said.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It is a folder.
    #[error("{path:?} is a folder; name a file for the board, in it or elsewhere")]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Something else is in the file.
    #[error("{path:?} is not an SQLite database; nothing was changed. Name another file for the board")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else's database is in the file.
    #[error(
        "{path:?} is the database of another program; nothing was changed. Name another file for the board"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer Taskyard wrote it.
    #[error(
        "the board {path:?} has version {found}, this program knows up to {}; nothing was changed. \
         Use the newer program, or another file",
        schema::VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i32,
    },
    /// Another process holds it locked for longer than is waited for.
    #[error("the board {path:?} is locked by another process; end that, or try again when it is done")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file system cannot keep a log beside the file.
    #[error(
        "the board {path:?} lies on a file system on which SQLite's write-ahead log does not work \
         (a network share?); put it on a local disk"
    )]
    NoLog {
        /// The file.
        path: PathBuf,
    },
    /// The kernel does not say which boot this is, so leases could not be told from old ones.
    #[error("the kernel's boot id cannot be read, which leases need: {0}")]
    Boot(std::io::Error),
}

impl SqliteError {
    /// What an error of SQLite means while the file is opened.
    pub(super) fn opening(path: PathBuf, error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            _ => Self::Open { path, cause: Box::new(error) },
        }
    }
}

/// What an error of SQLite means to whoever asked. Nothing was done, unless it says otherwise.
pub(super) fn refusal(error: &rusqlite::Error) -> StoreError {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable("the database is locked by another process".into())
        }
        Some(ErrorCode::DiskFull) => StoreError::Unwritable("the disk is full".into()),
        Some(ErrorCode::ReadOnly) => {
            StoreError::Unwritable("the database file or its folder is read-only".into())
        }
        // The log was written, but perhaps not to the disk: a crash now may bring back what was rolled back.
        _ if extended == Some(ffi::SQLITE_IOERR_FSYNC) => StoreError::Unknown(error.to_string()),
        _ => StoreError::Unwritable(error.to_string()),
    }
}

/// Whether each request would meet the same error: trying them one by one would tell nothing.
pub(super) fn concerns_all(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::NotADatabase
        )
    )
}
