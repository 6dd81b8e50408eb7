//! The fixed head of a record batch, decoded into plain fields.
//!
//! Magic 2, the format that is written:
//!
//! ```text
//! batch := base_offset i64            at  0  not covered by the CRC
//!          batch_length i32           at  8  bytes after this field
//!          partition_leader_epoch i32 at 12  not covered by the CRC
//!          magic i8                   at 16  2
//!          crc u32                    at 17  CRC-32C of everything from 21 to the end
//!          attributes i16             at 21  bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control,
//!                                            6 delete horizon
//!          last_offset_delta i32      at 23
//!          base_timestamp i64         at 27  the delete horizon when bit 6 is set
//!          max_timestamp i64          at 35
//!          producer_id i64            at 43  -1: none
//!          producer_epoch i16         at 51
//!          base_sequence i32          at 53  -1: none
//!          record_count i32           at 57
//!          records                    at 61  compressed as a whole when a codec is set
//! ```
//! All integers are big-endian. Nothing here checks the CRC; see [`super::Batch::verify_crc`].
//!
//! A message of magic 0 or 1, as Kafka wrote before 0.11, is decoded into the same fields by [`super::legacy`].

use super::codec::CODEC_MASK;
use super::{BatchError, Codec, legacy};
use base::place::{LeaderEpoch, Offset};

/// Bytes of base offset and length, which `batch_length` does not count.
pub const LOG_OVERHEAD: usize = 12;
/// Bytes of a v2 batch before its records.
pub const BATCH_HEADER: usize = 61;
/// Bytes up to and with the magic: what it takes to know the format of a batch.
pub const HEADER_TO_MAGIC: usize = 17;
/// The magic of batches that are written.
pub(super) const MAGIC_V2: i8 = 2;

pub(super) const LENGTH_AT: usize = 8;
pub(super) const LEADER_EPOCH_AT: usize = 12;
pub(super) const MAGIC_AT: usize = 16;
pub(super) const CRC_AT: usize = 17;
pub(super) const ATTRIBUTES_AT: usize = 21;
pub(super) const MAX_TIMESTAMP_AT: usize = 35;
pub(super) const PRODUCER_ID_AT: usize = 43;
pub(super) const PRODUCER_EPOCH_AT: usize = 51;
pub(super) const BASE_SEQUENCE_AT: usize = 53;

pub(super) const LOG_APPEND_TIME_BIT: i16 = 0x08;
pub(super) const TRANSACTIONAL_BIT: i16 = 0x10;
pub(super) const CONTROL_BIT: i16 = 0x20;
pub(super) const DELETE_HORIZON_BIT: i16 = 0x40;

/// The least `batch_length` of a v2 batch.
const MIN_LENGTH: i32 = (BATCH_HEADER - LOG_OVERHEAD) as i32;

/// The clock that gave a batch its timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampType {
    /// The producer's.
    #[default]
    CreateTime,
    /// The broker's, at the append.
    LogAppendTime,
}

/// A decoded copy of a batch's fixed header.
///
/// Magic 0 and 1 have fewer fields. A message is then a batch with no leader epoch, no producer and no sequence; its
/// base and its last offset are the field `offset`, its greatest timestamp is its timestamp (−1 in magic 0), and its
/// record count is 1. A compressed ("wrapper") message holds several records: its `offset` is that of the last record,
/// and only [`super::Batch::records`] knows the first offset and the number of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record; of the last record in a wrapper message of magic 0 or 1.
    pub base_offset: Offset,
    /// Bytes of the batch after the length field.
    pub batch_length: i32,
    /// Epoch of the leader that took the batch; −1 from a producer.
    pub partition_leader_epoch: LeaderEpoch,
    /// 2, or 0 or 1 for an old message.
    pub magic: i8,
    /// Stored CRC-32C; CRC-32 for magic 0 and 1.
    pub crc: u32,
    /// The bit field; for magic 0 and 1 the codec and, in magic 1, the timestamp type.
    pub attributes: i16,
    /// Offset of the last record relative to the base offset.
    pub last_offset_delta: i32,
    /// The time to which record timestamps are relative, in ms.
    pub base_timestamp: i64,
    /// The greatest timestamp, in ms; the append time under `LogAppendTime`.
    pub max_timestamp: i64,
    /// −1 when the producer is not idempotent.
    pub producer_id: i64,
    /// −1 when the producer is not idempotent.
    pub producer_epoch: i16,
    /// Sequence of the first record; −1 without one.
    pub base_sequence: i32,
    /// Records, as declared; 1 for magic 0 and 1, whatever a wrapper message holds.
    pub record_count: i32,
}

