//! What precedes the write of batches: a leader's batch gets its place, a follower's batches are checked and divided.
//!
//! The order of a leader's append (`Log::append_validated`), as Kafka's: validate, look for a duplicate, place (offset,
//! epoch, timestamps, patched in the caller's buffer), roll if needed, write, index, epochs, producers. The steps up to
//! the duplicate check change nothing, so a refused batch leaves no trace. A failed write is cut off the file; when the
//! cut fails, the log is poisoned.
//!
//! Durability: none on return (Kafka's default); [`Appended::needs_flush`] says when `flush.messages` asks for a flush.

use super::contents::{Contents, PlacedBatch};
use super::offsets::Offsets;
use super::producer_state::{Candidate, Check, VerificationGuard};
use super::segment::{RollCheck, Segment};
use super::settings::Settings;
use super::topic_partition::TopicPartition;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use record::{
    self, Batch, BatchHeader, Batches, ControlRecord, Origin, Rejection, TimestampType, Validated, set_offset_and_epoch,
};

/// Most bytes that a follower writes at once.
const RUN_BYTES: usize = 256 << 10;

/// How a batch is appended.
#[derive(Debug, Clone, Copy)]
pub struct AppendOptions {
    /// The leader's epoch, written into the batch.
    pub leader_epoch: LeaderEpoch,
    /// Where the batch comes from.
    pub origin: Origin,
    /// The clock.
    pub now_ms: i64,
    /// The guard of a verified transaction, or the sentinel.
    pub guard: VerificationGuard,
    /// The transaction version that a marker was written for; 0 for data.
    pub transaction_version: i16,
}

impl AppendOptions {
    /// Options for a batch that is in no transaction.
    pub const fn plain(leader_epoch: LeaderEpoch, origin: Origin, now_ms: i64) -> Self {
        Self {
            leader_epoch,
            origin,
            now_ms,
            guard: VerificationGuard::SENTINEL,
            transaction_version: 0,
        }
    }
}

/// Where a batch is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the batch's first record.
    pub first_offset: Offset,
    /// The offset of the batch's last record.
    pub last_offset: Offset,
    /// -1 under `CreateTime`.
    pub log_append_time_ms: i64,
    /// The log start offset at the time of the append.
    pub log_start_offset: Offset,
    /// The log held the batch already; nothing was written.
    pub is_duplicate: bool,
    /// `flush.messages` is reached.
    pub needs_flush: bool,
}

/// Why a batch was not appended.
#[derive(Debug)]
pub enum AppendError {
    /// The batch is invalid or refused; nothing was written.
    Rejected(Rejection),
    /// The disk or the system failed.
    Storage(Error),
}

impl From<Rejection> for AppendError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Error> for AppendError {
    fn from(error: Error) -> Self {
        Self::Storage(error)
    }
}

impl AppendError {
    /// The error code that the client gets.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Rejected(rejection) => rejection.code,
            Self::Storage(error) => error.code(),
        }
    }
}

/// A validated batch of a producer: the answer to it, its bytes, and the batch to write unless it is a duplicate.
pub(super) struct Placed<'b> {
    pub(super) appended: Appended,
    pub(super) bytes: &'b [u8],
    pub(super) batch: Option<PlacedBatch>,
}

/// Gives a validated batch its offsets, unless it is a duplicate or refused. The bytes are patched in place.
pub(super) fn place<'b>(
    sent: &'b mut [u8],
    validated: &'b mut Validated,
    options: AppendOptions,
    contents: &Contents,
    settings: &Settings,
) -> Result<Placed<'b>, Rejection> {
    let (mut header, max_timestamp) = (*validated.header(), validated.max_timestamp());
    let bytes = match validated {
        Validated::InPlace { .. } => sent,
        Validated::Rewritten { bytes, .. } => bytes,
    };
    let partition = contents.dir().partition();
    check_size(bytes.len(), settings.config().segment_bytes, partition)?;
    let timestamp_type = settings.rules().timestamp_type;
    let is_log_append_time = timestamp_type == TimestampType::LogAppendTime;
    header.base_offset = contents.offsets().end();
    header.partition_leader_epoch = options.leader_epoch;
    header.max_timestamp = max_timestamp;
    let control = control_of(bytes, &header)?;
    let candidate = Candidate {
        header: &header,
        origin: options.origin,
        partition,
        control,
        transaction_version: options.transaction_version,
        guard: options.guard,
    };
    let (first_offset, last_offset, timestamp, is_duplicate) = match contents.producers().check(&candidate)? {
        Check::Append => (header.base_offset, header.last_offset(), max_timestamp, false),
        Check::Duplicate {
            base_offset,
            last_offset,
            timestamp,
        } => (base_offset, last_offset, timestamp, true),
    };
    let appended = Appended {
        first_offset,
        last_offset,
        log_append_time_ms: if is_log_append_time { timestamp } else { -1 },
        log_start_offset: contents.offsets().start(),
        is_duplicate,
        needs_flush: settings.is_flush_due(contents.offsets()),
    };
    if is_duplicate {
        return Ok(Placed {
            appended,
            bytes,
            batch: None,
        });
    }
    if timestamp_type == TimestampType::CreateTime && header.timestamp_type() == TimestampType::CreateTime {
        set_offset_and_epoch(bytes, header.base_offset, header.partition_leader_epoch);
        record::set_max_timestamp(bytes, timestamp_type, max_timestamp);
    } else {
        let (offset, epoch) = (header.base_offset, options.leader_epoch);
        record::assign(bytes, offset, epoch, timestamp_type, max_timestamp);
    }
    let batch = Some(PlacedBatch {
        header,
        control,
        transaction_version: options.transaction_version,
    });
    Ok(Placed { appended, bytes, batch })
}

