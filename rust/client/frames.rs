//! Frames over a stream, each behind its size: bytes that are not written yet, and the part of an answer that has come.
//!
//! A socket that does not block gives `WouldBlock`; the same call goes on when it is ready.

use std::io::{self, ErrorKind, Read, Write};

use crate::reasons::{NOT_KAFKA, SPEAKS_TLS};
use crate::stream::Stream;

const SIZE_BYTES: u64 = 4;
/// A correlation id.
const MIN_BYTES: usize = 4;

/// See the module.
pub(crate) struct Frames {
    pub(crate) stream: Stream,
    unwritten: Vec<u8>,
    written: usize,
    size: Vec<u8>,
    is_read: bool,
    /// Whether a frame was read.
    is_known: bool,
}

impl Frames {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            unwritten: Vec::new(),
            written: 0,
            size: Vec::new(),
            is_read: true,
            is_known: false,
        }
    }

    /// Puts a frame in line, its size included.
    pub(crate) fn put(&mut self, frame: Vec<u8>) {
        if self.unwritten.is_empty() {
            self.unwritten = frame;
        } else {
            self.unwritten.extend(frame);
        }
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unwritten.is_empty() || self.stream.wants_to_write()
    }

    /// Writes all that is in line.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = self.unwritten.get(self.written..) {
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.unwritten.clear();
        self.written = 0;
        self.stream.flush() // TLS keeps a part otherwise
    }

    /// Reads the next frame, without its size, into `answer`, which must be the same until that is done.
    ///
    /// # Errors
    /// `InvalidData` for a listener of TLS, `Other` for another size that is not Kafka's.
    pub(crate) fn read(&mut self, answer: &mut Vec<u8>, max_bytes: usize) -> io::Result<()> {
        if self.is_read {
            self.is_read = false;
            self.size.clear();
            answer.clear();
        }
        fill(&mut self.stream, &mut self.size, SIZE_BYTES)?;
        let size = self.size.first_chunk().copied().unwrap_or_default();
        let bytes = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        // an alert of TLS would be 350 MB
        let is_strange = !self.is_known && protocol::stranger(size).is_some();
        if is_strange || !(MIN_BYTES..=max_bytes).contains(&bytes) {
            return Err(nonsense(size));
        }
        fill(&mut self.stream, answer, bytes as u64)?; // grows with what arrives, not with what the size claims
        (self.is_read, self.is_known) = (true, true);
        Ok(())
    }
}

fn fill(stream: &mut Stream, bytes: &mut Vec<u8>, until: u64) -> io::Result<()> {
    stream.take(until - bytes.len() as u64).read_to_end(bytes)?;
    if (bytes.len() as u64) < until {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn nonsense(size: [u8; 4]) -> io::Error {
    match protocol::stranger(size) {
        Some("TLS") => io::Error::new(ErrorKind::InvalidData, SPEAKS_TLS),
        _ => io::Error::other(NOT_KAFKA),
    }
}
