//! Whose the path of a Unix socket is. The file of a dead server is replaced, that of a living one never; anything that is
//! no socket is left alone.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use tokio::net::UnixListener;

/// How long a socket's path may be, in bytes.
const LONGEST: usize = 107;
/// Only its owner may speak to a server.
const MODE: u32 = 0o600;

/// Why a path can't be served.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Somebody serves it.
    #[error("a server is listening on {} already", .0.display())]
    Taken(PathBuf),
    /// There is something else.
    #[error("{} exists and is not a socket; it is left alone", .0.display())]
    NotASocket(PathBuf),
    /// No client could reach it.
    #[error("{} cannot be a socket: its path is longer than {LONGEST} bytes", .0.display())]
    TooLong(PathBuf),
    /// The system refused.
    #[error("{}: {error}", path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A path that is ours to serve, until this is dropped; then the socket is removed. The lock file beside it stays: to
/// remove it would let two servers lock two files of the same name.
#[derive(Debug)]
pub struct Address {
    path: PathBuf,
    file: Identity,
    listener: UnixListener,
    _lock: File,
}

/// By what the system tells files apart.
type Identity = (u64, u64);

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

impl Address {
    /// Takes a path. Needs a tokio runtime around.
    pub fn claim(path: &Path) -> Result<Self, AddressError> {
        let system = |error| AddressError::System { path: path.into(), error };
        if SocketAddr::from_pathname(path).is_err() {
            return Err(AddressError::TooLong(path.into()));
        }
        // Of several that start at once and find the same dead socket, one replaces it.
        let lock = lock(path).map_err(system)?.ok_or_else(|| AddressError::Taken(path.into()))?;
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(AddressError::NotASocket(path.into())),
            Ok(_) if answers(path).map_err(system)? => return Err(AddressError::Taken(path.into())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(system(error)),
        }
        let listener = bind(path).map_err(system)?;
        let file = identity(&std::fs::symlink_metadata(path).map_err(system)?);
        Ok(Self { path: path.into(), file, listener, _lock: lock })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        // Somebody may have put something else there.
        if std::fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.file) {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Binds beside the path and moves the socket there: so it never stands there with other rights than it shall have, and
/// what stood there is replaced in one step.
fn bind(path: &Path) -> io::Result<UnixListener> {
    // A short name: a socket's path may have some hundred bytes only.
    let beside = path.with_file_name(format!(".{}", std::process::id()));
    let bound = UnixListener::bind(&beside).and_then(|listener| {
        std::fs::set_permissions(&beside, Permissions::from_mode(MODE))?;
        std::fs::rename(&beside, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        drop(std::fs::remove_file(&beside));
    }
    bound
}

/// Whether anybody listens there.
fn answers(path: &Path) -> io::Result<bool> {
    match UnixStream::connect(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A locked file beside the socket; `None` if another server has it. The lock goes with the process that holds it, however
/// that ends.
fn lock(socket: &Path) -> io::Result<Option<File>> {
    let path = with_suffix(socket, ".lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(MODE).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
