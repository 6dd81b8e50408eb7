//! The checks of one batch before it is appended, in Kafka's order and with Kafka's codes.
//!
//! Two steps, as in Kafka: the request (is it one whole v2 batch?), then the log (size, CRC, header, records).
//!
//! | what is wrong | code |
//! |---|---|
//! | (a) no whole batch, a second batch, magic 0 or 1 | `INVALID_RECORD` |
//! | (b) a length below the minimum, another magic | `CORRUPT_MESSAGE` |
//! | (c) zstd from a produce request before v7 | `UNSUPPORTED_COMPRESSION_TYPE` |
//! | (d) a client's base offset that is not 0 | `INVALID_RECORD` |
//! | (e) more than `max.message.bytes` | `MESSAGE_TOO_LARGE` |
//! | (f) a wrong CRC | `CORRUPT_MESSAGE` |
//! | (g) codec ids 5 to 7, a payload that cannot be inflated | `UNKNOWN_SERVER_ERROR` |
//! | (h) a client's: contradicting or non-positive counts, a control batch, no sequence | `INVALID_RECORD` |
//! | (i) a record against the grammar, bytes left over | `INVALID_RECORD` |
//! | (j) a record without key for a compacted topic | `INVALID_RECORD`, listed |
//! | (k) a timestamp out of range, or `LogAppendTime` set by the producer | `INVALID_TIMESTAMP`, listed |
//!
//! Deliberate differences from Kafka: a record of a compressed batch whose length contradicts its fields is refused
//! (Kafka skips over it, and consumers choke on it); inner offsets with gaps are numbered anew (Kafka means to, but
//! stumbles with `UNKNOWN_SERVER_ERROR` when the codec stays); a batch length near `i32::MAX` and a varint of six bytes
//! are `INVALID_RECORD` (Kafka: `UNKNOWN_SERVER_ERROR`); a payload that inflates beyond the limit is
//! `MESSAGE_TOO_LARGE` (Kafka has no limit).
//!
//! The records of an uncompressed batch are always walked; no allocation, no copy. A compressed batch is inflated only
//! when the rules need its records. The caller limits how much may be inflated ([`Room`]): a network loop allows
//! little, and leaves a batch that needs more to another thread. There the batch is refused by its header alone,
//! without a list of records, when its largest timestamp is above the allowed maximum; a batch that keeps its codec is
//! checked while it is inflated, in a window of 64 KB.

#[cfg(test)]
mod inflating_tests;
mod judge;
mod room;
#[cfg(test)]
mod tests;
mod window;

pub use self::room::Room;

use self::judge::Judge;
use super::header::{LENGTH_AT, MAGIC_AT};
use super::{Batch, BatchError, BatchHeader, Codec, HEADER_TO_MAGIC, LOG_OVERHEAD, TimestampType};
use base::error::ErrorCode;
use base::place::Offset;

/// Where a batch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A produce request; nothing in it is trusted.
    Client,
    /// A segment of a bulk load: as a client's, but for the base offset, which may be any.
    Load,
    /// A group or transaction coordinator of this cluster.
    Coordinator,
    /// The partition's leader, which has validated the batch: only the bytes' integrity is checked.
    Replication,
}

