//! Opening a log: its files become a [`Log`]. Damage that a crash can cause is repaired; any other damage is refused.
//!
//! - (a) After a clean stop sizes and indexes are trusted after a check of both ends of each index; only the last
//!   segment's tail is walked, header by header, to find the log's end.
//! - (b) Otherwise every batch from the segment of the recovery point on is read and checked (length, magic, CRC,
//!   order), and indexes, producer state, aborted transactions and leader epochs are rebuilt from the batches. The log
//!   ends before the first bad batch: the rest is cut off, named in the report, and kept in `.cut` files when it may
//!   have been acknowledged (`cut`).
//! - (c) Durable records that are damaged or gone are not the result of a crash (`extent`): [`Error::Lost`] names the
//!   file, nothing is cut, and the caller decides.
//! - (d) Damaged or missing indexes below the recovery point are rebuilt from headers alone.
//!
//! Opening syncs no file: the recovery point stays, and the next flush covers the rebuilt files.

pub(super) mod check;
mod cut;
mod extent;
mod leftovers;
mod survey;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::check::{Step, with_reader};
use self::cut::Ending;
pub use self::extent::{Extent, OnLoss};
use super::append::{aborted, control_of};
use super::batch_walk::read_batch;
use super::checkpoint::read_offset_checkpoint;
use super::config::LogConfig;
use super::format::{CLEANER_OFFSET_CHECKPOINT, LEADER_EPOCH_CHECKPOINT};
use super::header_scan::HeaderScan;
use super::leader_epochs::EpochCache;
use super::log::{Log, LogContext};
use super::segment::Segment;
use super::segments::Segments;
use super::topic_partition::TopicPartition;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::{Offset, Position};
use record::{Batch, BatchHeader, ControlRecord};

/// The checkpoints' values for a log, and the counters of the start.
#[derive(Clone, Copy)]
pub struct LoadArgs<'a> {
    /// From `recovery-point-offset-checkpoint`; 0 when it has no entry.
    pub recovery_point: Offset,
    /// From `log-start-offset-checkpoint`; 0 when it has no entry.
    pub log_start_offset: Offset,
    /// From `cleaner-offset-checkpoint`; `None` when it has no entry.
    pub first_dirty_offset: Option<Offset>,
    /// The broker stopped cleanly.
    pub clean_shutdown: bool,
    /// How far the log must reach.
    pub extent: Extent<'a>,
    /// Counters that are updated while the log is opened.
    pub progress: &'a RecoveryProgress,
}

/// Counters that many logs share while they are opened.
#[derive(Debug, Default)]
pub struct RecoveryProgress {
    /// Segments that must be read.
    pub segments_to_check: AtomicU64,
    /// Segments that have been read.
    pub segments_checked: AtomicU64,
    /// Bytes read and found good.
    pub bytes_checked: AtomicU64,
    /// Bytes cut off.
    pub bytes_cut: AtomicU64,
}

/// The repairs and findings of opening one log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Segments of which every batch was checked.
    pub segments_checked: u64,
    /// Batches in them.
    pub batches_checked: u64,
    /// Bytes cut off the end, including the bytes of removed segments.
    pub bytes_cut: u64,
    /// Why bytes were cut off.
    pub cut_reason: Option<String>,
    /// The log lacks durable records at its end, and another replica has them.
    pub is_short: bool,
    /// The log lacks durable records, and the operator has accepted the loss.
    pub is_accepted: bool,
    /// Notes for the operator.
    pub notes: Vec<Note>,
    /// Segments below the recovery point whose indexes were rebuilt.
    pub indexes_rebuilt: u64,
}

/// One sentence about what opening a log found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Records are or may be gone; false for the ordinary result of a crash.
    pub is_loss: bool,
    /// The sentence, which names the partition.
    pub text: String,
}

impl Note {
    fn loss(text: String) -> Self {
        Self { is_loss: true, text }
    }

    fn ordinary(text: String) -> Self {
        Self { is_loss: false, text }
    }
}

