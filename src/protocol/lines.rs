//! Cuts a stream of bytes into lines of bounded length, with one buffer that is used again. It never reads by itself.

use std::io;

/// What the buffer holds when no long line is on its way.
const USUAL: usize = 64 * 1024;

/// A line is longer than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    pub(crate) limit: usize,
}

/// The bytes read and not yet handed out as lines.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    end: usize,
    limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes, the line break not counted.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, end: 0, limit }
    }

    /// Lets `read` put bytes into the free part of the buffer; it returns how many, 0 at the end of the stream. All whole
    /// lines must have been taken before.
    pub(crate) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        self.make_room();
        let count = read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count)
    }

    /// The next whole line, without its line break.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..self.end]) else {
            self.scanned = self.end;
            return if self.rest().len() > self.limit { Err(self.too_long()) } else { Ok(None) };
        };
        let line = self.start..self.scanned + at;
        self.start = line.end + 1;
        self.scanned = self.start;
        if line.len() > self.limit { Err(self.too_long()) } else { Ok(Some(&self.buffer[line])) }
    }

    /// What was read of a line that is not whole.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn too_long(&self) -> TooLong {
        TooLong { limit: self.limit }
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.end == 0 && self.buffer.len() != USUAL {
            self.buffer = vec![0; USUAL];
        } else if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(lines: &mut Lines, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let read = |free: &mut [u8]| {
                let count = free.len().min(rest.len());
                free[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            };
            let count = lines.fill(read).unwrap();
            rest = &rest[count..];
        }
    }

    #[test]
    fn lines_come_whole_however_they_were_cut() {
        let mut lines = Lines::new(100);
        for byte in b"ab\n\ncd" {
            feed(&mut lines, &[*byte]);
        }
        assert_eq!(lines.next(), Ok(Some(&b"ab"[..])));
        assert_eq!(lines.next(), Ok(Some(&b""[..])));
        assert_eq!(lines.next(), Ok(None));
        feed(&mut lines, b"e\n");
        assert_eq!(lines.next(), Ok(Some(&b"cde"[..])));
        assert_eq!(lines.rest(), b"");
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let limit = 3 * USUAL;
        let mut lines = Lines::new(limit);
        feed(&mut lines, &vec![b'x'; limit]);
        assert_eq!(lines.next(), Ok(None));
        feed(&mut lines, b"\n");
        assert_eq!(lines.next().unwrap().map(<[u8]>::len), Some(limit));
        feed(&mut lines, &vec![b'x'; limit + 1]);
        assert_eq!(lines.next(), Err(TooLong { limit }));
    }
}
