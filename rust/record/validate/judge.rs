//! The record-by-record half of the validation, with the inflating and rewriting of batches that need it.

use std::cell::RefCell;

use super::room::{Kind, Room};
use super::window::{Fault, Window};
use super::{Rejection, Rules, Validated, WITHOUT_KEY, check_size, in_place};
use crate::convert::{Target, convert};
use crate::record::RawRecord;
use crate::{Batch, BatchError, BatchHeader, Codec, TimestampType, decompress};
use base::error::ErrorCode;

/// The most records that a rejection names; a batch may hold millions, and the first records suffice.
const MAX_RECORD_ERRORS: usize = 1000;
/// An inflated batch up to this size keeps its buffer for the thread's next one.
const KEPT_SCRATCH_BYTES: usize = 1024 * 1024;
/// A payload up to this size is inflated as a whole first, to at most [`WHOLE_BYTES`], which is fastest for ordinary
/// batches.
const SMALL_PAYLOAD_BYTES: usize = 64 * 1024;
/// The most bytes that are inflated as a whole to validate a batch that keeps its codec.
const WHOLE_BYTES: usize = 1024 * 1024;
/// The most bytes that a batch may inflate to when its codec changes: it is then in memory as a whole.
const REWRITTEN_BYTES: usize = 32 * 1024 * 1024;
/// The cost of compressing, as a multiple of the cost of inflating.
const COST_OF_COMPRESSING: usize = 16;
/// The value for "no timestamp".
const NO_TIMESTAMP: i64 = -1;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A batch's header together with the rules that validate it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    header: &'a BatchHeader,
    rules: &'a Rules,
    now_ms: i64,
}

/// The result of a walk over all records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// The greatest timestamp; −1 when no record has one.
    pub(super) max_timestamp: i64,
    /// The offset deltas run 0, 1, 2, …
    pub(super) has_plain_offsets: bool,
}

impl<'a> Judge<'a> {
    pub(super) const fn new(header: &'a BatchHeader, rules: &'a Rules, now_ms: i64) -> Self {
        Self { header, rules, now_ms }
    }

    /// The batch's greatest timestamp once it is in the log.
    pub(super) const fn max_timestamp(&self, of_records: i64) -> i64 {
        match self.rules.timestamp_type {
            TimestampType::CreateTime => of_records,
            TimestampType::LogAppendTime => self.now_ms,
        }
    }

    /// Whether a compressed batch that keeps its codec must be inflated: the rules require keys or a check of all
    /// records, or the header does not prove that every timestamp is valid.
    pub(super) fn must_inflate(&self) -> bool {
        let Rules {
            inflate_to_validate,
            compacted,
            timestamp_type,
            timestamp_before_max_ms,
            ..
        } = *self.rules;
        let is_create_time = timestamp_type == TimestampType::CreateTime;
        inflate_to_validate
            || compacted
            || self.header.timestamp_type() == TimestampType::LogAppendTime
            || is_create_time
                && (timestamp_before_max_ms != i64::MAX
                    || self.is_out_of_range(self.header.base_timestamp)
                    || self.is_out_of_range(self.header.max_timestamp))
    }

    /// (k) of a compressed batch by its header, before much is inflated.
    pub(super) fn check_largest_timestamp(&self) -> Result<(), Rejection> {
        let largest = self.header.max_timestamp;
        let is_create_time = self.rules.timestamp_type == TimestampType::CreateTime
            && self.header.timestamp_type() == TimestampType::CreateTime;
        if !is_create_time || largest == NO_TIMESTAMP {
            return Ok(());
        }
        let ahead = largest.wrapping_sub(self.now_ms);
        if ahead <= self.rules.timestamp_after_max_ms {
            return Ok(());
        }
        let newest = self.now_ms.wrapping_add(self.rules.timestamp_after_max_ms);
        let message = format!(
            "The largest timestamp {largest} of the record batch is out of range. The timestamp should be at most \
             {newest}"
        );
        Err(Rejection::new(ErrorCode::INVALID_TIMESTAMP, message))
    }

