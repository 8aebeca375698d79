//! What a worker prints: cut into bounded log lines, so many a second, and the last of it kept for the report of its death.
//! However much comes, it is read, counted and forgotten.

use std::time::{Duration, Instant};

/// A longer line is cut.
const LINE_MAX: usize = 8 * 1024;
/// So many lines of one stream are logged in a second; the others are counted.
const LINES_PER_SECOND: u32 = 100;
/// How much of the last output is kept.
const TAIL_MAX: usize = 4 * 1024;

/// One output stream of a worker.
pub(super) struct Capture {
    line: Vec<u8>,
    second: Option<Instant>,
    logged: u32,
    dropped: u64,
}

impl Capture {
    pub(super) fn new() -> Self {
        Self { line: Vec::new(), second: None, logged: 0, dropped: 0 }
    }

    /// Takes in what was printed.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Instant, tail: &mut Tail, log: &mut impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..at]);
            self.line_ended(now, tail, log);
            rest = &rest[at + 1..];
        }
        self.extend(rest);
    }

    /// The stream ended.
    pub(super) fn end(&mut self, now: Instant, tail: &mut Tail, log: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.line_ended(now, tail, log);
        }
        self.tell_dropped(log);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = LINE_MAX - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line_ended(&mut self, now: Instant, tail: &mut Tail, log: &mut impl FnMut(&str)) {
        tail.push(&self.line);
        if self.second.is_none_or(|second| now.duration_since(second) >= Duration::from_secs(1)) {
            self.second = Some(now);
            self.logged = 0;
            self.tell_dropped(log);
        }
        if self.logged < LINES_PER_SECOND {
            self.logged += 1;
            log(&String::from_utf8_lossy(&self.line));
        } else {
            self.dropped += 1;
        }
        self.line.clear();
    }

    fn tell_dropped(&mut self, log: &mut impl FnMut(&str)) {
        if self.dropped > 0 {
            log(&format!("… {} lines were not logged", self.dropped));
            self.dropped = 0;
        }
    }
}

/// The last lines of all output of a worker.
#[derive(Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, line: &[u8]) {
        self.0.extend_from_slice(line);
        self.0.push(b'\n');
        if self.0.len() > 4 * TAIL_MAX {
            self.0.drain(..self.0.len() - TAIL_MAX);
        }
    }

    /// As text, cut at its beginning.
    pub(super) fn text(&self) -> String {
        let last = &self.0[self.0.len().saturating_sub(TAIL_MAX)..];
        let text = String::from_utf8_lossy(last);
        let text = text.trim_end();
        text[text.ceil_char_boundary(text.len().saturating_sub(TAIL_MAX))..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> (Vec<String>, String) {
        let (mut capture, mut tail, mut lines) = (Capture::new(), Tail::default(), Vec::new());
        let now = Instant::now();
        for chunk in chunks {
            capture.feed(chunk, now, &mut tail, &mut |line| lines.push(line.to_owned()));
        }
        capture.end(now, &mut tail, &mut |line| lines.push(line.to_owned()));
        (lines, tail.text())
    }

    #[test]
    fn lines_are_whole_however_they_arrive_and_the_last_needs_no_break() {
        let (lines, tail) = captured(&[b"one\ntw", b"o\n\xff", b"three"]);
        assert_eq!(lines, ["one", "two", "\u{fffd}three"]);
        assert_eq!(tail, "one\ntwo\n\u{fffd}three");
    }

    /// P26.
    #[test]
    fn a_flood_is_counted_and_not_logged() {
        let flood = "yes\n".repeat(100_000);
        let (lines, tail) = captured(&[flood.as_bytes()]);
        assert_eq!(lines.len(), LINES_PER_SECOND as usize + 1);
        assert_eq!(lines.last().unwrap(), "… 99900 lines were not logged");
        assert!(tail.len() <= TAIL_MAX && tail.ends_with("yes"));
    }

    /// P26.
    #[test]
    fn a_line_without_end_is_cut() {
        let (lines, tail) = captured(&["x".repeat(3 * LINE_MAX).as_bytes(), b"y\nend\n"]);
        assert_eq!(lines[0].len(), LINE_MAX);
        assert_eq!(lines[1], "end");
        assert!(tail.len() <= TAIL_MAX && tail.ends_with("x\nend"));
    }
}
