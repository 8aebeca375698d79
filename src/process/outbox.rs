//! Frames on their way to a worker: kept until a flush, then written as far as the socket takes them, the rest when it takes
//! more.

use std::io;
use std::rc::Rc;

use tokio::net::UnixStream;

/// What a worker may leave unread of answers to its own calls.
const UNREAD_MAX: usize = 16 << 20;
/// The capacity that an empty outbox keeps.
const USUAL: usize = 64 * 1024;

/// Frames not yet written.
#[derive(Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
    answers: usize,
    socket: Option<Rc<UnixStream>>,
}

impl Outbox {
    /// From now on flushes write here.
    pub(super) fn connect(&mut self, socket: Rc<UnixStream>) {
        self.socket = Some(socket);
    }

    /// Where frames are put.
    pub(super) fn frames(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Puts the answer to a call. False if the worker does not read what it asks for.
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let before = self.bytes.len();
        write(&mut self.bytes);
        self.answers += self.bytes.len() - before;
        self.answers <= UNREAD_MAX
    }

    /// Whether something waits for the socket.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes what the socket takes. What a dead worker does not take is dropped: its death is known by other means.
    pub(super) fn flush(&mut self) {
        let Some(socket) = &self.socket else { return };
        while self.written < self.bytes.len() {
            match socket.try_write(&self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(USUAL);
        self.written = 0;
        self.answers = 0;
    }
}