    /// Checks every record of an inflated payload: (i), (j), (k).
    #[inline]
    pub(super) fn walk(&self, payload: &[u8]) -> Result<Found, Rejection> {
        let header = self.header;
        self.check_count()?;
        let log_append_time = header.timestamp_type() == TimestampType::LogAppendTime;
        let mut rest = payload;
        let mut found = Found {
            max_timestamp: NO_TIMESTAMP,
            has_plain_offsets: true,
        };
        let mut faults = Faults::default();
        for index in 0..header.record_count {
            let record = RawRecord::read(&mut rest).map_err(|reason| BatchError::InvalidRecord { index, reason })?;
            let timestamp = if log_append_time {
                header.max_timestamp
            } else {
                header.base_timestamp.wrapping_add(record.timestamp_delta)
            };
            found.max_timestamp = found.max_timestamp.max(timestamp);
            found.has_plain_offsets &= record.offset_delta == index;
            if self.rules.compacted && record.key.is_none() || self.is_bad_timestamp(timestamp, log_append_time) {
                let lacks_key = self.rules.compacted && record.key.is_none();
                self.blame(lacks_key, record.offset_delta, index, timestamp, &mut faults);
            }
        }
        if !rest.is_empty() {
            return Err(self.bytes_remain());
        }
        if faults.count == 0 {
            Ok(found)
        } else {
            Err(faults.into_rejection())
        }
    }

    fn check_count(&self) -> Result<(), Rejection> {
        if self.header.record_count >= 0 {
            return Ok(());
        }
        let reason = "the declared record count is negative";
        Err(BatchError::InvalidRecord { index: 0, reason }.into())
    }

    #[cold]
    fn bytes_remain(&self) -> Rejection {
        let (index, reason) = (
            self.header.record_count,
            "bytes remain after the declared number of records",
        );
        BatchError::InvalidRecord { index, reason }.into()
    }

    /// (k)
    #[inline]
    const fn is_bad_timestamp(&self, timestamp: i64, log_append_time: bool) -> bool {
        match self.rules.timestamp_type {
            TimestampType::CreateTime if timestamp != NO_TIMESTAMP => self.is_out_of_range(timestamp),
            _ => log_append_time,
        }
    }

    /// Whether a timestamp is out of range, as Kafka computes it, overflow included. A missing timestamp never is.
    #[inline]
    const fn is_out_of_range(&self, timestamp: i64) -> bool {
        let age = self.now_ms.wrapping_sub(timestamp);
        timestamp != NO_TIMESTAMP
            && (age > self.rules.timestamp_before_max_ms || age.wrapping_neg() > self.rules.timestamp_after_max_ms)
    }

    /// Adds the errors of a record: the missing key first, then the timestamp, as Kafka does.
    #[cold]
    fn blame(&self, lacks_key: bool, offset_delta: i32, index: i32, timestamp: i64, faults: &mut Faults) {
        faults.count += 1;
        if faults.errors.len() >= MAX_RECORD_ERRORS {
            faults.has_bad_timestamp |= !lacks_key;
            return;
        }
        let message = if lacks_key {
            WITHOUT_KEY.to_owned()
        } else {
            faults.has_bad_timestamp = true;
            if self.is_out_of_range(timestamp) && self.rules.timestamp_type == TimestampType::CreateTime {
                let oldest = self.now_ms.wrapping_sub(self.rules.timestamp_before_max_ms);
                let newest = self.now_ms.wrapping_add(self.rules.timestamp_after_max_ms);
                format!(
                    "Timestamp {timestamp} of message with offset {} is out of range. The timestamp should be within \
                     [{oldest}, {newest}]",
                    self.header.base_offset.get().wrapping_add(i64::from(offset_delta))
                )
            } else {
                "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.".to_owned()
            }
        };
        faults.errors.push((index, message));
    }

