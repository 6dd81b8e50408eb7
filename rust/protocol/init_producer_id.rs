//! `InitProducerId`, versions 0 to 5.
//!
//! ```text
//! request  := transactional_id:nullable transaction_timeout_ms:i32 (v3+: producer_id:i64 producer_epoch:i16) tags
//! response := throttle_time_ms:i32 error:i16 producer_id:i64 producer_epoch:i16 tags
//! ```
//! Lengths are compact and tags are there from version 2 on.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 5;
const FLEXIBLE_FROM: i16 = 2;
const PRODUCER_FROM: i16 = 3;
/// The value for no producer id and for no epoch.
const NONE: i64 = -1;

/// A decoded `InitProducerId` request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitProducerIdRequest<'a> {
    /// The transactional id; none for a producer that is only idempotent.
    pub transactional_id: Option<&'a str>,
    /// The timeout of the producer's transactions.
    pub transaction_timeout_ms: i32,
    /// The producer's current id, or -1.
    pub producer_id: i64,
    /// The producer's current epoch, or -1.
    pub producer_epoch: i16,
}

impl<'a> InitProducerIdRequest<'a> {
    /// Decodes a body.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let mut request = Self {
            transactional_id: reader.nullable_str()?,
            transaction_timeout_ms: reader.i32()?,
            producer_id: NONE,
            producer_epoch: NONE as i16,
        };
        if version >= PRODUCER_FROM {
            request.producer_id = reader.i64()?;
            request.producer_epoch = reader.i16()?;
        }
        reader.skip_tags()?;
        Ok(request)
    }

    /// Whether the request has a producer id without an epoch, or an epoch without an id.
    pub fn is_half(&self) -> bool {
        (self.producer_id == NONE) != (i64::from(self.producer_epoch) == NONE)
    }
}

/// Appends a response body; an error has id and epoch -1.
pub fn encode_init_producer_id_response(out: &mut Vec<u8>, version: i16, found: Result<(i64, i16), ErrorCode>) {
    let (producer_id, producer_epoch) = found.unwrap_or((NONE, NONE as i16));
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i32(0);
    w.i16(found.err().unwrap_or(ErrorCode::NONE).0);
    w.i64(producer_id);
    w.i16(producer_epoch);
    w.no_tags();
}

#[cfg(test)]
#[path = "init_producer_id_tests.rs"]
mod tests;
