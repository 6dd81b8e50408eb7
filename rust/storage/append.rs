//! Appending batches: one write of the caller's bytes, then updates of the state in memory.
//!
//! The order of a leader's append, as Kafka's: validate, look for a duplicate, place (offset, epoch, timestamps,
//! patched in the caller's buffer), roll if needed, write, index, epochs, producers. The steps up to the duplicate
//! check change nothing, so a refused batch leaves no trace. A failed write is cut off the file; when the cut fails,
//! the log is poisoned.
//!
//! Durability: none on return (Kafka's default); [`Appended::needs_flush`] says when `flush.messages` asks for a flush.

use super::log::Log;
use super::producer_state::{Candidate, Check, CompletedTxn, VerificationGuard};
use super::segment::RollCheck;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset, Position};
use index::AbortedTxn;
use record::{
    self, Batch, BatchHeader, Batches, ControlRecord, Origin, Rejection, Rules, TimestampType, Validated,
    set_offset_and_epoch,
};

/// Most bytes that a follower writes at once.
const RUN_BYTES: usize = 256 << 10;

/// The header of a batch that is noted once it is written, its control record if it is a control batch, and the version
/// of transactions that a marker was written for.
type Noted = (BatchHeader, Option<ControlRecord>, i16);

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

impl Log {
    /// Appends the one batch that fills `batch`, as the partition's leader. The bytes are patched in place.
    pub fn append_as_leader(
        &mut self,
        batch: &mut [u8],
        leader_epoch: LeaderEpoch,
        origin: Origin,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.append_with(batch, AppendOptions::plain(leader_epoch, origin, now_ms))
    }

    /// [`append_as_leader`](Self::append_as_leader) with the options that a transaction needs.
    pub fn append_with(&mut self, batch: &mut [u8], options: AppendOptions) -> Result<Appended, AppendError> {
        self.settle()?;
        let validated = record::validate(batch, &self.rules, options.origin, options.now_ms)?;
        self.append_validated(batch, validated, options)
    }

    /// The rules that validate a batch. A batch that was validated by other rules must be validated again.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Appends a batch that was validated by [`Self::rules`].
    pub fn append_validated(
        &mut self,
        batch: &mut [u8],
        validated: Validated,
        options: AppendOptions,
    ) -> Result<Appended, AppendError> {
        self.settle()?;
        match validated {
            Validated::InPlace {
                header, max_timestamp, ..
            } => self.place(batch, header, max_timestamp, options),
            Validated::Rewritten {
                mut bytes,
                header,
                max_timestamp,
                ..
            } => self.place(&mut bytes, header, max_timestamp, options),
        }
    }

    /// Gives a validated batch its offsets and writes it, unless it is a duplicate.
    fn place(
        &mut self,
        batch: &mut [u8],
        mut header: BatchHeader,
        max_timestamp: i64,
        options: AppendOptions,
    ) -> Result<Appended, AppendError> {
        self.check_size(batch.len())?;
        let timestamp_type = self.rules.timestamp_type;
        header.base_offset = self.offsets.end();
        header.partition_leader_epoch = options.leader_epoch;
        header.max_timestamp = max_timestamp;
        let control = control_of(batch, &header)?;
        let candidate = Candidate {
            header: &header,
            origin: options.origin,
            partition: &self.topic_partition,
            control,
            transaction_version: options.transaction_version,
            guard: options.guard,
        };
        let append_time = |time| {
            if timestamp_type == TimestampType::LogAppendTime {
                time
            } else {
                -1
            }
        };
        if let Check::Duplicate {
            base_offset,
            last_offset,
            timestamp,
        } = self.producers.check(&candidate)?
        {
            return Ok(self.appended((base_offset, last_offset), append_time(timestamp), true));
        }
        if timestamp_type == TimestampType::CreateTime && header.timestamp_type() == TimestampType::CreateTime {
            set_offset_and_epoch(batch, header.base_offset, header.partition_leader_epoch);
            record::set_max_timestamp(batch, timestamp_type, max_timestamp);
        } else {
            record::assign(
                batch,
                header.base_offset,
                options.leader_epoch,
                timestamp_type,
                max_timestamp,
            );
        }
        self.write(batch, &[(header, control, options.transaction_version)], options.now_ms)?;
        Ok(self.appended(
            (header.base_offset, header.last_offset()),
            append_time(max_timestamp),
            false,
        ))
    }

    /// Whether the number of unflushed records has reached `flush.messages`.
    pub fn is_flush_due(&self) -> bool {
        self.offsets.end() - self.offsets.recovery_point() >= self.config.flush_messages
    }

    fn appended(
        &self,
        (first_offset, last_offset): (Offset, Offset),
        log_append_time_ms: i64,
        is_duplicate: bool,
    ) -> Appended {
        let needs_flush = self.is_flush_due();
        let log_start_offset = self.offsets.start();
        Appended {
            first_offset,
            last_offset,
            log_append_time_ms,
            log_start_offset,
            is_duplicate,
            needs_flush,
        }
    }

    fn check_size(&self, bytes: usize) -> Result<(), Rejection> {
        if bytes <= self.config.segment_bytes as usize {
            return Ok(());
        }
        let (partition, most) = (&self.topic_partition, self.config.segment_bytes);
        let message = format!(
            "Message batch size is {bytes} bytes in append to partition {partition}, which exceeds the maximum \
             configured segment size of {most}."
        );
        Err(Rejection::new(ErrorCode::RECORD_LIST_TOO_LARGE, message))
    }