    /// Validates a batch whose codec changes, or that must be inflated. `None` when the room is not final and too
    /// small.
    pub(super) fn validate_deep(
        &self,
        batch: &Batch<'_>,
        codec: Codec,
        target: Codec,
        room: &mut Room,
    ) -> Result<Option<Validated>, Rejection> {
        let keeps_codec = codec == target;
        let most = self.max_inflated(keeps_codec, target, room);
        let is_small = batch.payload().len() <= SMALL_PAYLOAD_BYTES;
        let is_left = match room.kind {
            Kind::Here => !is_small || most == 0 || Self::is_slow_to_compress(codec, target),
            Kind::Little => most == 0 || codec == Codec::None && batch.payload().len() > most,
            Kind::Request => false,
        };
        if is_left {
            return self.leave();
        }
        if codec == Codec::None {
            room.take(batch.payload().len() * COST_OF_COMPRESSING);
            return self.finish_deep(batch.payload(), codec, target).map(Some);
        }
        if is_small || !keeps_codec {
            let whole = if keeps_codec { most.min(WHOLE_BYTES) } else { most };
            match self.inflate_whole(batch, codec, target, whole, room) {
                Err(WholeFault::Limit) if !room.is_final() => {
                    room.take(room.bytes);
                    return self.leave();
                }
                Err(WholeFault::Limit) if keeps_codec && whole < most => {}
                Err(WholeFault::Limit) => return Err(BatchError::InflateLimit { limit: whole }.into()),
                Err(WholeFault::Rejected(rejection)) => return Err(rejection),
                Ok(validated) => return Ok(Some(validated)),
            }
        }
        self.check_largest_timestamp()?;
        let found = match self.walk_inflating(batch.payload(), codec, most, room) {
            Err(_) if room.kind == Kind::Little && room.bytes == 0 => return self.leave(),
            found => found?,
        };
        if found.has_plain_offsets {
            return Ok(Some(in_place(self.header, self.max_timestamp(found.max_timestamp))));
        }
        let limit = self.rules.inflate_limit.min(REWRITTEN_BYTES).min(room.bytes);
        match self.inflate_whole(batch, codec, target, limit, room) {
            Ok(validated) => Ok(Some(validated)),
            Err(WholeFault::Limit) if !room.is_final() => self.leave(),
            Err(WholeFault::Limit) => Err(BatchError::InflateLimit { limit }.into()),
            Err(WholeFault::Rejected(rejection)) => Err(rejection),
        }
    }

    /// Leaves a batch that needs more room to another thread, unless its header suffices to refuse it.
    fn leave(&self) -> Result<Option<Validated>, Rejection> {
        self.check_largest_timestamp().map(|()| None)
    }

    /// The most that this batch may inflate to.
    fn max_inflated(&self, keeps_codec: bool, target: Codec, room: &Room) -> usize {
        let most = self.rules.inflate_limit.min(room.bytes);
        match (keeps_codec, target) {
            (true, _) => most,
            // What is larger would be refused once it is written.
            (false, Codec::None) => most.min(self.rules.max_message_bytes as usize),
            (false, _) if room.is_final() => most.min(REWRITTEN_BYTES),
            (false, _) => most / COST_OF_COMPRESSING,
        }
    }

    /// Whether the target's codec is too slow for a network loop.
    const fn is_slow_to_compress(codec: Codec, target: Codec) -> bool {
        codec as i16 != target as i16 && matches!(target, Codec::Gzip | Codec::Zstd)
    }

