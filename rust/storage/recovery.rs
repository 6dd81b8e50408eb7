//! Opening a log: what is on disk becomes a [`Log`], mended where a crash allows it and refused where it does not.
//!
//! - (a) After a clean stop sizes and indexes are trusted after a look at both ends of each index; only the last
//!   segment's tail is walked, header by header, to find the log's end.
//! - (b) Otherwise every batch from the segment of the recovery point on is read and checked (length, magic, CRC,
//!   order), and indexes, producer state, aborted transactions and leader epochs are built anew from it. The first bad
//!   batch ends the log: it and all after it is cut off.
//! - (c) Bad bytes that were durable (below the recovery point) are no crash's doing: `Error::CorruptFile` names the
//!   file and position, nothing is cut, the caller decides. Only a tail that ends within a batch, or in zeros, of the
//!   last segment is cut there too: a truncation may have been newer than the checkpoint.
//! - (d) Damaged or missing indexes below the recovery point are rebuilt from headers alone.
//!
//! Nothing is synced: the recovery point stays, and the next flush covers what was rebuilt. spec: R4.1

mod check;
mod leftovers;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::check::{Step, with_reader};
use super::append::{aborted, control_of};
use super::checkpoint::read_offset_checkpoint;
use super::config::LogConfig;
use super::format::{CLEANER_OFFSET_CHECKPOINT, LEADER_EPOCH_CHECKPOINT};
use super::leader_epochs::EpochCache;
use super::log::{Log, LogContext};
use super::segment::Segment;
use super::state_file;
use super::topic_partition::TopicPartition;
use crate::error::{Error, Result};
use crate::io::FileSystem;
use crate::record::{Batch, BatchHeader, ControlRecord};

/// What the checkpoints say, and where to count.
#[derive(Clone, Copy)]
pub struct LoadArgs<'a> {
    /// From `recovery-point-offset-checkpoint`; 0 when it has no entry.
    pub recovery_point: i64,
    /// From `log-start-offset-checkpoint`; 0 when it has no entry.
    pub log_start_offset: i64,
    /// The broker stopped cleanly.
    pub clean_shutdown: bool,
    /// Counts while it goes on.
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

/// What opening one log had to do.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Segments of which every batch was checked.
    pub segments_checked: u64,
    /// Batches in them.
    pub batches_checked: u64,
    /// Bytes cut off the end, those of removed segments among them.
    pub bytes_cut: u64,
    /// Why they were.
    pub cut_reason: Option<String>,
    /// Segments below the recovery point whose indexes were rebuilt.
    pub indexes_rebuilt: u64,
}

impl Log {
    /// Opens the log in `dir`; see the module.
    pub fn open(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        config: Arc<LogConfig>,
        args: LoadArgs<'_>,
    ) -> Result<Self> {
        let fs = &*context.fs;
        let now_ms = context.clock.now_ms();
        let found = leftovers::settle(fs, dir)?;
        let open = |base: &i64| Segment::open(fs, dir, *base, found.txn_indexes.contains(base), now_ms);
        let mut segments = found.base_offsets.iter().map(open).collect::<Result<Vec<_>>>()?;
        if segments.is_empty() {
            segments.push(Segment::create(fs, dir, args.log_start_offset.max(0), now_ms)?);
        }
        let epochs = if found.names.iter().any(|name| name == LEADER_EPOCH_CHECKPOINT) {
            EpochCache::open(fs, dir)?
        } else {
            EpochCache::default()
        };
        let mut log = Self::assemble(context, dir, topic_partition, config, segments, epochs);
        if args.clean_shutdown && !found.base_offsets.is_empty() {
            // After a crash nobody knows which names were synced: the first flush does it.
            log.synced_names = log.names;
        }
        log.producers.set_snapshots(found.names.iter().map(String::as_str));
        log.recovery_point = args.recovery_point.max(0);
        log.log_start_offset = log.first_base_offset().max(args.log_start_offset);
        log.load(args, now_ms)?;
        if log.log_end_offset < log.log_start_offset {
            log.truncate_fully_and_start_at(log.log_start_offset)?;
        }
        log.recovery_point = log.recovery_point.min(log.log_end_offset);
        log.epochs.truncate_from_end(log.log_end_offset);
        log.epochs.truncate_from_start(log.log_start_offset);
        Ok(log)
    }

    fn first_base_offset(&self) -> i64 {
        self.segments.first().map_or(0, Segment::base_offset)
    }

