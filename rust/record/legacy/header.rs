//! A message of magic 0 or 1 as a [`BatchHeader`], for the many readers that look at headers alone.
//!
//! Reached only from the cold branches of the v2 parser: for bytes that are no v2 batch, or fewer than a v2 header.
//!
//! One flipped bit of a v2 batch on the disk makes its magic 0. A walk over headers computes no CRC, and would take the
//! batch for a message with one record, and skip the others. So attributes and key length are checked: of damaged v2
//! batches, next to none pass.

use super::message::{
    ATTRIBUTES_AT, CRC_AT, LEAST_BATCH, MIN_SIZE_V0, MIN_SIZE_V1, Magic, NO_TIMESTAMP, TIMESTAMP_AT, take,
};
use crate::header::{LENGTH_AT, LOG_APPEND_TIME_BIT, MAGIC_AT};
use crate::{BATCH_HEADER, BatchError, BatchHeader, LOG_OVERHEAD};
use base::place::{LeaderEpoch, Offset};

/// The codecs that there are: none, gzip, snappy, lz4.
const CODEC_BITS: i16 = 0x03;
/// The length of a null key.
const NO_KEY: i32 = -1;

/// Checks the length and magic of bytes that are no v2 batch, or a v2 batch that is shorter than `min_length_v2`.
#[cold]
pub(crate) fn check_length_and_magic(length: i32, magic: i8, min_length_v2: i32) -> Result<(), BatchError> {
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
pub(crate) fn parse_header(bytes: &[u8]) -> Result<BatchHeader, BatchError> {
    const MIN_LENGTH_V2: i32 = (BATCH_HEADER - LOG_OVERHEAD) as i32;
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
    let attributes = i16::from(head[ATTRIBUTES_AT]);
    let (used_bits, timestamp, mut key) = match magic {
        Magic::V0 => (CODEC_BITS, NO_TIMESTAMP, bytes.get(TIMESTAMP_AT..).unwrap_or_default()),
        Magic::V1 => (
            CODEC_BITS | LOG_APPEND_TIME_BIT,
            i64::from_be_bytes(at(head, TIMESTAMP_AT)),
            bytes.get(TIMESTAMP_AT + 8..).unwrap_or_default(),
        ),
    };
    let key_length = take(&mut key).map(i32::from_be_bytes).ok_or(too_short)?;
    let is_possible = key_length == NO_KEY || (0..=length - minimum_of(magic)).contains(&key_length);
    if !is_possible || attributes & !(CODEC_BITS | LOG_APPEND_TIME_BIT) != 0 {
        return Err(BatchError::InvalidRecord {
            index: 0,
            reason: "the attributes or the key length of the message are invalid",
        });
    }
    Ok(BatchHeader {
        base_offset: Offset(i64::from_be_bytes(at(head, 0))),
        batch_length: length,
        partition_leader_epoch: LeaderEpoch::NONE,
        magic: byte,
        crc: u32::from_be_bytes(at(head, CRC_AT)),
        attributes: attributes & used_bits,
        last_offset_delta: 0,
        base_timestamp: timestamp,
        max_timestamp: timestamp,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        record_count: 1,
    })
}

const fn minimum_of(magic: Magic) -> i32 {
    match magic {
        Magic::V0 => MIN_SIZE_V0,
        Magic::V1 => MIN_SIZE_V1,
    }
}

/// `N` bytes at `at`, which lie within the head.
fn at<const N: usize>(head: &[u8; LEAST_BATCH], at: usize) -> [u8; N] {
    take(&mut &head[at..]).unwrap_or([0; N])
}