/// Whether the bytes may begin with a transactional batch: a look at one bit, for the many batches that are not.
pub fn has_transactional_bit(bytes: &[u8]) -> bool {
    let low = bytes.get(ATTRIBUTES_AT + 1);
    low.is_some_and(|low| i16::from(*low) & TRANSACTIONAL_BIT != 0)
}

impl BatchHeader {
    /// Decodes the first [`BATCH_HEADER`] bytes; for magic 0 and 1 the first [`super::LEAST_BATCH`] bytes suffice. The
    /// rest of the batch need not be there.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let Some(head) = bytes.first_chunk::<BATCH_HEADER>() else {
            return legacy::parse_header(bytes);
        };
        let batch_length = i32::from_be_bytes(field(head, LENGTH_AT));
        if head[MAGIC_AT] as i8 != MAGIC_V2 || batch_length < MIN_LENGTH {
            return legacy::parse_header(bytes);
        }
        Ok(Self {
            base_offset: Offset(i64::from_be_bytes(field(head, 0))),
            batch_length,
            partition_leader_epoch: LeaderEpoch(i32::from_be_bytes(field(head, LEADER_EPOCH_AT))),
            magic: MAGIC_V2,
            crc: u32::from_be_bytes(field(head, CRC_AT)),
            attributes: i16::from_be_bytes(field(head, ATTRIBUTES_AT)),
            last_offset_delta: i32::from_be_bytes(field(head, 23)),
            base_timestamp: i64::from_be_bytes(field(head, 27)),
            max_timestamp: i64::from_be_bytes(field(head, MAX_TIMESTAMP_AT)),
            producer_id: i64::from_be_bytes(field(head, PRODUCER_ID_AT)),
            producer_epoch: i16::from_be_bytes(field(head, PRODUCER_EPOCH_AT)),
            base_sequence: i32::from_be_bytes(field(head, BASE_SEQUENCE_AT)),
            record_count: i32::from_be_bytes(field(head, 57)),
        })
    }

    /// Encodes the header of a v2 batch with its `crc` as it stands.
    pub fn write(&self, out: &mut [u8; BATCH_HEADER]) {
        debug_assert!(!self.is_legacy(), "a v2 header is written");
        let mut put = |at: usize, value: &[u8]| out[at..at + value.len()].copy_from_slice(value);
        put(0, &self.base_offset.get().to_be_bytes());
        put(LENGTH_AT, &self.batch_length.to_be_bytes());
        put(LEADER_EPOCH_AT, &self.partition_leader_epoch.get().to_be_bytes());
        put(MAGIC_AT, &self.magic.to_be_bytes());
        put(CRC_AT, &self.crc.to_be_bytes());
        put(ATTRIBUTES_AT, &self.attributes.to_be_bytes());
        put(23, &self.last_offset_delta.to_be_bytes());
        put(27, &self.base_timestamp.to_be_bytes());
        put(MAX_TIMESTAMP_AT, &self.max_timestamp.to_be_bytes());
        put(PRODUCER_ID_AT, &self.producer_id.to_be_bytes());
        put(PRODUCER_EPOCH_AT, &self.producer_epoch.to_be_bytes());
        put(BASE_SEQUENCE_AT, &self.base_sequence.to_be_bytes());
        put(57, &self.record_count.to_be_bytes());
    }

    /// A message of magic 0 or 1.
    #[inline]
    pub const fn is_legacy(&self) -> bool {
        self.magic < MAGIC_V2
    }

    /// A compressed message of magic 0 or 1: it holds several records, and the first offset is in none of these fields.
    #[inline]
    pub const fn is_wrapper(&self) -> bool {
        self.is_legacy() && self.attributes & CODEC_MASK != 0
    }

    /// Bytes of the whole batch; at least [`super::LEAST_BATCH`] for a parsed header, [`BATCH_HEADER`] for magic 2.
    #[inline]
    pub const fn size_bytes(&self) -> usize {
        LOG_OVERHEAD + self.batch_length as usize
    }

    /// Offset of the last record.
    #[inline]
    pub const fn last_offset(&self) -> Offset {
        Offset(self.base_offset.get().wrapping_add(self.last_offset_delta as i64))
    }

    /// The offset that follows the batch.
    #[inline]
    pub const fn next_offset(&self) -> Offset {
        Offset(self.last_offset().get().wrapping_add(1))
    }

    /// Whether the batch begins at `offset` and has a record at each of its offsets, as before any compaction. An old
    /// message does not tell.
    pub fn is_whole_from(&self, offset: Offset) -> bool {
        let span = self.next_offset() - self.base_offset;
        self.magic >= 2 && self.base_offset == offset && i64::from(self.record_count) == span
    }

    /// Sequence of the last record, which wraps to 0 after `i32::MAX`; −1 without one.
    #[inline]
    pub const fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            -1
        } else {
            next_sequence(self.base_sequence, self.last_offset_delta)
        }
    }

    /// The codec; ids 5 to 7 are refused.
    #[inline]
    pub fn codec(&self) -> Result<Codec, BatchError> {
        Codec::from_attributes(self.attributes).ok_or(BatchError::UnknownCodec((self.attributes & CODEC_MASK) as u8))
    }

    /// Whose clock the timestamps are of.
    #[inline]
    pub const fn timestamp_type(&self) -> TimestampType {
        if self.attributes & LOG_APPEND_TIME_BIT == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Part of a transaction.
    #[inline]
    pub const fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL_BIT != 0
    }

    /// Holds control records (transaction markers), which consumers skip.
    #[inline]
    pub const fn is_control(&self) -> bool {
        self.attributes & CONTROL_BIT != 0
    }

    /// The base timestamp is a delete horizon, set by the cleaner.
    #[inline]
    pub const fn has_delete_horizon(&self) -> bool {
        self.attributes & DELETE_HORIZON_BIT != 0
    }

    /// The time, in ms, from which on the cleaner may remove the batch's tombstones or marker (KIP-534).
    #[inline]
    pub const fn delete_horizon_ms(&self) -> Option<i64> {
        if self.has_delete_horizon() {
            Some(self.base_timestamp)
        } else {
            None
        }
    }

    /// Comes from an idempotent (or transactional) producer.
    #[inline]
    pub const fn is_idempotent(&self) -> bool {
        self.producer_id >= 0
    }
}

/// The sequence `increment` after `sequence`: sequences run from 0 to `i32::MAX`, then from 0 again.
#[inline]
pub const fn next_sequence(sequence: i32, increment: i32) -> i32 {
    (sequence.wrapping_add(increment)) & i32::MAX
}

/// Checks the length and magic of a batch, which are in its first [`HEADER_TO_MAGIC`] bytes.
#[inline]
pub(super) fn check_length_and_magic(batch_length: i32, magic: i8) -> Result<(), BatchError> {
    if magic == MAGIC_V2 && batch_length >= MIN_LENGTH {
        return Ok(());
    }
    legacy::check_length_and_magic(batch_length, magic, MIN_LENGTH)
}

/// `N` bytes of the header at `at`.
#[inline]
pub(super) fn field<const N: usize>(head: &[u8; BATCH_HEADER], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&head[at..at + N]);
    out
}
