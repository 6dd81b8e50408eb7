//! `AddOffsetsToTxn`, versions 0 to 4: adds a group's partition of `__consumer_offsets` to a transaction.
//!
//! ```text
//! request  := transactional_id:string producer_id:i64 producer_epoch:i16 group_id:string tags
//! response := throttle_time_ms:i32 error:i16 tags
//! ```
//! Lengths are compact and tags are there from version 3 on.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 4;
const FLEXIBLE_FROM: i16 = 3;

/// A decoded `AddOffsetsToTxn` request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddOffsetsToTxnRequest<'a> {
    /// The transactional id.
    pub transactional_id: &'a str,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The group whose offsets the transaction will commit.
    pub group_id: &'a str,
}

impl<'a> AddOffsetsToTxnRequest<'a> {
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
            group_id: reader.str()?,
        };
        reader.skip_tags()?;
        Ok(request)
    }
}

/// Appends a response body.
pub fn encode_add_offsets_to_txn_response(out: &mut Vec<u8>, version: i16, error: ErrorCode) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i32(0);
    w.i16(error.0);
    w.no_tags();
}

#[cfg(test)]
#[path = "add_offsets_to_txn_tests.rs"]
mod tests;