impl Log {
    /// Opens the log in `dir`; see the module.
    pub fn open(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        config: Arc<LogConfig>,
        mut args: LoadArgs<'_>,
    ) -> Result<Self> {
        let fs = &*context.fs;
        let now_ms = context.clock.now_ms();
        let mut found = leftovers::settle(fs, dir)?;
        let open = |base: &Offset| Segment::open(fs, dir, *base, found.txn_indexes.contains(base), now_ms);
        let opened = found.base_offsets.iter().map(open).collect::<Result<Vec<_>>>()?;
        let mut notes = Vec::new();
        let segments = if let Some(segments) = Segments::from_ascending(opened) {
            segments
        } else {
            let start = Self::begin_without_segments(dir, &topic_partition, &args, &mut notes)?;
            leftovers::remove_orphans(fs, dir, &std::mem::take(&mut found.orphans))?;
            Segments::new(Segment::create(fs, dir, start, now_ms)?)
        };
        let has_epochs = found.names.iter().any(|name| name == LEADER_EPOCH_CHECKPOINT);
        let is_flushed = args.clean_shutdown || args.recovery_point > Offset(0);
        let epochs = if has_epochs {
            EpochCache::open(fs, dir)?
        } else if is_flushed && segments.all().any(|segment| segment.size() > 0) {
            EpochCache::lost()
        } else {
            EpochCache::default()
        };
        let mut log = Self::assemble(context, dir, topic_partition, config, segments, epochs);
        if args.clean_shutdown && !found.base_offsets.is_empty() {
            // After a crash it is unknown which names were synced: the first flush syncs the directory.
            log.syncs.trust_names();
        }
        log.producers.set_snapshots(found.names.iter().map(String::as_str));
        log.report.notes = notes;
        log.is_listed = args.extent.is_listed;
        log.offsets.trust_to(args.recovery_point.max(Offset(0)));
        log.offsets.cleaned_to(args.first_dirty_offset);
        let is_untouched = args.extent.closed.map_or(Ok(true), |closed| closed.is_of(&log))?;
        if let (false, Some(closed)) = (is_untouched, &mut args.extent.closed) {
            // The files have changed since the clean stop, and the checkpoint may belong to the new ones.
            closed.log_start = closed.log_start.max(args.log_start_offset);
        }
        log.offsets
            .start_at(log.segments.first().base_offset().max(args.log_start()));
        log.load(&args, is_untouched, now_ms)?;
        log.check_extent(&args, &found.orphans)?;
        leftovers::remove_orphans(fs, dir, &found.orphans)?;
        if log.offsets.end() < log.offsets.start() {
            log.start_after_end(&args)?;
        }
        log.offsets.distrust_from(log.offsets.end());
        log.epochs.truncate_from_end(log.offsets.end());
        log.epochs.truncate_from_start(log.offsets.start());
        Ok(log)
    }

    fn load(&mut self, args: &LoadArgs<'_>, is_untouched: bool, now_ms: i64) -> Result<()> {
        let last = self.segments.active_place();
        if let Some(closed) = args.extent.closed
            && !is_untouched
        {
            // All records were durable when the log was closed, and the files have changed since.
            self.offsets.trust_to(closed.log_end);
            self.recover_from(0, args, now_ms)?;
            self.note_changed();
            return Ok(());
        }
        if self.epochs.must_rebuild() {
            self.recover_from(0, args, now_ms) // (b), everything: only the batches know the epochs
        } else if !args.clean_shutdown && args.extent.is_recovery_point_lost {
            // A sealed segment is flushed soon, so the records before the last segment were most likely durable.
            self.offsets.trust_to(self.segments.active().base_offset());
            self.recover_from(0, args, now_ms)?;
            self.offsets.trust_to(Offset(0));
            Ok(())
        } else if !args.clean_shutdown {
            // The flush that reached the recovery point left the indexes of the segment that was active then.
            let last = self.segments.place_of(self.offsets.recovery_point() - 1);
            let from = self.first_changed(last, args)?;
            self.recover_from(from, args, now_ms) // (b)
        } else if self.trust_last_segment()? {
            self.check_indexes(last)?; // (a)
            let (fs, end) = (self.fs(), self.offsets.end());
            self.offsets.trust_to(end);
            self.producers
                .truncate_and_reload(&*fs, &self.dir, self.first_offset(), end, now_ms)?;
            self.remove_stray_snapshots()?;
            self.replay_producers(end)
        } else {
            self.recover_from(last, args, now_ms)
        }
    }

