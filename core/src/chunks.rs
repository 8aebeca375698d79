//! Puts messages together that came in chunks (dispatcherd's envelopes), within bounds of number, bytes and time.
//!
//! `{"__dispatcherd_chunk__":"v1","message_id":"…","index":0,"total":2,"payload":"…"}`: the payloads of all indexes, in
//! order, are the message. What stays incomplete is dropped by the clock, whether or not anything else arrives.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::defaults::MESSAGE_MAX;
use crate::map::Map;
use crate::options::check_length;
use crate::time::{Instant64, Wakeup};
use crate::wire::{Field, Given, Rejected, shape};

/// The field that tells a chunk from other messages.
pub const MARKER: &str = "__dispatcherd_chunk__";
/// The version of the envelope that is understood.
const VERSION: &str = "v1";
/// Of how many chunks a message may be made.
const TOTAL_MAX: u32 = 10_000;
/// The longest id of a message, in bytes.
const ID_MAX: usize = 128;
/// What a chunk costs beside its payload.
const OVERHEAD: usize = 64;

/// How much may be kept, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many incomplete messages; one more drops the oldest.
    pub messages: usize,
    /// How many bytes in all incomplete messages; more drop the oldest.
    pub bytes: usize,
    /// How long after its first chunk a message must be complete.
    pub complete_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { messages: 1_000, bytes: 16 * MESSAGE_MAX, complete_within: Duration::from_mins(1) }
    }
}

/// What became of all chunks so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Messages put together.
    pub assembled: u64,
    /// Messages that were not complete in time.
    pub expired: u64,
    /// Incomplete messages dropped to make room.
    pub dropped: u64,
    /// Chunks that had come before.
    pub duplicates: u64,
    /// Chunks that contradict themselves or their message.
    pub rejected: u64,
}

/// A chunk, checked by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    message_id: Cow<'a, str>,
    index: u32,
    total: u32,
    payload: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireChunk<'a> {
    #[serde(rename = "__dispatcherd_chunk__")]
    version: Given<'a>,
    message_id: Given<'a>,
    index: Given<'a>,
    total: Given<'a>,
    payload: Given<'a>,
}

impl<'a> Chunk<'a> {
    /// Reads an envelope.
    pub fn parse(text: &'a str) -> Result<Self, Rejected> {
        shape::check(text)?;
        let wire: WireChunk<'a> = shape::object(text)?;
        needed(MARKER, wire.version.read(MARKER, |field| field.one_of(&[(VERSION, ())]))?)?;
        let message_id = needed("message_id", wire.message_id.read("message_id", Field::text)?)?;
        check_length("message_id", &message_id, ID_MAX)?;
        let total = wire.total.read("total", |field| field.whole(1..=TOTAL_MAX))?;
        let total = needed("total", total)?;
        let index = needed("index", wire.index.read("index", |field| field.whole(0..=total - 1))?)?;
        let payload = needed("payload", wire.payload.read("payload", Field::text)?)?;
        Ok(Self { message_id, index, total, payload })
    }
}

fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, Rejected> {
    value.ok_or_else(|| Rejected::field(field, "is missing from the chunk"))
}

/// The incomplete messages.
#[derive(Debug, Default)]
pub struct Chunks {
    limits: Limits,
    partial: Map<Box<str>, Partial>,
    /// When each was born, in order of birth: the oldest goes first.
    births: BTreeMap<u64, (Instant64, Box<str>)>,
    next_birth: u64,
    bytes: usize,
    counts: Counts,
}

#[derive(Debug)]
struct Partial {
    birth: u64,
    total: u32,
    payload_bytes: usize,
    bytes: usize,
    parts: BTreeMap<u32, Box<str>>,
}

impl Chunks {
    /// Keeps incomplete messages within these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Reads a chunk and takes it in; the message, if it was the last one missing. A chunk that came before is ignored.
    pub fn take_in(&mut self, now: Instant64, text: &str) -> Result<Option<String>, Rejected> {
        self.wake(now);
        let taken = Chunk::parse(text).and_then(|chunk| self.add(now, &chunk));
        if taken.is_err() {
            self.counts.rejected += 1;
        }
        taken
    }

    /// Drops what was not complete in time.
    pub fn wake(&mut self, now: Instant64) {
        let late = now - self.limits.complete_within;
        while let Some((_, id)) = self.oldest().filter(|(born, _)| *born <= late) {
            self.remove(&id);
            self.counts.expired += 1;
        }
    }

    /// When [`wake`](Self::wake) has something to drop.
    pub fn next_wakeup(&self) -> Wakeup {
        Wakeup::mono(self.births.values().next().map(|(born, _)| *born + self.limits.complete_within))
    }

