//! Strings that are not UTF-8, as Kafka's brokers read them: what is malformed becomes U+FFFD.
//!
//! Decoders borrow strings from the body, so a body that has such a string is made anew, with that string mended, and
//! decoded again. Nothing was done with it by then: every request is decoded before it is served.

use super::codec::java_text::lossy;
use super::codec::put::{self, MAX_STRING_BYTES};
use super::error::WireError;
use super::reader::Reader;

/// Strings of one request that are mended; with more the connection is closed, since each costs a copy of the body.
pub const MOST: u8 = 16;

/// `bytes` with the string mended that `error` found. `None` for another error, and for a string that is too long then.
#[cold]
pub fn mended(bytes: &[u8], error: WireError) -> Option<Vec<u8>> {
    let WireError::InvalidUtf8 { length_at, is_flexible } = error else {
        return None;
    };
    let length_at = length_at as usize;
    let mut reader = Reader::within(bytes, &(length_at..bytes.len()));
    reader.set_flexible(is_flexible);
    let length = reader.length(is_flexible, true);
    let text = reader.take(length.ok()??).ok()?;
    let new = lossy(bytes.get(text.clone())?);
    if new.len() > MAX_STRING_BYTES {
        return None;
    }
    let mut out = bytes.get(..length_at)?.to_vec();
    put::length(&mut out, Some(new.len()), is_flexible, true);
    out.extend_from_slice(new.as_bytes());
    out.extend_from_slice(bytes.get(text.end..)?);
    Some(out)
}

#[cfg(test)]
#[path = "mended_tests.rs"]
mod tests;