/// The part of the topic's configuration that decides whether a batch is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `max.message.bytes`: the greatest batch, as it is written.
    pub max_message_bytes: u32,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`; `i64::MAX` for any.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `cleanup.policy` has "compact": every record needs a key.
    pub compacted: bool,
    /// `compression.type` with its level; `None` keeps the producer's.
    pub codec: Option<(Codec, i32)>,
    /// Inflate every compressed batch to check its records one by one.
    pub inflate_to_validate: bool,
    /// The most bytes that a payload may inflate to.
    pub inflate_limit: usize,
}

impl Default for Rules {
    /// Kafka's defaults of a topic.
    fn default() -> Self {
        Self {
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            compacted: false,
            codec: None,
            inflate_to_validate: false,
            inflate_limit: 128 * 1024 * 1024,
        }
    }
}

/// A batch that may be appended. Offsets, epoch and timestamps are then set with [`super::assign`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validated {
    /// The batch is appended with the bytes that were validated.
    InPlace {
        /// The header of the batch.
        header: BatchHeader,
        /// The greatest timestamp of its records; under `LogAppendTime` the time of the append.
        max_timestamp: i64,
        /// Where the time index points: the batch's last record, as in Kafka 4.
        offset_of_max_timestamp_delta: i32,
    },
    /// The batch is appended with new bytes, since the codec or the records' offsets had to change.
    Rewritten {
        /// The new batch.
        bytes: Vec<u8>,
        /// Its header.
        header: BatchHeader,
        /// As above.
        max_timestamp: i64,
        /// As above.
        offset_of_max_timestamp_delta: i32,
    },
}

impl Validated {
    /// The header of the batch to append.
    pub const fn header(&self) -> &BatchHeader {
        match self {
            Self::InPlace { header, .. } | Self::Rewritten { header, .. } => header,
        }
    }

    /// Its greatest timestamp.
    pub const fn max_timestamp(&self) -> i64 {
        match self {
            Self::InPlace { max_timestamp, .. } | Self::Rewritten { max_timestamp, .. } => *max_timestamp,
        }
    }
}

/// The refusal of a whole batch, of which no record is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The error code that the client gets.
    pub code: ErrorCode,
    /// The error message, one sentence.
    pub message: String,
    /// The invalid records, by their position in the batch, and why.
    pub record_errors: Vec<(i32, String)>,
}

impl Rejection {
    /// A refusal that names no single record.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            record_errors: Vec::new(),
        }
    }
}

impl From<BatchError> for Rejection {
    #[cold]
    fn from(error: BatchError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// Kafka's words for a record without key on a compacted topic. Whoever knows the partition goes on with its name.
pub const WITHOUT_KEY: &str = "Compacted topic cannot accept message without key";

/// The size of the one batch that a produce request carries for a partition; what may follow it is the start of a batch
/// that is cut short, which Kafka drops, too. The caller hands `&records[..size]` to [`validate`].
pub fn single_batch(records: &[u8], produce_version: i16) -> Result<usize, Rejection> {
    let Some(size) = next_batch(records)? else {
        return Err(invalid(format!(
            "Produce requests with version {produce_version} must have at least one record batch per partition"
        )));
    };
    // (a) before anything of the header is believed
    if records[MAGIC_AT] != 2 {
        return Err(invalid(format!(
            "Produce requests with version {produce_version} are only allowed to contain record batches with magic \
             version 2"
        )));
    }
    let (batch, rest) = records.split_at(size);
    if produce_version < 7 && BatchHeader::parse(batch)?.codec() == Ok(Codec::Zstd) {
        return Err(Rejection::new(
            ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
            format!("Produce requests with version {produce_version} are not allowed to use ZStandard compression"),
        ));
    }
    if next_batch(rest)?.is_some() {
        return Err(invalid(format!(
            "Produce requests with version {produce_version} are only allowed to contain exactly one record batch per \
             partition"
        )));
    }
    Ok(size)
}

/// The size of the batch of any format at the front, or `None` when it is cut short.
fn next_batch(bytes: &[u8]) -> Result<Option<usize>, BatchError> {
    /// A v0 message without key and value.
    const MINIMUM: i32 = 14;
    let Some(head) = bytes.first_chunk::<LOG_OVERHEAD>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes([
        head[LENGTH_AT],
        head[LENGTH_AT + 1],
        head[LENGTH_AT + 2],
        head[LENGTH_AT + 3],
    ]);
    if length < MINIMUM {
        return Err(BatchError::InvalidSize {
            length,
            minimum: MINIMUM,
        });
    }
    let Some(head) = bytes.first_chunk::<HEADER_TO_MAGIC>() else {
        return Ok(None);
    };
    let magic = head[MAGIC_AT] as i8;
    if !(0..=2).contains(&magic) {
        return Err(BatchError::UnsupportedMagic(magic));
    }
    let size = LOG_OVERHEAD + length as usize;
    Ok((size <= bytes.len()).then_some(size))
}

/// Validates exactly one batch. It must fill `batch` to the last byte; see [`single_batch`].
pub fn validate(batch: &[u8], rules: &Rules, origin: Origin, now_ms: i64) -> Result<Validated, Rejection> {
    let judged = validate_within(batch, rules, origin, now_ms, &mut Room::unlimited())?;
    judged.ok_or_else(|| Rejection::new(ErrorCode::UNKNOWN_SERVER_ERROR, "the batch was not judged"))
}

/// [`validate`] within `room`; `None` when the batch inflates to more than a room that is not final has.
pub fn validate_within(
    batch: &[u8],
    rules: &Rules,
    origin: Origin,
    now_ms: i64,
    room: &mut Room,
) -> Result<Option<Validated>, Rejection> {
    let batch = match Batch::split_first(batch)? {
        Some((batch, [])) => batch,
        Some(_) => return Err(invalid("Bytes remain after the record batch")),
        None => return Err(invalid("The record batch is cut short")),
    };
    let header = batch.header();
    check_intake(&batch, rules, origin)?;
    let codec = header.codec()?;
    if origin == Origin::Replication {
        return Ok(Some(in_place(header, header.max_timestamp)));
    }
    check_header(header, origin)?;
    let judge = Judge::new(header, rules, now_ms);
    let target = match rules.codec {
        // Control records are never compressed by the broker.
        Some((target, _)) if !(codec == Codec::None && header.is_control()) => target,
        _ => codec,
    };
    if codec == target && codec == Codec::None {
        let found = judge.walk(batch.payload())?;
        return Ok(Some(in_place(header, judge.max_timestamp(found.max_timestamp))));
    }
    if codec == target && !judge.must_inflate() {
        return Ok(Some(in_place(header, judge.max_timestamp(header.max_timestamp))));
    }
    judge.validate_deep(&batch, codec, target, room)
}

#[inline]
const fn in_place(header: &BatchHeader, max_timestamp: i64) -> Validated {
    Validated::InPlace {
        header: *header,
        max_timestamp,
        offset_of_max_timestamp_delta: header.last_offset_delta,
    }
}

/// (d) to (f)
#[inline]
fn check_intake(batch: &Batch<'_>, rules: &Rules, origin: Origin) -> Result<(), Rejection> {
    let header = batch.header();
    // Messages of magic 0 and 1 become a v2 batch first, see `legacy::convert_up`.
    if header.is_legacy() {
        return Err(BatchError::UnsupportedMagic(header.magic).into());
    }
    if origin == Origin::Client && header.base_offset != Offset(0) {
        return Err(invalid(format!(
            "The baseOffset of the record batch in the append should be 0, but it is {}",
            header.base_offset
        )));
    }
    if origin != Origin::Replication {
        check_size(header.size_bytes(), rules)?;
    }
    Ok(batch.verify_crc()?)
}

/// (e)
#[inline]
fn check_size(size: usize, rules: &Rules) -> Result<(), Rejection> {
    if size <= rules.max_message_bytes as usize {
        return Ok(());
    }
    let limit = rules.max_message_bytes;
    Err(Rejection::new(
        ErrorCode::MESSAGE_TOO_LARGE,
        format!(
            "The record batch size in the append is {size} bytes which exceeds the maximum configured value of {limit}."
        ),
    ))
}

/// (h)
#[inline]
fn check_header(header: &BatchHeader, origin: Origin) -> Result<(), Rejection> {
    if !matches!(origin, Origin::Client | Origin::Load) {
        return Ok(());
    }
    let (count, last) = (header.record_count, header.last_offset_delta);
    let count_from_offsets = i64::from(last) + 1;
    if count_from_offsets <= 0 {
        return Err(invalid(format!("Batch has an invalid offset range: [0, {last}]")));
    }
    if count <= 0 {
        return Err(invalid(format!("Invalid reported count for record batch: {count}")));
    }
    if count_from_offsets != i64::from(count) {
        return Err(invalid(format!(
            "Inconsistent batch offset range [0, {last}] and count of records {count}"
        )));
    }
    if header.is_control() {
        return Err(invalid("Clients are not allowed to write control records"));
    }
    if header.is_idempotent() && header.base_sequence < 0 {
        return Err(invalid(format!(
            "Invalid sequence number {} in record batch with producerId {}",
            header.base_sequence, header.producer_id
        )));
    }
    Ok(())
}

#[cold]
fn invalid(message: impl Into<String>) -> Rejection {
    Rejection::new(ErrorCode::INVALID_RECORD, message)
}
