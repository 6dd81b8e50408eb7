//! Patches to a batch's header in the caller's buffer, right before the write. Nothing moves and nothing is allocated.
//!
//! The CRC does not cover base offset and leader epoch; a changed timestamp type or maximum needs a new CRC.
//! A buffer shorter than a header, or with a message of magic 0 or 1, is a bug of the caller: debug builds panic,
//! release builds leave the buffer alone.

use super::header::{
    ATTRIBUTES_AT, BASE_SEQUENCE_AT, CRC_AT, LEADER_EPOCH_AT, LENGTH_AT, LOG_APPEND_TIME_BIT, MAGIC_AT, MAGIC_V2,
    MAX_TIMESTAMP_AT, PRODUCER_EPOCH_AT, PRODUCER_ID_AT, field,
};
use super::{BATCH_HEADER, BatchHeader, TimestampType, crc32c};
use base::place::{LeaderEpoch, Offset};

/// Gives the batch its place in the log.
#[inline]
pub fn set_offset_and_epoch(batch: &mut [u8], base_offset: Offset, leader_epoch: LeaderEpoch) {
    let Some(head) = header_of(batch) else { return };
    head[..8].copy_from_slice(&base_offset.get().to_be_bytes());
    head[LEADER_EPOCH_AT..LEADER_EPOCH_AT + 4].copy_from_slice(&leader_epoch.get().to_be_bytes());
}

/// The bytes of a batch that its place in the log decides, at its start: base offset, length (unchanged) and leader
/// epoch.
pub fn placed_head(header: &BatchHeader) -> [u8; MAGIC_AT] {
    let mut head = [0; MAGIC_AT];
    head[..LENGTH_AT].copy_from_slice(&header.base_offset.get().to_be_bytes());
    head[LENGTH_AT..LEADER_EPOCH_AT].copy_from_slice(&header.batch_length.to_be_bytes());
    head[LEADER_EPOCH_AT..].copy_from_slice(&header.partition_leader_epoch.get().to_be_bytes());
    head
}

/// Makes the broker's time every record's timestamp: the attribute bit, the maximum and the CRC.
pub fn set_log_append_time(batch: &mut [u8], now_ms: i64) {
    set_max_timestamp(batch, TimestampType::LogAppendTime, now_ms);
}

/// Sets timestamp type and maximum. When the batch has both already, no byte changes and no CRC is computed.
#[inline]
pub fn set_max_timestamp(batch: &mut [u8], timestamp_type: TimestampType, max_timestamp: i64) {
    let Some(head) = header_of(batch) else { return };
    let attributes = i16::from_be_bytes(field(head, ATTRIBUTES_AT));
    let wanted = match timestamp_type {
        TimestampType::CreateTime => attributes & !LOG_APPEND_TIME_BIT,
        TimestampType::LogAppendTime => attributes | LOG_APPEND_TIME_BIT,
    };
    if wanted == attributes && i64::from_be_bytes(field(head, MAX_TIMESTAMP_AT)) == max_timestamp {
        return;
    }
    head[ATTRIBUTES_AT..ATTRIBUTES_AT + 2].copy_from_slice(&wanted.to_be_bytes());
    head[MAX_TIMESTAMP_AT..MAX_TIMESTAMP_AT + 8].copy_from_slice(&max_timestamp.to_be_bytes());
    seal(batch);
}

/// Makes it a batch of this producer, with the sequence of its first record.
pub fn set_producer(batch: &mut [u8], producer_id: i64, producer_epoch: i16, base_sequence: i32) {
    let Some(head) = header_of(batch) else { return };
    head[PRODUCER_ID_AT..PRODUCER_EPOCH_AT].copy_from_slice(&producer_id.to_be_bytes());
    head[PRODUCER_EPOCH_AT..BASE_SEQUENCE_AT].copy_from_slice(&producer_epoch.to_be_bytes());
    head[BASE_SEQUENCE_AT..BASE_SEQUENCE_AT + 4].copy_from_slice(&base_sequence.to_be_bytes());
    seal(batch);
}

/// Patches a batch that [`super::validate`] passed for an append as leader: offset, epoch, and the timestamps as Kafka
/// leaves them. `max_timestamp` is that of [`super::Validated`]: under `LogAppendTime` the time of the append.
#[inline]
pub fn assign(
    batch: &mut [u8],
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    timestamp_type: TimestampType,
    max_timestamp: i64,
) {
    set_offset_and_epoch(batch, base_offset, leader_epoch);
    set_max_timestamp(batch, timestamp_type, max_timestamp);
}

/// Computes the CRC of a whole batch and stores it.
pub(super) fn seal(batch: &mut [u8]) {
    let crc = crc32c(&batch[ATTRIBUTES_AT..]);
    batch[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
}

#[inline]
fn header_of(batch: &mut [u8]) -> Option<&mut [u8; BATCH_HEADER]> {
    let head: Option<&mut [u8; BATCH_HEADER]> = batch.first_chunk_mut();
    let head = head.filter(|head| head[MAGIC_AT] as i8 == MAGIC_V2);
    debug_assert!(head.is_some(), "a v2 batch has a header");
    head
}