    fn inflate_whole(
        &self,
        batch: &Batch<'_>,
        codec: Codec,
        target: Codec,
        limit: usize,
        room: &mut Room,
    ) -> Result<Validated, WholeFault> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            let done = match decompress(codec, batch.payload(), limit, scratch) {
                Err(BatchError::InflateLimit { .. }) => Err(WholeFault::Limit),
                Err(error) => Err(WholeFault::Rejected(error.into())),
                Ok(()) => {
                    let cost = if codec == target { 1 } else { COST_OF_COMPRESSING };
                    room.take(scratch.len().saturating_mul(if room.is_final() { 1 } else { cost }));
                    self.finish_deep(scratch, codec, target).map_err(WholeFault::Rejected)
                }
            };
            if scratch.capacity() > KEPT_SCRATCH_BYTES {
                *scratch = Vec::new();
            }
            done
        })
    }

    /// As [`Self::walk`], over a payload that is inflated piece by piece.
    pub(super) fn walk_inflating(
        &self,
        payload: &[u8],
        codec: Codec,
        limit: usize,
        room: &mut Room,
    ) -> Result<Found, Rejection> {
        let mut window = Window::new(codec, payload, limit)?;
        let found = self.walk_window(&mut window);
        room.take(window.inflated());
        found
    }

    fn walk_window(&self, window: &mut Window<'_>) -> Result<Found, Rejection> {
        let mut walk = Walk::new(self)?;
        for index in 0..self.header.record_count {
            let seen = window.record().map_err(|fault| match fault {
                Fault::Payload(error) => error,
                Fault::Record(reason) => BatchError::InvalidRecord { index, reason },
            })?;
            walk.see(index, seen.timestamp_delta, seen.offset_delta, seen.has_key);
        }
        walk.end(window.is_at_end()?)
    }

    fn finish_deep(&self, records: &[u8], codec: Codec, target: Codec) -> Result<Validated, Rejection> {
        let found = self.walk(records)?;
        let max_timestamp = self.max_timestamp(found.max_timestamp);
        // Old clients number inner offsets wrongly: Kafka writes such batches anew instead of refusing them.
        if codec == target && found.has_plain_offsets {
            return Ok(in_place(self.header, max_timestamp));
        }
        let level = self.rules.codec.map(|(_, level)| level);
        let target = Target {
            codec: target,
            level,
            timestamp_type: self.rules.timestamp_type,
            max_timestamp,
        };
        let (header, bytes) = convert(self.header, records, found.has_plain_offsets, &target)?;
        check_size(bytes.len(), self.rules)?;
        Ok(Validated::Rewritten {
            bytes,
            header,
            max_timestamp,
            offset_of_max_timestamp_delta: header.last_offset_delta,
        })
    }
}

/// Why a batch was not validated as a whole.
enum WholeFault {
    Limit,
    Rejected(Rejection),
}

/// The validation of records one by one; the walk over a whole payload does the same, written out for speed.
struct Walk<'a> {
    judge: &'a Judge<'a>,
    log_append_time: bool,
    found: Found,
    faults: Faults,
}

impl<'a> Walk<'a> {
    fn new(judge: &'a Judge<'a>) -> Result<Self, Rejection> {
        judge.check_count()?;
        Ok(Self {
            judge,
            log_append_time: judge.header.timestamp_type() == TimestampType::LogAppendTime,
            found: Found {
                max_timestamp: NO_TIMESTAMP,
                has_plain_offsets: true,
            },
            faults: Faults::default(),
        })
    }

    fn see(&mut self, index: i32, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        let (judge, header) = (self.judge, self.judge.header);
        let timestamp = if self.log_append_time {
            header.max_timestamp
        } else {
            header.base_timestamp.wrapping_add(timestamp_delta)
        };
        self.found.max_timestamp = self.found.max_timestamp.max(timestamp);
        self.found.has_plain_offsets &= offset_delta == index;
        let lacks_key = judge.rules.compacted && !has_key;
        if lacks_key || judge.is_bad_timestamp(timestamp, self.log_append_time) {
            judge.blame(lacks_key, offset_delta, index, timestamp, &mut self.faults);
        }
    }

    fn end(self, is_at_end: bool) -> Result<Found, Rejection> {
        if !is_at_end {
            return Err(self.judge.bytes_remain());
        }
        if self.faults.count == 0 {
            Ok(self.found)
        } else {
            Err(self.faults.into_rejection())
        }
    }
}

/// The invalid records.
#[derive(Debug, Default)]
struct Faults {
    errors: Vec<(i32, String)>,
    count: usize,
    has_bad_timestamp: bool,
}

impl Faults {
    #[cold]
    fn into_rejection(self) -> Rejection {
        let (code, message) = if self.has_bad_timestamp {
            (
                ErrorCode::INVALID_TIMESTAMP,
                "One or more records have been rejected due to invalid timestamp".to_owned(),
            )
        } else {
            let count = self.count;
            (
                ErrorCode::INVALID_RECORD,
                format!("One or more records have been rejected due to {count} record errors in total"),
            )
        };
        Rejection {
            code,
            message,
            record_errors: self.errors,
        }
    }
}