    /// Appends the batches that the leader sent, with the leader's offsets and epochs. The bytes may end within a
    /// batch, which is left out. Refuses batches that the log has already, but allows gaps (of compaction). An empty
    /// log may start within the first batch (`DeleteRecords` may have moved the leader's log start offset there): that
    /// batch is appended whole. Returns the last appended offset, if any.
    pub fn append_as_follower(&mut self, batches: &[u8]) -> Result<Option<Offset>, AppendError> {
        self.settle()?;
        let (start, first) = (self.offsets.start(), self.first_of(batches));
        let mut expected = first;
        for batch in Batches::new(batches) {
            let batch = batch.map_err(Rejection::from)?;
            batch.verify_crc().map_err(Rejection::from)?;
            check_follows(batch.header(), expected)?;
            expected = batch.header().next_offset();
        }
        if first >= start {
            return self.append_verified(batches);
        }
        self.truncate_fully_and_start_at(first)?;
        let last_offset = self.append_verified(batches)?;
        self.advance_log_start_offset(start, start)?;
        Ok(last_offset)
    }

    /// The lowest offset that the first of `batches` may have: the log end offset, or, for an empty log whose end
    /// offset lies within the first batch, that batch's base offset.
    fn first_of(&self, batches: &[u8]) -> Offset {
        let end = self.offsets.end();
        match Batches::new(batches).next() {
            Some(Ok(batch)) if self.offsets.start() == end && batch.header().next_offset() > end => {
                batch.header().base_offset.min(end)
            }
            _ => end,
        }
    }

    fn append_verified(&mut self, batches: &[u8]) -> Result<Option<Offset>, AppendError> {
        let now_ms = self.context.clock.now_ms();
        let mut last_offset = None;
        let mut run: Vec<Noted> = Vec::new();
        let (mut start, mut end) = (0, 0);
        for batch in Batches::new(batches) {
            let batch = batch.map_err(Rejection::from)?;
            let control = control_of(batch.bytes(), batch.header())?;
            let size = batch.bytes().len();
            if !run.is_empty() && !self.fits_run(&run, end - start + size, batch.header(), now_ms) {
                self.write(batches.get(start..end).unwrap_or_default(), &run, now_ms)?;
                run.clear();
                start = end;
            }
            run.push((*batch.header(), control, 0));
            end += size;
            last_offset = Some(batch.header().last_offset());
        }
        if !run.is_empty() {
            self.write(batches.get(start..end).unwrap_or_default(), &run, now_ms)?;
        }
        Ok(last_offset)
    }

    /// Whether the batch `next` may go into the same write as the batches of `run`, `bytes` in total: the write must
    /// not pass the end of the segment.
    fn fits_run(&self, run: &[Noted], bytes: usize, next: &BatchHeader, now_ms: i64) -> bool {
        let active = self.segments.active();
        bytes <= RUN_BYTES
            && active.has_index_room(run.len(), self.config.segment_index_bytes)
            && !active.should_roll(&RollCheck {
                begun: run.first().map(|(first, ..)| first.max_timestamp),
                ..self.roll_check(bytes, next, now_ms)
            })
    }

    fn roll_check(&self, bytes: usize, last: &BatchHeader, now_ms: i64) -> RollCheck<'_> {
        RollCheck {
            config: &self.config,
            jitter_ms: self.roll_jitter_ms,
            now_ms,
            begun: None,
            bytes: bytes as u64,
            last_offset: last.last_offset(),
            max_timestamp: last.max_timestamp,
        }
    }

    /// Writes batches with one call into one segment, then notes each batch. `run` holds the headers of the batches in
    /// `bytes`.
    fn write(&mut self, bytes: &[u8], run: &[Noted], now_ms: i64) -> Result<()> {
        let Some((last, ..)) = run.last() else { return Ok(()) };
        if !self.is_materialised() {
            self.materialise()?;
        }
        let last_offset = last.last_offset();
        if self
            .segments
            .active()
            .should_roll(&self.roll_check(bytes.len(), last, now_ms))
        {
            // After a jump of offsets the log end offset may lie more than an i32 below; the new segment then begins
            // higher.
            self.roll_to(self.offsets.end().max(last_offset - i64::from(i32::MAX)), now_ms)?;
        }
        let fs = &*self.context.fs;
        let active = self.segments.active_mut();
        active.write_index_batch(fs)?;
        let mut position = match active.append(bytes) {
            Ok(position) => position,
            Err((error, is_ruined)) => {
                if is_ruined {
                    self.standing.poison();
                }
                return Err(error);
            }
        };
        for (header, control, transaction_version) in run {
            self.note(header, position, (*control, *transaction_version));
            position += header.size_bytes() as u64;
        }
        Ok(())
    }

    /// Updates segments, offsets, epochs and producers for a batch that was written at `position`.
    fn note(
        &mut self,
        header: &BatchHeader,
        position: Position,
        (control, transaction_version): (Option<ControlRecord>, i16),
    ) {
        let interval = self.config.index_interval_bytes;
        self.segments.note(header, position, interval);
        self.offsets.end_at(header.next_offset());
        if Some(header.partition_leader_epoch) != self.epochs.latest_epoch() {
            self.epochs.assign(header.partition_leader_epoch, header.base_offset);
        }
        let completed = self.producers.update_as_leader(header, control, transaction_version);
        if let Some(completed) = completed {
            self.note_completed(&completed);
        }
    }

    pub(super) fn note_completed(&mut self, completed: &CompletedTxn) {
        if completed.is_aborted {
            self.segments.active_mut().txn_index.append(&aborted(completed));
        }
    }
}

pub(super) fn aborted(completed: &CompletedTxn) -> AbortedTxn {
    AbortedTxn {
        producer_id: completed.producer_id,
        first_offset: completed.first_offset,
        last_offset: completed.last_offset,
        last_stable_offset: completed.last_stable_offset,
    }
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
