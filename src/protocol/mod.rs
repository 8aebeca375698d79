//! The worker protocol, version 1: newline-delimited JSON over a Unix socket pair. Both ends of each frame stand side by
//! side, so that what one writes the other reads. It never touches a socket.

pub(crate) mod from_worker;
pub(crate) mod lines;
pub(crate) mod to_worker;

use std::io::Write as _;

use serde::Serialize;
use taskyard_core::TaskId;
use uuid::Uuid;

/// The version that both ends must speak.
pub(crate) const PROTOCOL: u32 = 1;
/// The longest frame that a worker may send.
pub(crate) const FRAME_MAX: usize = taskyard_core::defaults::MESSAGE_MAX;
/// What a frame may need beside the value that it carries.
pub(crate) const ENVELOPE: usize = 4 * 1024;

/// Appends `value` as JSON. Writing into memory can't fail, nor can what the protocol carries fail to be JSON.
fn json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok(), "a frame's own fields are JSON");
}

/// Appends formatted text.
fn text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "memory takes every text");
}

/// Appends an id, without the detour over formatting: each task has several on its way.
fn id(out: &mut Vec<u8>, id: TaskId) {
    let mut buffer = Uuid::encode_buffer();
    out.extend_from_slice(Uuid::from_u128(id.0).hyphenated().encode_lower(&mut buffer).as_bytes());
}

/// Appends JSON text that somebody else wrote. Line breaks between its tokens become spaces: one would end the frame.
fn raw(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', &out[start..]).is_some() {
        out[start..].iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
}

/// The beginning of a frame that somebody may want to see, cut.
fn excerpt(frame: &[u8]) -> String {
    const SHOWN: usize = 120;
    let cut = &frame[..frame.len().min(SHOWN)];
    let dots = if frame.len() > SHOWN { "…" } else { "" };
    format!("{:?}{dots}", String::from_utf8_lossy(cut))
}
