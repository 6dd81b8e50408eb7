//! The messages that Rust reads and writes as types: those that the table calls `typed`, made by `build/typed.rs`, in a
//! module for each file of the table. A field's name is Kafka's, in words with underscores.
//!
//! What is read borrows from the bytes. A field that the version has not is its default when it is read, and is left
//! out when it is written. Bytes after the last field are ignored, as Kafka ignores them.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::topic::TopicId;
use super::writer::Writer;

type Result<T> = std::result::Result<T, WireError>;

/// The most elements of all arrays of one request: as many rows as another API's, each with a topic and a transaction
/// of its own.
pub const MAX_ELEMENTS: usize = 3 * MAX_ROWS;

/// A message, or a struct in it.
pub trait Part<'a>: Sized + Default {
    /// Reads its fields.
    fn read(reader: &mut Reader<'a>, version: i16) -> Result<Self>;
    /// Writes its fields.
    fn write(&self, writer: &mut Writer<'_>, version: i16);
}

/// A request or a response.
pub trait Message<'a>: Part<'a> {
    /// The API.
    const KEY: i16;
    /// Whether it is a request.
    const IS_REQUEST: bool;
    /// The first version that it is read and written in.
    const FIRST_VERSION: i16;
    /// The last one.
    const LAST_VERSION: i16;
    /// The first version with varint lengths and tagged fields.
    const FLEXIBLE_FROM: i16;

    /// Reads a body; a request of at most [`MAX_ELEMENTS`].
    fn decode(version: i16, body: &'a [u8]) -> Result<Self> {
        if !(Self::FIRST_VERSION..=Self::LAST_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let limit = if Self::IS_REQUEST { MAX_ELEMENTS } else { usize::MAX };
        let mut reader = Reader::new(body, version >= Self::FLEXIBLE_FROM).with_limit(limit);
        Self::read(&mut reader, version)
    }

    /// Appends a body.
    fn encode(&self, out: &mut Vec<u8>, version: i16) {
        debug_assert!((Self::FIRST_VERSION..=Self::LAST_VERSION).contains(&version));
        self.write(&mut Writer::new(out, version >= Self::FLEXIBLE_FROM), version);
    }
}

/// Reads `count` elements, for which there are bytes.
fn many<'a, T>(reader: &mut Reader<'a>, count: usize, read: impl Fn(&mut Reader<'a>) -> Result<T>) -> Result<Vec<T>> {
    (0..count).map(|_| read(reader)).collect()
}

#[allow(missing_docs, unused, clippy::all, clippy::pedantic, reason = "made by a program")]
mod typed {
    #[cfg(test)]
    use super::round;
    use super::{ErrorCode, Message, Part, Reader, Result, TopicId, Writer, many};

    include!(concat!(env!("OUT_DIR"), "/typed.rs"));
}

pub use typed::*;

#[cfg(test)]
fn round<'a, M: Message<'a>>(version: i16, body: &'a [u8]) -> Option<Result<Vec<u8>>> {
    let versions = M::FIRST_VERSION..=M::LAST_VERSION;
    versions.contains(&version).then(|| {
        let mut out = Vec::new();
        M::decode(version, body)?.encode(&mut out, version);
        Ok(out)
    })
}
