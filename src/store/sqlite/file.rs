//! Which file is open: if another one stands at its path, what is written would go where nobody looks again.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use taskyard_core::store::StoreError;

/// A file, by what the system tells files apart by.
#[derive(Debug)]
pub(super) struct Identity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Identity {
    /// The file that is at the path now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        // A later change of the working directory makes no other file of it.
        let path = std::path::absolute(path)?;
        let (device, inode) = look(&path)?;
        Ok(Self { path, device, inode })
    }

    /// Whether the open file is still the one at its path.
    ///
    /// Nothing is opened anew: beside another file may lie the log of the old one, which would be taken for its own.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let path = self.path.display();
        match look(&self.path) {
            Ok(found) if found == (self.device, self.inode) => Ok(()),
            Ok(_) => Err(StoreError::Unwritable(format!(
                "another file was put in the place of {path}; put the old one back, or start again with the new one"
            ))),
            Err(error) => Err(StoreError::Unwritable(format!(
                "the file {path} is gone ({error}); put it back if it was moved, or start again without it"
            ))),
        }
    }
}

fn look(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