    /// What became of all chunks so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many messages are incomplete.
    pub fn len(&self) -> usize {
        self.partial.len()
    }

    /// Whether no message is incomplete.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    fn add(&mut self, now: Instant64, chunk: &Chunk<'_>) -> Result<Option<String>, Rejected> {
        let id = chunk.message_id.as_ref();
        if !self.partial.contains_key(id) {
            self.open(now, id, chunk.total);
        }
        let Some(partial) = self.partial.get_mut(id) else { return Ok(None) };
        if partial.total != chunk.total {
            let reason = format!("is {}, other chunks of this message said {}", chunk.total, partial.total);
            return Err(Rejected::field("total", reason));
        }
        if partial.parts.contains_key(&chunk.index) {
            self.counts.duplicates += 1;
            return Ok(None);
        }
        self.bytes += partial.put(chunk.index, &chunk.payload);
        if partial.payload_bytes > MESSAGE_MAX {
            let bytes = partial.payload_bytes;
            self.remove(id);
            return Err(shape::too_long(bytes));
        }
        if partial.parts.len() == partial.total as usize {
            self.counts.assembled += 1;
            return Ok(self.remove(id).map(Partial::assemble));
        }
        self.make_room(self.limits.messages);
        Ok(None)
    }

    fn open(&mut self, now: Instant64, id: &str, total: u32) {
        self.make_room(self.limits.messages.saturating_sub(1));
        let bytes = OVERHEAD + 2 * id.len();
        let partial =
            Partial { birth: self.next_birth, total, payload_bytes: 0, bytes, parts: BTreeMap::new() };
        self.births.insert(self.next_birth, (now, id.into()));
        self.partial.insert(id.into(), partial);
        self.bytes += bytes;
        self.next_birth += 1;
    }

    fn make_room(&mut self, messages: usize) {
        while self.partial.len() > messages || self.bytes > self.limits.bytes {
            let Some((_, id)) = self.oldest() else { return };
            self.remove(&id);
            self.counts.dropped += 1;
        }
    }

    fn oldest(&self) -> Option<(Instant64, Box<str>)> {
        self.births.values().next().cloned()
    }

    fn remove(&mut self, id: &str) -> Option<Partial> {
        let partial = self.partial.remove(id)?;
        self.births.remove(&partial.birth);
        self.bytes -= partial.bytes;
        Some(partial)
    }
}

impl Partial {
    /// Keeps a part; how many more bytes are kept now.
    fn put(&mut self, index: u32, payload: &str) -> usize {
        let cost = OVERHEAD + payload.len();
        self.parts.insert(index, payload.into());
        self.payload_bytes += payload.len();
        self.bytes += cost;
        cost
    }

    fn assemble(self) -> String {
        let mut message = String::with_capacity(self.payload_bytes);
        self.parts.values().for_each(|part| message.push_str(part));
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Instant64 = Instant64(61_000_000);

    fn chunk(id: &str, index: i64, total: i64, payload: &str) -> String {
        serde_json::json!({
            MARKER: "v1", "message_id": id, "index": index, "total": total, "payload": payload,
        })
        .to_string()
    }

    /// Index, total and payload of a chunk of one message, and what is expected of it.
    type Line<'a> = (i64, i64, &'a str, Result<Option<&'a str>, &'a str>);

