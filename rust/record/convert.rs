//! Converts a batch to another codec, when the topic's `compression.type` is not the producer's.
//!
//! (a) The records' relative offsets are 0, 1, 2, …: the inflated records stay as they are and only the codec changes.
//! (b) They are not: every record is written anew, as Kafka does.

use super::builder::finish;
use super::codec::CODEC_MASK;
use super::header::LOG_APPEND_TIME_BIT;
use super::{BATCH_HEADER, BatchBuilder, BatchError, BatchHeader, Codec, RecordIter, TimestampType, compress};

/// Codec and timestamps of the new batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) codec: Codec,
    pub(super) level: Option<i32>,
    pub(super) timestamp_type: TimestampType,
    /// The greatest timestamp; under `LogAppendTime` the time of the append.
    pub(super) max_timestamp: i64,
}

/// Writes the batch with `header` and inflated `records` anew.
pub(super) fn convert(
    header: &BatchHeader,
    records: &[u8],
    has_plain_offsets: bool,
    target: &Target,
) -> Result<(BatchHeader, Vec<u8>), BatchError> {
    let keeps_records = has_plain_offsets && header.timestamp_type() == TimestampType::CreateTime;
    let bytes = if keeps_records {
        recompress(header, records, target)?
    } else {
        rebuild(header, records, target)?
    };
    Ok((BatchHeader::parse(&bytes)?, bytes))
}

/// (a)
fn recompress(header: &BatchHeader, records: &[u8], target: &Target) -> Result<Vec<u8>, BatchError> {
    let mut bytes = Vec::with_capacity(BATCH_HEADER + records.len());
    bytes.resize(BATCH_HEADER, 0);
    compress(target.codec, target.level, records, &mut bytes)?;
    let mut header = *header;
    header.attributes = header.attributes & !(CODEC_MASK | LOG_APPEND_TIME_BIT) | target.codec.attribute_bits();
    if target.timestamp_type == TimestampType::LogAppendTime {
        header.attributes |= LOG_APPEND_TIME_BIT;
    }
    header.max_timestamp = target.max_timestamp;
    finish(header, &mut bytes);
    Ok(bytes)
}

/// (b)
fn rebuild(header: &BatchHeader, records: &[u8], target: &Target) -> Result<Vec<u8>, BatchError> {
    let mut builder = BatchBuilder::new(target.codec)
        .level(target.level)
        .producer(header.producer_id, header.producer_epoch, header.base_sequence)
        .transactional(header.is_transactional())
        .control(header.is_control());
    if target.timestamp_type == TimestampType::LogAppendTime {
        builder = builder.log_append_time(target.max_timestamp);
    }
    for record in RecordIter::new(header, records) {
        let record = record?;
        let delta = builder.record_count();
        builder.append_at(delta, record.timestamp, record.key, record.value, record.headers);
    }
    Ok(builder.build(header.base_offset, header.partition_leader_epoch))
}
