//! The record-by-record half of the validation, and what follows when the batch must be inflated for it.

use std::cell::RefCell;

use super::{Rejection, Rules, Validated, check_size, in_place};
use crate::error::ErrorCode;
use crate::record::convert::{Target, convert};
use crate::record::record::RawRecord;
use crate::record::{Batch, BatchError, BatchHeader, Codec, TimestampType, decompress};

/// Most records that a rejection names; a batch may hold millions, and the first ones tell enough.
const MAX_RECORD_ERRORS: usize = 1000;
/// An inflated batch up to this size keeps its buffer for the thread's next one.
const KEPT_SCRATCH_BYTES: usize = 1024 * 1024;
/// What stands for "no timestamp".
const NO_TIMESTAMP: i64 = -1;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A batch's header together with the rules it is judged by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    header: &'a BatchHeader,
    rules: &'a Rules,
    now_ms: i64,
}

/// What a walk over all records told.
#[derive(Debug, Clone, Copy)]
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

    /// Whether a compressed batch that keeps its codec must be inflated: the rules ask for keys or for all, or the header does
    /// not suffice to say that every timestamp is good.
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

    /// Checks every record of an inflated payload: (i), (j), (k).
    #[inline]
    pub(super) fn walk(&self, payload: &[u8]) -> Result<Found, Rejection> {
        let header = self.header;
        if header.record_count < 0 {
            return Err(BatchError::InvalidRecord {
                index: 0,
                reason: "the declared record count is negative",
            }
            .into());
        }
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
                self.blame(&record, index, timestamp, &mut faults);
            }
        }
        if !rest.is_empty() {
            let reason = "bytes remain after the declared number of records";
            return Err(BatchError::InvalidRecord {
                index: header.record_count,
                reason,
            }
            .into());
        }
        if faults.count == 0 {
            Ok(found)
        } else {
            Err(faults.into_rejection())
        }
    }

    /// (k)
    #[inline]
    const fn is_bad_timestamp(&self, timestamp: i64, log_append_time: bool) -> bool {
        match self.rules.timestamp_type {
            TimestampType::CreateTime if timestamp != NO_TIMESTAMP => self.is_out_of_range(timestamp),
            _ => log_append_time,
        }
    }

    /// As Kafka computes it, overflow included. No timestamp is out of no range.
    #[inline]
    const fn is_out_of_range(&self, timestamp: i64) -> bool {
        let age = self.now_ms.wrapping_sub(timestamp);
        timestamp != NO_TIMESTAMP
            && (age > self.rules.timestamp_before_max_ms || age.wrapping_neg() > self.rules.timestamp_after_max_ms)
    }

    /// Notes what is wrong with a record: the key first, then the timestamp, as Kafka does.
    #[cold]
    fn blame(&self, record: &RawRecord<'_>, index: i32, timestamp: i64, faults: &mut Faults) {
        faults.count += 1;
        let message = if self.rules.compacted && record.key.is_none() {
            "Compacted topic cannot accept message without key.".to_owned()
        } else {
            faults.has_bad_timestamp = true;
            if self.is_out_of_range(timestamp) && self.rules.timestamp_type == TimestampType::CreateTime {
                let oldest = self.now_ms.wrapping_sub(self.rules.timestamp_before_max_ms);
                let newest = self.now_ms.wrapping_add(self.rules.timestamp_after_max_ms);
                format!(
                    "Timestamp {timestamp} of message with offset {} is out of range. The timestamp should be within [{oldest}, {newest}]",
                    self.header.base_offset.wrapping_add(i64::from(record.offset_delta))
                )
            } else {
                "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.".to_owned()
            }
        };
        if faults.errors.len() < MAX_RECORD_ERRORS {
            faults.errors.push((index, message));
        }
    }

    /// A batch whose codec changes, or that must be inflated to be judged.
    pub(super) fn validate_deep(&self, batch: &Batch<'_>, codec: Codec, target: Codec) -> Result<Validated, Rejection> {
        if codec == Codec::None {
            return self.finish_deep(batch.payload(), codec, target);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            let done = decompress(codec, batch.payload(), self.rules.inflate_limit, scratch)
                .map_err(Rejection::from)
                .and_then(|()| self.finish_deep(scratch, codec, target));
            if scratch.capacity() > KEPT_SCRATCH_BYTES {
                *scratch = Vec::new();
            }
            done
        })
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

/// The records to blame.
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