    fn note_changed(&mut self) {
        if self.report.notes.is_empty() {
            let (partition, batches) = (&self.topic_partition, self.report.batches_checked);
            let text = format!(
                "{partition}: its files have changed since the clean stop; all {batches} batches were read and are \
                 whole"
            );
            self.report.notes.push(Note::ordinary(text));
        }
    }

    /// (a) Finds the log end offset. Returns false when the last segment is not as a clean stop leaves it.
    fn trust_last_segment(&mut self) -> Result<bool> {
        let fs = self.fs();
        let active = self.segments.active_mut();
        // One read of each index serves the check of its ends and the later appends.
        active.unseal_indexes(&*fs)?;
        if active.size() > 0 && !sane_indexes(&*fs, active)? {
            return Ok(false);
        }
        active.unseal(&*fs)?;
        let mut log_end_offset = active.base_offset();
        let mut scan = active.scan(active.start_for(&*fs, Offset::MAX)?);
        loop {
            match scan.next_header() {
                Ok(Some((_, header))) => log_end_offset = header.next_offset(),
                Ok(None) => break,
                Err(Error::CorruptFile { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let is_whole = scan.position() == active.end();
        self.offsets.end_at(log_end_offset);
        Ok(is_whole)
    }

    /// (d) for the first `count` segments.
    fn check_indexes(&mut self, count: usize) -> Result<()> {
        let fs = self.fs();
        let interval = self.config.index_interval_bytes;
        for at in 0..count {
            let Some(segment) = self.segments.get_mut(at) else {
                break;
            };
            if !sane_indexes(&*fs, segment)? {
                rebuild_indexes(&*fs, segment, interval)?;
                self.report.indexes_rebuilt += 1;
            }
        }
        Ok(())
    }

    /// (b) from the segment at `from` on.
    fn recover_from(&mut self, from: usize, args: &LoadArgs<'_>, now_ms: i64) -> Result<()> {
        let fs = self.fs();
        self.check_sealed(from, args)?;
        self.check_indexes(from)?;
        let base_offset = self.segments.at(from).base_offset();
        self.epochs.truncate_from_end(base_offset);
        let start = self.first_offset().min(base_offset);
        self.producers
            .truncate_and_reload(&*fs, &self.dir, start, base_offset, now_ms)?;
        self.replay_producers(base_offset)?;
        let count = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        count(&args.progress.segments_to_check, (self.segments.count() - from) as u64);
        self.offsets.end_at(base_offset);
        for at in from..self.segments.count() {
            let next_base = self.segments.next_base(at);
            let ended = with_reader(|buffer| self.check_segment(at, next_base, buffer, args.progress))?;
            count(&args.progress.segments_checked, 1);
            self.report.segments_checked += 1;
            if let Some(ended) = ended {
                let bytes = self.cut(at, &ended, args)?;
                self.report.bytes_cut += bytes;
                count(&args.progress.bytes_cut, bytes);
                break;
            }
            if next_base.is_some() {
                let segment = self.segments.get_mut(at);
                segment.map_or(Ok(()), |it| it.write_indexes(&*fs).map(|()| it.seal()))?;
            }
        }
        self.producers
            .delete_snapshots_from(&*fs, &self.dir, self.offsets.end() + 1)?;
        self.producers.update_map_end_offset(self.offsets.end());
        self.remove_stray_snapshots()
    }

    fn remove_stray_snapshots(&mut self) -> Result<()> {
        if self.producers.snapshot_offsets().is_empty() {
            return Ok(());
        }
        let bases: Vec<Offset> = self.segments.all().map(Segment::base_offset).collect();
        self.producers
            .remove_stray_snapshots(&*self.context.fs, &self.dir, &bases)
    }

    /// Reads all batches of one segment and rebuilds indexes, epochs and producer state from them. Returns where and
    /// why the log must be cut, if it must.
    fn check_segment(
        &mut self,
        at: usize,
        next_base: Option<Offset>,
        buffer: &mut Vec<u8>,
        progress: &RecoveryProgress,
    ) -> Result<Option<Ending>> {
        let interval = self.config.index_interval_bytes;
        let Some(segment) = self.segments.get_mut(at) else {
            return Ok(None);
        };
        let (log, file_end) = (Arc::clone(segment.log()), segment.end());
        log.file.note_unsynced();
        segment.reset();
        self.offsets.end_at(segment.base_offset());
        let mut has_holes = false;
        let mut reader = check::BatchReader::new(&*log.file, &log.path, file_end, buffer);
        let (kind, reason) = loop {
            let step = reader.next_batch()?;
            let batch = match step {
                Step::Batch(batch) => batch,
                Step::End => {
                    progress.bytes_checked.fetch_add(file_end.get(), Ordering::Relaxed);
                    let end = self.offsets.end();
                    let Some(next) = next_base.filter(|next| end < *next) else {
                        return Ok(None);
                    };
                    if self.was_compacted(at, next, has_holes)? {
                        return Ok(None);
                    }
                    break (cut::Kind::Gap, "the segment ends before the next one begins".to_owned());
                }
                Step::Torn => break (cut::Kind::Torn, "the last batch is not whole".to_owned()),
                Step::Zeros => break (cut::Kind::Zeros, "only zeros follow".to_owned()),
                Step::Bad(reason) => break (cut::Kind::Bad, reason),
            };
            let header = *batch.header();
            let control = match follows(&header, self.offsets.end(), segment.base_offset(), next_base) {
                Ok(()) => control_of(batch.bytes(), &header).map_err(|rejection| rejection.message),
                Err(reason) => Err(reason),
            };
            let position = reader.batch_position();
            match control {
                Ok(control) => {
                    segment.note(&header, position, interval);
                    note_recovered(&header, control, segment, &mut self.epochs, &mut self.producers);
                }
                Err(reason) => {
                    reader.step_back();
                    break (cut::Kind::Bad, reason);
                }
            }
            has_holes |= !header.is_whole_from(self.offsets.end());
            self.offsets.end_at(header.next_offset());
            self.report.batches_checked += 1;
        };
        Ok(Some(Ending {
            kind,
            reason,
            position: reader.position(),
            file_end,
        }))
    }

    /// Whether a cleaner may have compacted the segment, which then may end anywhere before the next segment. Any other
    /// segment ends where the next one begins: a gap before it means lost records. What this broker's cleaner replaces
    /// was durable, so below the recovery point; that of another shows by holes between the records. A log without a
    /// recovery point, not even 0, was copied here from another directory, or has lost nothing before its last segment
    /// (`roll.rs`). An unreadable cleaner checkpoint counts as compacted, so that the batches behind a gap are kept.
    fn was_compacted(&self, at: usize, next_base: Offset, has_holes: bool) -> Result<bool> {
        let is_durable = next_base <= self.offsets.recovery_point();
        if self.config.is_compacted && (has_holes || is_durable || !self.is_listed) {
            return Ok(true);
        }
        let Some((segment, log_dir)) = self.segments.get(at).zip(self.dir.parent()) else {
            return Ok(false);
        };
        match read_offset_checkpoint(&*self.context.fs, &log_dir.join(CLEANER_OFFSET_CHECKPOINT)) {
            Ok(cleaned) => Ok(cleaned
                .iter()
                .any(|(partition, end)| *partition == self.topic_partition && *end > segment.base_offset())),
            Err(Error::BadFormat { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Updates the producer state from the headers of the batches between its end offset and `to`.
    pub(super) fn replay_producers(&mut self, to: Offset) -> Result<()> {
        let from = self.producers.map_end_offset();
        if from >= to {
            return Ok(());
        }
        for segment in self.segments.all_from(self.segments.place_of(from)) {
            if segment.base_offset() >= to {
                break;
            }
            let mut scan = segment.scan(segment.start_for(&*self.context.fs, from.max(segment.base_offset()))?);
            while let Some((position, header)) = scan.next_header()? {
                if header.last_offset() >= to {
                    break;
                }
                if header.last_offset() >= from {
                    self.producers
                        .update(&header, read_control(segment, position, &header)?);
                }
            }
        }
        self.producers.update_map_end_offset(to);
        Ok(())
    }
}

fn note_recovered(
    header: &BatchHeader,
    control: Option<ControlRecord>,
    segment: &mut Segment,
    epochs: &mut EpochCache,
    producers: &mut super::producer_state::ProducerState,
) {
    if epochs
        .latest_epoch()
        .is_none_or(|latest| header.partition_leader_epoch > latest)
    {
        epochs.assign(header.partition_leader_epoch, header.base_offset);
    }
    if let Some(completed) = producers
        .update(header, control)
        .filter(|completed| completed.is_aborted)
    {
        segment.txn_index.append(&aborted(&completed));
    }
}

/// Checks that a batch's offsets fit its place in the log; the error says why they do not.
fn follows(
    header: &BatchHeader,
    expected: Offset,
    base_offset: Offset,
    next_base: Option<Offset>,
) -> Result<(), String> {
    let last = header.last_offset();
    if header.last_offset_delta < 0 || header.base_offset < expected {
        return Err(format!(
            "offsets {}..={last} do not follow {expected}",
            header.base_offset
        ));
    }
    if last - base_offset > i64::from(i32::MAX) {
        return Err(format!(
            "offset {last} is too far from the segment's base {base_offset}"
        ));
    }
    match next_base {
        Some(next) if last >= next => Err(format!("offset {last} belongs to the next segment, {next}")),
        _ => Ok(()),
    }
}

fn read_control(segment: &Segment, position: Position, header: &BatchHeader) -> Result<Option<ControlRecord>> {
    if !header.is_control() {
        return Ok(None);
    }
    let log = segment.log();
    let mut bytes = Vec::new();
    read_batch(&*log.file, position, header, &mut bytes).map_err(|error| Error::io("read", &log.path, error))?;
    let corrupt = |reason: String| Error::CorruptFile {
        path: log.path.clone(),
        position,
        reason,
    };
    match Batch::split_first(&bytes).map_err(|error| corrupt(error.to_string()))? {
        Some((batch, _)) => ControlRecord::of_batch(&batch).map_err(|error| corrupt(error.to_string())),
        None => Ok(None),
    }
}

/// Checks both ends of the index files, and keeps the greatest timestamp that the time index names.
fn sane_indexes(fs: &dyn FileSystem, segment: &mut Segment) -> Result<bool> {
    if !segment.offset_index.is_sane(fs, segment.end())? {
        return Ok(false);
    }
    let Some(max) = segment.time_index.sane_last_entry(fs)? else {
        return Ok(false);
    };
    segment.set_max_timestamp(max);
    Ok(true)
}

/// (d) Rebuilds offset and time index from headers. The transaction index stays: rebuilding it needs the producer
/// state.
fn rebuild_indexes(fs: &dyn FileSystem, segment: &mut Segment, interval: u32) -> Result<()> {
    let end = segment.end();
    let log = Arc::clone(segment.log());
    segment.offset_index.file().restart();
    segment.time_index.file().restart();
    segment.begin_notes();
    let mut scan = HeaderScan::new(&*log.file, &log.path, Position::START, end);
    while let Some((position, header)) = scan.next_header()? {
        segment.note(&header, position, interval);
    }
    if scan.position() != end {
        let reason = "the segment does not end with a whole batch".to_owned();
        return Err(Error::CorruptFile {
            path: log.path.clone(),
            position: scan.position(),
            reason,
        });
    }
    segment.write_indexes(fs)?;
    segment.seal();
    Ok(())
}

#[cfg(test)]
mod tests;
