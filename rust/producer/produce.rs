//! Produce v8, which brokers serve since Kafka 2.4, as a client writes and reads it.
//!
//! ```text
//! request   := transactional_id string?, acks i16, timeout_ms i32, [topic string, [partition i32, records bytes]]
//! answer    := [topic string, [partition]], throttle_time_ms i32
//! partition := index i32, error i16, base_offset i64, log_append_time_ms i64, log_start_offset i64,
//!              record_errors [batch_index i32, message string?], error_message string?
//! ```

use super::bodies::Encoding;
use base::error::ErrorCode;
use client::{Malformed, push_array, push_string};
use protocol::{Reader, WireError};

pub(super) const KEY: i16 = 0;
pub(super) const VERSION: i16 = 8;
/// A topic without name and partitions.
const MIN_TOPIC_BYTES: usize = 6;
const MIN_PARTITION_BYTES: usize = 36;
const MIN_RECORD_ERROR_BYTES: usize = 6;

/// What a broker says of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) error: ErrorCode,
    /// The broker's sentence; empty without one.
    pub(super) message: String,
}

/// The fields before the topics.
pub(super) fn push_head(body: &mut Vec<u8>, transactional_id: Option<&str>, acks: i16, timeout_ms: i32, topics: usize) {
    let is_pushed = transactional_id.is_some_and(|id| push_string(body, id));
    if !is_pushed {
        body.extend((-1_i16).to_be_bytes());
    }
    body.extend(acks.to_be_bytes());
    body.extend(timeout_ms.to_be_bytes());
    push_array(body, topics);
}

/// The outcome of each batch, and for how long the broker wants no more requests, in ms.
pub(super) fn read(answer: &[u8]) -> Result<(Vec<Outcome>, u32), Malformed> {
    Encoding::Plain.read(answer, |reader| {
        let mut found = Vec::new();
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            let topic = reader.str()?;
            for _ in 0..reader.count(MIN_PARTITION_BYTES)? {
                found.push(read_partition(reader, topic)?);
            }
        }
        Ok((found, u32::try_from(reader.i32()?).unwrap_or_default()))
    })
}

fn read_partition(reader: &mut Reader<'_>, topic: &str) -> Result<Outcome, WireError> {
    let partition = reader.i32()?;
    let error = ErrorCode(reader.i16()?);
    reader.take(3 * size_of::<i64>())?; // base offset, append time, log start
    let mut message = None;
    for _ in 0..reader.count(MIN_RECORD_ERROR_BYTES)? {
        let _batch_index = reader.i32()?;
        message = message.or(reader.nullable_str()?);
    }
    message = message.or(reader.nullable_str()?);
    Ok(Outcome {
        topic: topic.to_owned(),
        partition,
        error,
        message: message.unwrap_or_default().to_owned(),
    })
}