fn check_size(bytes: usize, max_bytes: u32, partition: &TopicPartition) -> Result<(), Rejection> {
    if bytes <= max_bytes as usize {
        return Ok(());
    }
    let message = format!(
        "Message batch size is {bytes} bytes in append to partition {partition}, which exceeds the maximum configured \
         segment size of {max_bytes}."
    );
    Err(Rejection::new(ErrorCode::RECORD_LIST_TOO_LARGE, message))
}

/// Checks the batches that a leader sent: whole, in order, and not in the log already. Returns the lowest offset that
/// the first of them may have: the log end offset, or, for an empty log whose end offset lies within the first batch,
/// that batch's base offset.
pub(super) fn check_sent(batches: &[u8], offsets: &Offsets) -> Result<Offset, Rejection> {
    let (start, end) = (offsets.start(), offsets.end());
    let first = match Batches::new(batches).next() {
        Some(Ok(batch)) if start == end && batch.header().next_offset() > end => batch.header().base_offset.min(end),
        _ => end,
    };
    let mut expected = first;
    for batch in Batches::new(batches) {
        let batch = batch?;
        batch.verify_crc()?;
        check_follows(batch.header(), expected)?;
        expected = batch.header().next_offset();
    }
    Ok(first)
}

fn check_follows(header: &BatchHeader, expected: Offset) -> Result<(), Rejection> {
    if header.base_offset >= expected && header.last_offset_delta >= 0 {
        return Ok(());
    }
    let message = format!(
        "The batch at offset {} with {} offsets does not follow the log's end {expected}",
        header.base_offset,
        i64::from(header.last_offset_delta) + 1
    );
    Err(Rejection::new(ErrorCode::CORRUPT_MESSAGE, message))
}

/// Batches that a leader sent, in runs that are written with one call each.
pub(super) struct Runs<'b> {
    bytes: &'b [u8],
    batches: Batches<'b>,
    /// The batch that did not fit the last run.
    ahead: Option<PlacedBatch>,
    run: Vec<PlacedBatch>,
    end: usize,
}

impl<'b> Runs<'b> {
    /// The bytes may end within a batch, which is left out.
    pub(super) fn of(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            batches: Batches::new(bytes),
            ahead: None,
            run: Vec::new(),
            end: 0,
        }
    }

    /// The bytes of the next run, which the active segment takes whole; `None` at the end. Call it again once the run
    /// is written.
    pub(super) fn next(
        &mut self,
        active: &Segment,
        settings: &Settings,
        now_ms: i64,
    ) -> Result<Option<&'b [u8]>, Rejection> {
        self.run.clear();
        let start = self.end;
        while let Some(batch) = self.ahead.take().map_or_else(|| self.read(), |batch| Ok(Some(batch)))? {
            let end = self.end + batch.header.size_bytes();
            if !self.run.is_empty() && !self.fits(end - start, &batch.header, active, settings, now_ms) {
                self.ahead = Some(batch);
                break;
            }
            self.run.push(batch);
            self.end = end;
        }
        let bytes = self.bytes.get(start..self.end);
        Ok(bytes.filter(|bytes| !bytes.is_empty()))
    }

    /// The batches of the run that [`Self::next`] gave last.
    pub(super) fn batches(&self) -> &[PlacedBatch] {
        &self.run
    }

    fn read(&mut self) -> Result<Option<PlacedBatch>, Rejection> {
        let Some(batch) = self.batches.next().transpose()? else {
            return Ok(None);
        };
        Ok(Some(PlacedBatch {
            header: *batch.header(),
            control: control_of(batch.bytes(), batch.header())?,
            transaction_version: 0,
        }))
    }

    /// Whether the batch `next` may go into the same write as the batches of the run, `bytes` in total: the write must
    /// not pass the end of the segment.
    fn fits(&self, bytes: usize, next: &BatchHeader, active: &Segment, settings: &Settings, now_ms: i64) -> bool {
        bytes <= RUN_BYTES
            && active.has_index_room(self.run.len(), settings.config().segment_index_bytes)
            && !active.should_roll(&RollCheck {
                begun: self.run.first().map(|first| first.header.max_timestamp),
                ..settings.roll_check(bytes, next, now_ms)
            })
    }
}

/// The control record of a control batch; `None` for data.
pub(super) fn control_of(bytes: &[u8], header: &BatchHeader) -> Result<Option<ControlRecord>, Rejection> {
    if !header.is_control() {
        return Ok(None);
    }
    match Batch::split_first(bytes)? {
        Some((batch, _)) => Ok(ControlRecord::of_batch(&batch)?),
        None => Ok(None),
    }
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
