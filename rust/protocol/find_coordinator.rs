//! `FindCoordinator`, versions 0 to 6.
//!
//! ```text
//! request  := (v0-3: key:string) (v1+: key_type:i8) (v4+: [key:string]) tags
//! response := (v1+: throttle_time_ms:i32)
//!             (v0-3: error:i16 (v1+: error_message:nullable) node_id:i32 host:string port:i32)
//!             (v4+: [key:string node_id:i32 host:string port:i32 error:i16 error_message:nullable tags]) tags
//! ```
//! Lengths are compact and tags are there from version 3 on.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 6;
const KEY_TYPE_FROM: i16 = 1;
const THROTTLE_FROM: i16 = 1;
const FLEXIBLE_FROM: i16 = 3;
const BATCHED_FROM: i16 = 4;

/// The kinds of keys.
pub mod key_type {
    /// A group.
    pub const GROUP: i8 = 0;
    /// A transactional id.
    pub const TRANSACTION: i8 = 1;
}

/// A decoded `FindCoordinator` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindCoordinatorRequest<'a> {
    /// One of [`key_type`], or another value, which the broker may not know.
    pub key_type: i8,
    /// The keys; exactly one before version 4.
    pub keys: Vec<&'a str>,
}

impl<'a> FindCoordinatorRequest<'a> {
    /// Decodes a body.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let mut keys = Vec::new();
        if version < BATCHED_FROM {
            keys.push(reader.str()?);
        }
        let key_type = if version >= KEY_TYPE_FROM {
            reader.i8()?
        } else {
            key_type::GROUP
        };
        if version >= BATCHED_FROM {
            let count = reader.count(1)?;
            if count > MAX_ROWS {
                return Err(WireError::TooManyElements);
            }
            for _ in 0..count {
                keys.push(reader.str()?);
            }
        }
        reader.skip_tags()?;
        Ok(Self { key_type, keys })
    }
}

/// The coordinator of one key, or the error instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundCoordinator<'a> {
    /// NONE when the coordinator was found.
    pub error: ErrorCode,
    /// -1 with an error.
    pub node_id: i32,
    /// Empty with an error.
    pub host: &'a str,
    /// -1 with an error.
    pub port: i32,
}

/// Appends a response body: one row for each key. From version 4 on `message` is the message of every key, empty
/// without a reason; before, it is the message of the one key.
pub fn encode_find_coordinator_response<'a>(
    out: &mut Vec<u8>,
    version: i16,
    rows: impl ExactSizeIterator<Item = (&'a str, FoundCoordinator<'a>)>,
    message: &str,
) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    if version >= THROTTLE_FROM {
        w.i32(0);
    }
    if version >= BATCHED_FROM {
        w.length(Some(rows.len()));
    }
    for (key, found) in rows {
        if version >= BATCHED_FROM {
            w.string(key);
        } else {
            w.i16(found.error.0);
            if version >= 1 {
                w.nullable_string(Some(message));
            }
        }
        w.i32(found.node_id);
        w.string(found.host);
        w.i32(found.port);
        if version >= BATCHED_FROM {
            w.i16(found.error.0);
            w.nullable_string(Some(message));
            w.no_tags();
        }
    }
    w.no_tags();
}

#[cfg(test)]
#[path = "find_coordinator_tests.rs"]
mod tests;
