//! Splits a byte stream into lines within bounded memory. What a line means is not decided here.

use std::io;

use tokio::io::AsyncRead;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, FramedRead, LinesCodec, LinesCodecError};

use taskyard_core::defaults::MESSAGE_MAX;

/// A line that is not blank, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number in the stream, from 1; blank and refused ones count.
    pub number: u64,
    /// Its text.
    pub text: String,
}

/// A line that was skipped; the stream goes on after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Longer than a message may be.
    #[error("line {number} has more than {MESSAGE_MAX} bytes")]
    TooLong {
        /// Its number in the stream.
        number: u64,
    },
    /// Not text.
    #[error("line {number} is not UTF-8")]
    NotUtf8 {
        /// Its number in the stream.
        number: u64,
    },
}

/// The lines of `source`. An `io::Error` is the source's own; after it there is nothing more.
pub fn lines<R: AsyncRead>(source: R) -> FramedRead<R, LineDecoder> {
    FramedRead::new(source, LineDecoder::default())
}

/// Decodes lines. A bad one is an item and not an error, as framing would end the stream at an error.
#[derive(Debug)]
pub struct LineDecoder {
    codec: LinesCodec,
    number: u64,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self { codec: LinesCodec::new_with_max_length(MESSAGE_MAX), number: 0 }
    }
}

type Decoded = Result<Option<String>, LinesCodecError>;

impl LineDecoder {
    fn next(
        &mut self,
        bytes: &mut BytesMut,
        decode: fn(&mut LinesCodec, &mut BytesMut) -> Decoded,
    ) -> io::Result<Option<Result<Line, LineError>>> {
        loop {
            let decoded = decode(&mut self.codec, bytes);
            let number = self.number + 1;
            let item = match decoded {
                Ok(None) => return Ok(None),
                Ok(Some(text)) => Ok(Line { number, text }),
                Err(LinesCodecError::MaxLineLengthExceeded) => Err(LineError::TooLong { number }),
                Err(LinesCodecError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                    Err(LineError::NotUtf8 { number })
                }
                Err(LinesCodecError::Io(error)) => return Err(error),
            };
            self.number = number;
            if item.as_ref().is_ok_and(|line| line.text.trim().is_empty()) {
                continue;
            }
            return Ok(Some(item));
        }
    }
}

impl Decoder for LineDecoder {
    type Item = Result<Line, LineError>;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        self.next(bytes, LinesCodec::decode)
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        self.next(bytes, LinesCodec::decode_eof)
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    type Item = Result<Line, LineError>;

    fn line(number: u64, text: &str) -> Line {
        Line { number, text: text.into() }
    }

    /// The same items come out, whatever pieces the bytes arrive in.
    #[track_caller]
    fn check(bytes: &[u8], expected: &[Item]) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(read(lines(bytes))) == expected, "in one piece");
        let (mut decoder, mut buffer, mut items) = (LineDecoder::default(), BytesMut::new(), Vec::new());
        for piece in bytes.chunks(4_093) {
            buffer.extend_from_slice(piece);
            assert!(buffer.len() <= MESSAGE_MAX + 4_093, "no more than a line is kept");
            while let Some(item) = decoder.decode(&mut buffer).unwrap() {
                items.push(item);
            }
        }
        while let Some(item) = decoder.decode_eof(&mut buffer).unwrap() {
            items.push(item);
        }
        assert!(items == expected, "in many pieces");
    }

    async fn read(lines: FramedRead<&[u8], LineDecoder>) -> Vec<Item> {
        lines.map(Result::unwrap).collect().await
    }

    #[test]
    fn lines_are_numbered_and_blank_ones_skipped() {
        check(b"", &[]);
        check(b"\n\n \r\n", &[]);
        check(b"{}\n[]", &[Ok(line(1, "{}")), Ok(line(2, "[]"))]);
        check(b"a\r\n\n\t\nb\n", &[Ok(line(1, "a")), Ok(line(4, "b"))]);
    }

    /// P4, P13: one bad line is one error; the good ones around it come through.
    #[test]
    fn a_line_that_is_too_long_is_one_error() {
        let longest = "x".repeat(MESSAGE_MAX);
        check(format!("{longest}\nb\n").as_bytes(), &[Ok(line(1, &longest)), Ok(line(2, "b"))]);
        let long = "x".repeat(3 * MESSAGE_MAX);
        let refused = Err(LineError::TooLong { number: 2 });
        check(format!("a\n{long}\nb\n").as_bytes(), &[Ok(line(1, "a")), refused.clone(), Ok(line(3, "b"))]);
        check(format!("a\n{long}").as_bytes(), &[Ok(line(1, "a")), refused]);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_one_error() {
        let refused = Err(LineError::NotUtf8 { number: 2 });
        check(b"a\n\xff\xfe\nb\n", &[Ok(line(1, "a")), refused.clone(), Ok(line(3, "b"))]);
        check(b"a\n\xff", &[Ok(line(1, "a")), refused]);
        check("\u{feff}é🦀\n".as_bytes(), &[Ok(line(1, "\u{feff}é🦀"))]);
    }
}
