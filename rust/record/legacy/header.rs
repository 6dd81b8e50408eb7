//! A message of magic 0 or 1 as a [`BatchHeader`], for the many readers that look at headers alone.
//!
//! Reached only from the cold branches of the v2 parser: for bytes that are no v2 batch, or fewer than a v2 header.

use super::message::{
    ATTRIBUTES_AT, CRC_AT, LEAST_BATCH, MIN_SIZE_V0, MIN_SIZE_V1, Magic, NO_TIMESTAMP, TIMESTAMP_AT, take,
};
use crate::place::{LeaderEpoch, Offset};
use crate::record::header::{CODEC_MASK, LENGTH_AT, LOG_APPEND_TIME_BIT, MAGIC_AT};
use crate::record::{BATCH_HEADER, BatchError, BatchHeader};

/// Checks the length and magic of bytes that are no v2 batch, or a v2 batch that is shorter than `min_length_v2`.
#[cold]
pub(in crate::record) fn check_length_and_magic(length: i32, magic: i8, min_length_v2: i32) -> Result<(), BatchError> {
    let minimum = match magic {
        1 => MIN_SIZE_V1,
        2 => min_length_v2,
        // below this length the format of the bytes is unknown
        _ => MIN_SIZE_V0,
    };
    if length < MIN_SIZE_V0 {
        return Err(BatchError::InvalidSize {
            length,
            minimum: MIN_SIZE_V0,
        });
    }
    if !(0..=2).contains(&magic) {
        return Err(BatchError::UnsupportedMagic(magic));
    }
    if length < minimum {
        return Err(BatchError::InvalidSize { length, minimum });
    }
    Ok(())
}

/// Decodes a message's header, or says why the bytes are neither that nor a v2 header.
#[cold]
pub(in crate::record) fn parse_header(bytes: &[u8]) -> Result<BatchHeader, BatchError> {
    const MIN_LENGTH_V2: i32 = (BATCH_HEADER - crate::record::LOG_OVERHEAD) as i32;
    let too_short = BatchError::TooShort {
        needed: BATCH_HEADER,
        available: bytes.len(),
    };
    let Some(head) = bytes.first_chunk::<LEAST_BATCH>() else {
        return Err(too_short);
    };
    let length = i32::from_be_bytes(at(head, LENGTH_AT));
    let byte = head[MAGIC_AT] as i8;
    check_length_and_magic(length, byte, MIN_LENGTH_V2)?;
    let Some(magic) = Magic::from_byte(byte) else {
        return Err(too_short);
    };
    let (known_bits, timestamp) = match magic {
        Magic::V0 => (CODEC_MASK, NO_TIMESTAMP),
        Magic::V1 => (
            CODEC_MASK | LOG_APPEND_TIME_BIT,
            i64::from_be_bytes(at(head, TIMESTAMP_AT)),
        ),
    };
    Ok(BatchHeader {
        base_offset: Offset(i64::from_be_bytes(at(head, 0))),
        batch_length: length,
        partition_leader_epoch: LeaderEpoch::NONE,
        magic: byte,
        crc: u32::from_be_bytes(at(head, CRC_AT)),
        attributes: i16::from(head[ATTRIBUTES_AT]) & known_bits,
        last_offset_delta: 0,
        base_timestamp: timestamp,
        max_timestamp: timestamp,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        record_count: 1,
    })
}

/// `N` bytes at `at`, which lie within the head.
fn at<const N: usize>(head: &[u8; LEAST_BATCH], at: usize) -> [u8; N] {
    take(&mut &head[at..]).unwrap_or([0; N])
}
