//! `AdoptSegments`, version 0: an API of kafkastore's own, for bulk loads. Apache Kafka has no such API.
//!
//! ```text
//! request  := topic:string partition:i32 producer_id:i64 producer_epoch:i16 first_sequence:i32 record_count:i32
//!             is_new:bool timeout_ms:i32 tags
//! response := throttle_time_ms:i32 error:i16 error_message:string? base_offset:i64 last_offset:i64 records:i32 tags
//! ```
//! Lengths are compact.

use std::ops::Range;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;
use base::error::ErrorCode;

/// The only version.
pub const VERSION: i16 = 0;

/// A decoded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptSegmentsRequest {
    /// The topic's name in the body.
    pub topic: Range<usize>,
    /// The partition.
    pub partition: i32,
    /// The load's producer id; with the epoch, the name of the directory that has the segments.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The sequence of the first record in the segments: the log has the records before it.
    pub first_sequence: i32,
    /// Records of the whole load for this partition, those before `first_sequence` included.
    pub record_count: i32,
    /// The producer id was never used before this request.
    pub is_new: bool,
    /// How long the answer may wait for the in-sync replicas.
    pub timeout_ms: i32,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptSegmentsResult {
    /// 0 when the log has the whole load.
    pub error: ErrorCode,
    /// Why not.
    pub message: Option<String>,
    /// The offset of the load's first record; -1 when the log has none.
    pub base_offset: i64,
    /// The offset of the load's last record in the log; -1 when the log has none.
    pub last_offset: i64,
    /// Records of the load in the log; -1 when it is not known.
    pub records: i32,
}

impl AdoptSegmentsResult {
    /// A refusal that says nothing about the log.
    pub fn refused(error: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error,
            message: Some(message.into()),
            base_offset: -1,
            last_offset: -1,
            records: -1,
        }
    }
}

impl AdoptSegmentsRequest {
    /// Decodes a body.
    pub fn decode(body: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(body, true);
        let request = Self {
            topic: reader.string()?,
            partition: reader.i32()?,
            producer_id: reader.i64()?,
            producer_epoch: reader.i16()?,
            first_sequence: reader.i32()?,
            record_count: reader.i32()?,
            is_new: reader.boolean()?,
            timeout_ms: reader.i32()?,
        };
        reader.skip_tags()?;
        Ok(request)
    }
}

/// Appends a response body.
pub fn encode_adopt_segments_response(out: &mut Vec<u8>, result: &AdoptSegmentsResult) {
    let mut w = Writer::new(out, true);
    w.i32(0);
    w.i16(result.error.0);
    w.nullable_string(result.message.as_deref());
    w.i64(result.base_offset);
    w.i64(result.last_offset);
    w.i32(result.records);
    w.no_tags();
}

#[cfg(test)]
#[path = "adopt_segments_tests.rs"]
mod tests;
