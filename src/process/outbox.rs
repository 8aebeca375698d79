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

    /// Puts the answer to a call. False if the worker does not read what it asks for: of what is not written, so much may be
    /// answers.
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let before = self.bytes.len();
        write(&mut self.bytes);
        self.answers = (self.answers + self.bytes.len() - before).min(self.unwritten());
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
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.forget_written(),
                Err(_) => break,
            }
        }
        self.clear();
    }

    fn unwritten(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// A worker that reads steadily but is never done would otherwise make this grow for ever. Each byte is moved once at
    /// most for each byte written.
    fn forget_written(&mut self) {
        if self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(USUAL);
        self.written = 0;
        self.answers = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen: a worker that always had something left to read made the yard keep all that it had ever been sent.
    #[test]
    fn a_worker_that_is_always_behind_costs_no_more_than_it_is_behind() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut outbox = Outbox::default();
            let ours = Rc::new(ours);
            outbox.connect(Rc::clone(&ours));
            let (frame, mut read) = (vec![b'x'; 1 << 20], vec![0; 1 << 20]);
            assert!(outbox.answer(|out| out.extend_from_slice(&frame)));
            for _ in 0..2 * (UNREAD_MAX >> 20) {
                assert!(outbox.answer(|out| out.extend_from_slice(&frame)), "it reads");
                let mut left = frame.len();
                while left > 0 {
                    tokio::select! {
                        _ = ours.writable() => outbox.flush(),
                        _ = theirs.readable() => left -= theirs.try_read(&mut read[..left]).unwrap_or(0),
                    }
                }
                assert!(
                    !outbox.is_empty() && outbox.bytes.len() <= 3 * frame.len(),
                    "{}",
                    outbox.bytes.len()
                );
            }
        });
    }
}
