//! The worker's end of the socket, shared by the thread that runs handlers and its stand-in: reads in whole frames, writes
//! in batches.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::protocol::lines::Lines;
use crate::protocol::{ENVELOPE, FRAME_MAX};

/// Frames are written at the latest when so many bytes are kept.
const KEPT_MAX: usize = 4 * 1024;

/// What a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The end of the stream.
    End,
    /// All that was there.
    All,
    /// As much as fits; there may be more.
    Some,
}

pub(super) struct Wire {
    socket: UnixStream,
    reader: Mutex<Lines>,
    writer: Mutex<Vec<u8>>,
}

impl Wire {
    /// `socket` does not block.
    pub(super) fn new(socket: UnixStream) -> Self {
        // A task as long as allowed has its name and namespace twice, once outside.
        let lines = Lines::new(FRAME_MAX + ENVELOPE);
        Self { socket, reader: Mutex::new(lines), writer: Mutex::default() }
    }

    /// Another descriptor of the socket, to wait with.
    pub(super) fn socket(&self) -> io::Result<UnixStream> {
        self.socket.try_clone()
    }

    /// Reads once, if there is something, and hands over each whole frame.
    pub(super) fn read(&self, mut take_in: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Found> {
        let mut lines = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = 0;
        let count = lines.fill(|free| {
            room = free.len();
            (&self.socket).read(free)
        })?;
        let found = match count {
            0 => return Ok(Found::End),
            _ if count < room => Found::All,
            _ => Found::Some,
        };
        loop {
            match lines.next() {
                Ok(Some(frame)) => take_in(frame)?,
                Ok(None) => return Ok(found),
                Err(_) => return Err(io::Error::other("a frame from the yard is too long")),
            }
        }
    }

    /// Waits until there is something to read, or for `span`. True if there is.
    pub(super) fn wait(&self, span: std::time::Duration) -> bool {
        let span = Timespec::try_from(span).ok();
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut fds, span.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Keeps a frame for the next flush.
    pub(super) fn put(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut kept = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        write(&mut kept);
        if kept.len() >= KEPT_MAX { self.write(&mut kept) } else { Ok(()) }
    }

    /// Writes what is kept; waits while the socket takes nothing.
    pub(super) fn flush(&self) -> io::Result<()> {
        let mut kept = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut kept)
    }

    fn write(&self, kept: &mut Vec<u8>) -> io::Result<()> {
        let mut rest = &kept[..];
        while !rest.is_empty() {
            match (&self.socket).write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    retry_on_intr(|| poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], None))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        kept.clear();
        kept.shrink_to(16 * KEPT_MAX);
        Ok(())
    }
}