    #[track_caller]
    fn check(script: &[Line<'_>]) -> Chunks {
        let mut chunks = Chunks::default();
        for (index, total, payload, expected) in script {
            let taken = chunks.take_in(Instant64(0), &chunk("m", *index, *total, payload));
            let taken = taken.map_err(|rejected| rejected.to_string());
            let expected = expected.map(|message| message.map(String::from)).map_err(String::from);
            assert_eq!(taken, expected, "chunk {index} of {total}");
        }
        chunks
    }

    /// P14.
    #[test]
    fn chunks_in_any_order_make_the_message() {
        check(&[(0, 2, "ab", Ok(None)), (1, 2, "cd", Ok(Some("abcd")))]);
        check(&[(2, 3, "ef", Ok(None)), (1, 3, "🦀", Ok(None)), (0, 3, "\"\u{0}", Ok(Some("\"\u{0}🦀ef")))]);
        check(&[(0, 1, "whole", Ok(Some("whole")))]);
    }

    /// P14: the first one counts, whatever the second says.
    #[test]
    fn a_chunk_that_came_before_is_ignored_and_counted() {
        let chunks = check(&[(0, 2, "ab", Ok(None)), (0, 2, "XX", Ok(None)), (1, 2, "cd", Ok(Some("abcd")))]);
        assert_eq!(chunks.counts(), Counts { assembled: 1, duplicates: 1, ..Counts::default() });
    }

    /// P14.
    #[test]
    fn a_chunk_that_contradicts_itself_or_others_is_rejected_by_name() {
        let chunks = check(&[
            (0, 2, "ab", Ok(None)),
            (2, 2, "x", Err("`index`: must be a whole number from 0 to 1, not 2")),
            (-1, 2, "x", Err("`index`: must be a whole number from 0 to 1, not -1")),
            (0, 0, "x", Err("`total`: must be a whole number from 1 to 10000, not 0")),
            (0, 1_000_000_000, "x", Err("`total`: must be a whole number from 1 to 10000, not 1000000000")),
            (1, 3, "x", Err("`total`: is 3, other chunks of this message said 2")),
            (1, 2, "cd", Ok(Some("abcd"))),
        ]);
        assert_eq!(chunks.counts(), Counts { assembled: 1, rejected: 5, ..Counts::default() });
        assert!(chunks.is_empty() && chunks.bytes == 0);
    }

    /// P14.
    #[test]
    fn other_versions_and_missing_fields_are_rejected_by_name() {
        let refused = |text: &str| Chunk::parse(text).unwrap_err().to_string();
        assert!(refused(r#"{"__dispatcherd_chunk__":"v2"}"#).starts_with("`__dispatcherd_chunk__`: must be"));
        assert!(refused(r#"{"__dispatcherd_chunk__":"v1"}"#).starts_with("`message_id`: is missing"));
        assert!(refused(&chunk("", 0, 1, "")).starts_with("`message_id`: must have 1 to 128 bytes"));
        assert!(refused(&chunk(&"x".repeat(129), 0, 1, "")).starts_with("`message_id`"));
    }

    /// P14.
    #[test]
    fn an_incomplete_message_expires_by_the_clock_alone() {
        let mut chunks = check(&[(0, 2, "ab", Ok(None))]);
        assert_eq!(chunks.next_wakeup(), Wakeup::mono(Some(Instant64(60_000_000))));
        chunks.wake(Instant64(59_999_999));
        assert_eq!(chunks.len(), 1);
        chunks.wake(Instant64(60_000_000));
        assert_eq!((chunks.len(), chunks.bytes, chunks.next_wakeup()), (0, 0, Wakeup::NEVER));
        assert_eq!(chunks.counts(), Counts { expired: 1, ..Counts::default() });
        assert_eq!(chunks.take_in(LATER, &chunk("m", 1, 2, "cd")), Ok(None), "its other half comes too late");
    }

    /// P14.
    #[test]
    fn ten_thousand_incomplete_messages_are_bounded_in_number() {
        let mut chunks = Chunks::default();
        for number in 0..10_000 {
            chunks.take_in(Instant64(number), &chunk(&number.to_string(), 0, 2, "x")).unwrap();
        }
        assert_eq!((chunks.len(), chunks.births.len()), (1_000, 1_000));
        assert_eq!(chunks.counts().dropped, 9_000);
        let last = chunks.take_in(Instant64(10_000), &chunk("9999", 1, 2, "y"));
        assert_eq!(last, Ok(Some("xy".into())), "the newest are kept");
        chunks.wake(LATER);
        assert_eq!((chunks.counts().expired, chunks.bytes), (999, 0));
    }

    /// P14.
    #[test]
    fn incomplete_messages_are_bounded_in_bytes() {
        let mut chunks = Chunks::new(Limits { bytes: 10_000, ..Limits::default() });
        let payload = "x".repeat(1_000);
        for number in 0..100 {
            chunks.take_in(Instant64(number), &chunk(&number.to_string(), 0, 2, &payload)).unwrap();
            assert!(chunks.bytes <= 10_000);
        }
        assert_eq!(chunks.counts().dropped as usize + chunks.len(), 100);
    }

    /// P14.
    #[test]
    fn a_message_that_grows_beyond_the_limit_is_dropped() {
        let mut chunks = Chunks::default();
        let half = "x".repeat(MESSAGE_MAX / 2 + 1);
        chunks.take_in(Instant64(0), &chunk("m", 0, 3, &half)).unwrap();
        let rejected = chunks.take_in(Instant64(0), &chunk("m", 1, 3, &half)).unwrap_err();
        assert_eq!(rejected.to_string(), "the message has 1048578 bytes, at most 1048576 are allowed");
        assert!(chunks.is_empty() && chunks.bytes == 0);
    }
}