    fn load(&mut self, args: LoadArgs<'_>, now_ms: i64) -> Result<()> {
        let last = self.segments.len() - 1;
        if self.epochs.must_rebuild() {
            self.recover_from(0, args, now_ms) // (b), everything: only the batches know the epochs
        } else if !args.clean_shutdown {
            self.recover_from(self.segment_at(self.recovery_point), args, now_ms) // (b)
        } else if self.trust_last_segment()? {
            self.check_indexes(last)?; // (a)
            self.recovery_point = self.log_end_offset;
            let (fs, end) = (self.fs(), self.log_end_offset);
            self.producers
                .truncate_and_reload(&*fs, &self.dir, self.log_start_offset, end, now_ms)?;
            self.remove_stray_snapshots()?;
            self.replay_producers(end)
        } else {
            self.recover_from(last, args, now_ms)
        }
    }

    /// (a) False when the last segment does not look as a clean stop leaves one.
    fn trust_last_segment(&mut self) -> Result<bool> {
        let fs = self.fs();
        let active = self.active_mut();
        // One read of each index serves the look at its ends and the appends to come.
        active.unseal_indexes(&*fs)?;
        if active.size() > 0 && !sane_indexes(&*fs, active)? {
            return Ok(false);
        }
        active.unseal(&*fs)?;
        let mut log_end_offset = active.base_offset();
        let mut scan = active.scan(active.start_for(&*fs, i64::MAX)?);
        loop {
            match scan.next_header() {
                Ok(Some((_, header))) => log_end_offset = header.next_offset(),
                Ok(None) => break,
                Err(Error::CorruptFile { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let is_whole = scan.position() == active.size();
        self.log_end_offset = log_end_offset;
        Ok(is_whole)
    }

    /// (d) for the first `count` segments.
    fn check_indexes(&mut self, count: usize) -> Result<()> {
        let fs = self.fs();
        let interval = self.config.index_interval_bytes;
        for segment in self.segments.iter_mut().take(count) {
            if !sane_indexes(&*fs, segment)? {
                rebuild_indexes(&*fs, segment, interval)?;
                self.report.indexes_rebuilt += 1;
            }
        }
        Ok(())
    }

    /// (b) from the segment at `from` on.
    fn recover_from(&mut self, from: usize, args: LoadArgs<'_>, now_ms: i64) -> Result<()> {
        let fs = self.fs();
        self.check_indexes(from)?;
        let base_offset = self.segments.get(from).map_or(0, Segment::base_offset);
        self.epochs.truncate_from_end(base_offset);
        let start = self.log_start_offset.min(base_offset);
        self.producers
            .truncate_and_reload(&*fs, &self.dir, start, base_offset, now_ms)?;
        self.replay_producers(base_offset)?;
        let count = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        count(&args.progress.segments_to_check, (self.segments.len() - from) as u64);
        self.log_end_offset = base_offset;
        for at in from..self.segments.len() {
            let next_base = self.segments.get(at + 1).map(Segment::base_offset);
            let cut = with_reader(|buffer| self.check_segment(at, next_base, buffer, args.progress))?;
            count(&args.progress.segments_checked, 1);
            self.report.segments_checked += 1;
            if let Some(bytes) = cut {
                let removed = self.remove_segments_after(at)?;
                self.report.bytes_cut += bytes + removed;
                count(&args.progress.bytes_cut, bytes + removed);
                break;
            }
            if next_base.is_some() {
                let segment = self.segments.get_mut(at);
                segment.map_or(Ok(()), |it| it.write_indexes(&*fs).map(|()| it.seal()))?;
            }
        }
        self.producers
            .delete_snapshots_from(&*fs, &self.dir, self.log_end_offset + 1)?;
        self.producers.update_map_end_offset(self.log_end_offset);
        self.remove_stray_snapshots()
    }

    fn remove_stray_snapshots(&mut self) -> Result<()> {
        if self.producers.snapshot_offsets().is_empty() {
            return Ok(());
        }
        let bases: Vec<i64> = self.segments.iter().map(Segment::base_offset).collect();
        self.producers
            .remove_stray_snapshots(&*self.context.fs, &self.dir, &bases)
    }

    /// Reads all of one segment and builds everything from it. Gives the bytes that were cut off, if any.
    fn check_segment(
        &mut self,
        at: usize,
        next_base: Option<i64>,
        buffer: &mut Vec<u8>,
        progress: &RecoveryProgress,
    ) -> Result<Option<u64>> {
        let interval = self.config.index_interval_bytes;
        let Some(segment) = self.segments.get_mut(at) else {
            return Ok(None);
        };
        let (log, len) = (Arc::clone(segment.log()), segment.size());
        segment.reset();
        self.log_end_offset = segment.base_offset();
        let mut reader = check::BatchReader::new(&*log.file, &log.path, len, buffer);
        let reason = loop {
            let step = reader.next_batch()?;
            let batch = match step {
                Step::Batch(batch) => batch,
                Step::End => {
                    progress.bytes_checked.fetch_add(len, Ordering::Relaxed);
                    if !self.has_lost_its_end(next_base) || self.was_compacted(at)? {
                        return Ok(None);
                    }
                    break "the segment ends before the next one begins".to_owned();
                }
                Step::Torn => break "the last batch is not whole".to_owned(),
                Step::Zeros => break "only zeros follow".to_owned(),
                Step::Bad(reason) => break self.bad(at, &log.path, reader.position(), reason)?,
            };
            let header = *batch.header();
            let control = match follows(&header, self.log_end_offset, segment.base_offset(), next_base) {
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
                    break self.bad(at, &log.path, position, reason)?;
                }
            }
            self.log_end_offset = header.next_offset();
            self.report.batches_checked += 1;
        };
        self.cut(at, &log.path, len, reader.position(), reason).map(Some)
    }

    /// Above the recovery point a segment ends where the next one begins, so a gap there is what a power loss took: the
    /// later segments would leave a hole. (Below it, gaps are compaction's.)
    fn has_lost_its_end(&self, next_base: Option<i64>) -> bool {
        let (end, durable) = (self.log_end_offset, self.recovery_point);
        next_base.is_some_and(|next| end < next && durable < next && durable <= end)
    }

    /// Whether Kafka's cleaner has been over the segment, which then may end anywhere before the next one. A checkpoint
    /// that cannot be understood speaks for it: what is there is kept.
    fn was_compacted(&self, at: usize) -> Result<bool> {
        if self.config.is_compacted {
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

    /// (c) An error when the bad batch was durable, else the reason to cut it.
    fn bad(&self, at: usize, path: &Path, position: u64, reason: String) -> Result<String> {
        let is_durable = self.log_end_offset < self.recovery_point;
        if is_durable || at + 1 < self.segments.len() && self.is_durable_segment(at) {
            return Err(Error::CorruptFile {
                path: path.to_path_buf(),
                position,
                reason,
            });
        }
        Ok(reason)
    }

    /// Whether the segment after it begins below the recovery point, so that all of this one was durable.
    fn is_durable_segment(&self, at: usize) -> bool {
        self.segments
            .get(at + 1)
            .is_some_and(|next| next.base_offset() <= self.recovery_point)
    }

    fn cut(&mut self, at: usize, path: &Path, len: u64, position: u64, reason: String) -> Result<u64> {
        if self.is_durable_segment(at) {
            return Err(Error::CorruptFile {
                path: path.to_path_buf(),
                position,
                reason,
            });
        }
        if let Some(segment) = self.segments.get_mut(at) {
            segment.cut(position)?;
        }
        self.report.cut_reason = Some(reason);
        Ok(len - position)
    }

    /// Unlinks the segments after the one at `at`, from the last one backwards; gives their bytes.
    fn remove_segments_after(&mut self, at: usize) -> Result<u64> {
        let mut bytes = 0;
        while self.segments.len() > at + 1 {
            let last = self.active();
            bytes += last.size();
            for path in Segment::paths(&self.dir, last.base_offset()) {
                state_file::remove(&*self.context.fs, &path)?;
            }
            self.segments.pop();
        }
        Ok(bytes)
    }

    /// Feeds the producer state the batches from where it ends to `to`, by their headers.
    pub(super) fn replay_producers(&mut self, to: i64) -> Result<()> {
        let from = self.producers.map_end_offset();
        if from >= to {
            return Ok(());
        }
        for segment in self.segments.get(self.segment_at(from)..).unwrap_or_default() {
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

/// Whether a batch may stand where it does.
fn follows(header: &BatchHeader, expected: i64, base_offset: i64, next_base: Option<i64>) -> Result<(), String> {
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

fn read_control(segment: &Segment, position: u64, header: &BatchHeader) -> Result<Option<ControlRecord>> {
    if !header.is_control() {
        return Ok(None);
    }
    let log = segment.log();
    let mut bytes = vec![0; header.size_bytes()];
    log.file
        .read_exact_at(&mut bytes, position)
        .map_err(|error| Error::io("read", &log.path, error))?;
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

/// A look at both ends of the index files; the greatest timestamp is kept from it.
fn sane_indexes(fs: &dyn FileSystem, segment: &mut Segment) -> Result<bool> {
    if !segment.offset_index.is_sane(fs, segment.size())? {
        return Ok(false);
    }
    let Some(max) = segment.time_index.sane_last_entry(fs)? else {
        return Ok(false);
    };
    segment.set_max_timestamp(max);
    Ok(true)
}

/// (d) Offset and time index from headers; the transaction index needs the producers and stays.
fn rebuild_indexes(fs: &dyn FileSystem, segment: &mut Segment, interval: u32) -> Result<()> {
    let len = segment.size();
    let log = Arc::clone(segment.log());
    segment.offset_index.file().start_anew();
    segment.time_index.file().start_anew();
    segment.begin_notes();
    let mut scan = super::header_scan::HeaderScan::new(&*log.file, &log.path, 0, len);
    while let Some((position, header)) = scan.next_header()? {
        segment.note(&header, position, interval);
    }
    if scan.position() != len {
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
