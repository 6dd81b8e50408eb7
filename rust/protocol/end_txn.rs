//! `EndTxn`, versions 0 to 5: commits or aborts a transaction.
//!
//! ```text
//! request  := transactional_id:string producer_id:i64 producer_epoch:i16 committed:bool tags
//! response := throttle_time_ms:i32 error:i16 (v5+: producer_id:i64 producer_epoch:i16) tags
//! ```
//! Lengths are compact and tags are there from version 3 on. From version 5 on every transaction has its own epoch, and
//! the response has the producer id and epoch of the next transaction (KIP-890).

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 5;
const FLEXIBLE_FROM: i16 = 3;
/// From this version on the response has the producer id and epoch of the next transaction.
pub const PRODUCER_FROM: i16 = 5;
/// The producer id and epoch of a response with an error.
const NO_PRODUCER: (i64, i16) = (-1, -1);

/// A decoded `EndTxn` request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTxnRequest<'a> {
    /// The transactional id.
    pub transactional_id: &'a str,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the transaction is committed; false aborts it.
    pub is_commit: bool,
}

impl<'a> EndTxnRequest<'a> {
    /// Decodes a body.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let request = Self {
            transactional_id: reader.str()?,
            producer_id: reader.i64()?,
            producer_epoch: reader.i16()?,
            is_commit: reader.boolean()?,
        };
        reader.skip_tags()?;
        Ok(request)
    }
}

/// Appends a response body: the producer id and epoch of the next transaction, which only version 5 has, or the error.
/// An error has id and epoch -1.
pub fn encode_end_txn_response(out: &mut Vec<u8>, version: i16, ended: Result<(i64, i16), ErrorCode>) {
    let (producer_id, producer_epoch) = ended.unwrap_or(NO_PRODUCER);
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i32(0);
    w.i16(ended.err().unwrap_or(ErrorCode::NONE).0);
    if version >= PRODUCER_FROM {
        w.i64(producer_id);
        w.i16(producer_epoch);
    }
    w.no_tags();
}

#[cfg(test)]
#[path = "end_txn_tests.rs"]
mod tests;
