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
mod indexes;
mod leftovers;
mod report;
mod survey;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::check::{Step, with_reader};
use self::cut::{Cut, Ending};
use self::extent::Loss;
pub use self::extent::{Extent, LoadArgs, OnLoss, RecoveryProgress};
pub use self::report::{Note, RecoveryReport};
use super::append::control_of;
use super::checkpoint::read_offset_checkpoint;
use super::config::LogConfig;
use super::contents::Contents;
use super::context::LogContext;
use super::format::{CLEANER_OFFSET_CHECKPOINT, LEADER_EPOCH_CHECKPOINT};
use super::leader_epochs::EpochCache;
use super::offsets::Offsets;
use super::partition_dir::PartitionDir;
use super::producer_state::{CompletedTxn, ProducerState};
use super::replay::replay_producers;
use super::segment::Segment;
use super::segments::Segments;
use super::syncs::Syncs;
use super::topic_partition::TopicPartition;
use base::error::{Error, Result};
use base::place::Offset;
use record::{BatchHeader, ControlRecord};

/// The parts of a log that was opened.
pub(super) struct Opened {
    pub(super) contents: Contents,
    pub(super) syncs: Syncs,
    pub(super) report: RecoveryReport,
}

impl Opened {
    /// Opens the log in `dir`; see the module.
    pub(super) fn from_files(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        config: &LogConfig,
        mut args: LoadArgs<'_>,
    ) -> Result<Self> {
        let (fs, now_ms) = (&*context.fs, context.clock.now_ms());
        let dir = PartitionDir::new(&context.fs, dir, topic_partition);
        let mut found = leftovers::settle(fs, dir.path())?;
        let open = |base: &Offset| Segment::open(fs, dir.path(), *base, found.txn_indexes.contains(base), now_ms);
        let opened = found.base_offsets.iter().map(open).collect::<Result<Vec<_>>>()?;
        let mut report = RecoveryReport::default();
        let segments = if let Some(segments) = Segments::from_ascending(opened) {
            segments
        } else {
            let start = extent::begin_without_segments(&dir, &args, &mut report.notes)?;
            leftovers::remove_orphans(fs, dir.path(), &std::mem::take(&mut found.orphans))?;
            Segments::new(Segment::create(fs, dir.path(), start, now_ms)?)
        };
        let has_epochs = found.names.iter().any(|name| name == LEADER_EPOCH_CHECKPOINT);
        let is_flushed = args.clean_shutdown || args.recovery_point > Offset(0);
        let epochs = if has_epochs {
            EpochCache::open(fs, dir.path())?
        } else if is_flushed && segments.all().any(|segment| segment.size() > 0) {
            EpochCache::lost()
        } else {
            EpochCache::default()
        };
        let mut syncs = Syncs::of_opened();
        if args.clean_shutdown && !found.base_offsets.is_empty() {
            // After a crash it is unknown which names were synced: the first flush syncs the directory.
            syncs.trust_names();
        }
        let mut producers = ProducerState::new(context.producers);
        producers.set_snapshots(found.names.iter().map(String::as_str));
        let mut offsets = Offsets::default();
        offsets.trust_to(args.recovery_point.max(Offset(0)));
        offsets.cleaned_to(args.first_dirty_offset);
        let closed = args.extent.closed;
        let is_untouched = closed.map_or(Ok(true), |closed| closed.is_of(&segments, fs))?;
        if let (false, Some(closed)) = (is_untouched, &mut args.extent.closed) {
            // The files have changed since the clean stop, and the checkpoint may belong to the new ones.
            closed.log_start = closed.log_start.max(args.log_start_offset);
        }
        offsets.start_at(segments.first().base_offset().max(args.log_start()));
        let mut recovery = Recovery {
            dir,
            config,
            segments,
            offsets,
            epochs,
            producers,
            args: &args,
            report,
            now_ms,
        };
        recovery.load(is_untouched)?;
        recovery.check_extent(&found.orphans)?;
        leftovers::remove_orphans(fs, recovery.dir.path(), &found.orphans)?;
        recovery.finish(syncs)
    }
}

/// A log while it is opened: its parts do not agree yet.
struct Recovery<'a> {
    dir: PartitionDir,
    config: &'a LogConfig,
    segments: Segments,
    offsets: Offsets,
    epochs: EpochCache,
    producers: ProducerState,
    args: &'a LoadArgs<'a>,
    report: RecoveryReport,
    now_ms: i64,
}

impl Recovery<'_> {
    fn load(&mut self, is_untouched: bool) -> Result<()> {
        let args = self.args;
        let last = self.segments.active_place();
        if let Some(closed) = args.extent.closed
            && !is_untouched
        {
            // All records were durable when the log was closed, and the files have changed since.
            self.offsets.trust_to(closed.log_end);
            self.recover_from(0)?;
            self.note_changed();
            return Ok(());
        }
        if self.epochs.must_rebuild() {
            self.recover_from(0) // (b), everything: only the batches know the epochs
        } else if !args.clean_shutdown && args.extent.is_recovery_point_lost {
            // A sealed segment is flushed soon, so the records before the last segment were most likely durable.
            self.offsets.trust_to(self.segments.active().base_offset());
            self.recover_from(0)?;
            self.offsets.trust_to(Offset(0));
            Ok(())
        } else if !args.clean_shutdown {
            // The flush that reached the recovery point left the indexes of the segment that was active then.
            let last = self.segments.place_of(self.offsets.recovery_point() - 1);
            let from = self.first_changed(last)?;
            self.recover_from(from) // (b)
        } else if self.trust_last_segment()? {
            self.check_indexes(last)?; // (a)
            let end = self.offsets.end();
            self.offsets.trust_to(end);
            self.reload_producers(self.segments.first().base_offset().min(self.offsets.start()), end)?;
            self.remove_stray_snapshots()?;
            self.replay_producers(end)
        } else {
            self.recover_from(last)
        }
    }

    fn note_changed(&mut self) {
        if self.report.notes.is_empty() {
            let (partition, batches) = (self.dir.partition(), self.report.batches_checked);
            let text = format!(
                "{partition}: its files have changed since the clean stop; all {batches} batches were read and are \
                 whole"
            );
            self.report.notes.push(Note::ordinary(text));
        }
    }

    /// (a) Finds the log end offset. Returns false when the last segment is not as a clean stop leaves it.
    fn trust_last_segment(&mut self) -> Result<bool> {
        let fs = &**self.dir.fs();
        let active = self.segments.active_mut();
        // One read of each index serves the check of its ends and the later appends.
        active.unseal_indexes(fs)?;
        if active.size() > 0 && !indexes::are_sane(fs, active)? {
            return Ok(false);
        }
        active.unseal(fs)?;
        let mut log_end_offset = active.base_offset();
        let mut scan = active.scan(active.start_for(fs, Offset::MAX)?);
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
        let interval = self.config.index_interval_bytes;
        self.report.indexes_rebuilt += indexes::check(&mut self.segments, count, &**self.dir.fs(), interval)?;
        Ok(())
    }

    fn reload_producers(&mut self, first_offset: Offset, end: Offset) -> Result<()> {
        let (fs, dir) = (&**self.dir.fs(), self.dir.path());
        self.producers
            .truncate_and_reload(fs, dir, first_offset, end, self.now_ms)
    }

    fn replay_producers(&mut self, to: Offset) -> Result<()> {
        replay_producers(&mut self.producers, &self.segments, &**self.dir.fs(), to)
    }

    /// (b) from the segment at `from` on.
    fn recover_from(&mut self, from: usize) -> Result<()> {
        let progress = self.args.progress;
        self.check_sealed(from)?;
        self.check_indexes(from)?;
        let base_offset = self.segments.at(from).base_offset();
        self.epochs.truncate_from_end(base_offset);
        let first = self.segments.first().base_offset();
        self.reload_producers(first.min(self.offsets.start()).min(base_offset), base_offset)?;
        self.replay_producers(base_offset)?;
        let count = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        count(&progress.segments_to_check, (self.segments.count() - from) as u64);
        self.offsets.end_at(base_offset);
        for at in from..self.segments.count() {
            let next_base = self.segments.next_base(at);
            let ended = with_reader(|buffer| self.check_segment(at, next_base, buffer))?;
            count(&progress.segments_checked, 1);
            self.report.segments_checked += 1;
            if let Some(ended) = ended {
                let bytes = self.cut(at, ended)?;
                self.report.bytes_cut += bytes;
                count(&progress.bytes_cut, bytes);
                break;
            }
            if next_base.is_some() {
                let segment = self.segments.get_mut(at);
                segment.map_or(Ok(()), |it| it.write_indexes(&**self.dir.fs()).map(|()| it.seal()))?;
            }
        }
        let (fs, end) = (&**self.dir.fs(), self.offsets.end());
        self.producers.delete_snapshots_from(fs, self.dir.path(), end + 1)?;
        self.producers.update_map_end_offset(end);
        self.remove_stray_snapshots()
    }

    /// Ends the log in the segment at `at`; returns the number of bytes that were cut off.
    fn cut(&mut self, at: usize, ending: Ending) -> Result<u64> {
        let cut = Cut {
            dir: &self.dir,
            segments: &mut self.segments,
            at,
            end: self.offsets.end(),
            recovery_point: self.offsets.recovery_point(),
            ending,
            args: self.args,
            report: &mut self.report,
        };
        cut.run()
    }

    fn remove_stray_snapshots(&mut self) -> Result<()> {
        if self.producers.snapshot_offsets().is_empty() {
            return Ok(());
        }
        let bases: Vec<Offset> = self.segments.all().map(Segment::base_offset).collect();
        self.producers
            .remove_stray_snapshots(&**self.dir.fs(), self.dir.path(), &bases)
    }

    /// Reads all batches of one segment and rebuilds indexes, epochs and producer state from them. Returns where and
    /// why the log must be cut, if it must.
    fn check_segment(&mut self, at: usize, next_base: Option<Offset>, buffer: &mut Vec<u8>) -> Result<Option<Ending>> {
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
                    let progress = self.args.progress;
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
    /// (`Log::roll`). An unreadable cleaner checkpoint counts as compacted, so that the batches behind a gap are kept.
    fn was_compacted(&self, at: usize, next_base: Offset, has_holes: bool) -> Result<bool> {
        let is_durable = next_base <= self.offsets.recovery_point();
        if self.config.is_compacted && (has_holes || is_durable || !self.args.extent.is_listed) {
            return Ok(true);
        }
        let Some((segment, log_dir)) = self.segments.get(at).zip(self.dir.path().parent()) else {
            return Ok(false);
        };
        match read_offset_checkpoint(&**self.dir.fs(), &log_dir.join(CLEANER_OFFSET_CHECKPOINT)) {
            Ok(cleaned) => Ok(cleaned
                .iter()
                .any(|(partition, end)| partition == self.dir.partition() && *end > segment.base_offset())),
            Err(Error::BadFormat { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Checks, after the log has been read, that it has all records that it must have. `orphans` are the base offsets
    /// of segments of which only index files are left.
    fn check_extent(&mut self, orphans: &[Offset]) -> Result<()> {
        let (end, must_reach) = (self.offsets.end(), self.args.must_reach());
        let path = Arc::clone(self.segments.active().log());
        if end < must_reach {
            self.lost(&path.path, self.args.short_of(end), true)?;
        }
        self.check_first_segment(orphans)?;
        let high_watermark = self.args.extent.high_watermark;
        let is_said = self.report.is_short || self.report.is_accepted;
        if end < high_watermark && self.args.extent.on_loss != OnLoss::Ignore && !is_said {
            let text = format!(
                "{}: {}: it ends at offset {end}, but its high watermark was {high_watermark}: {} records (offsets \
                 {end} to {}) that were acknowledged are gone",
                self.dir.partition(),
                path.path.display(),
                high_watermark - end,
                high_watermark - 1
            );
            self.report.notes.push(Note::loss(text));
        }
        Ok(())
    }

    /// Checks that the first segments are not gone: the broker raises the log start offset before it deletes a segment.
    fn check_first_segment(&mut self, orphans: &[Offset]) -> Result<()> {
        let args = self.args;
        let first = self.segments.first().base_offset();
        let orphan = orphans.first().copied().filter(|orphan| *orphan < first);
        let known = args.extent.closed.map(|closed| closed.first_base).or(orphan);
        let Some(known) = known.filter(|known| *known < first && first > args.log_start()) else {
            return Ok(());
        };
        let from = known.max(args.log_start());
        let [path, ..] = Segment::paths(self.dir.path(), known);
        let reason = format!(
            "it is missing, and the log begins at offset {first}: {} records (offsets {from} to {}) are missing",
            first - from,
            first - 1
        );
        self.lost(&path, reason, false)
    }

    /// The place of the segment from which on every batch must be read: the first of the `below` sealed segments whose
    /// file changed after the checkpoint was written, which the broker never does, or else `below`.
    fn first_changed(&self, below: usize) -> Result<usize> {
        let Some(written_ms) = self.args.extent.checkpoint_ms else {
            return Ok(below);
        };
        for (at, segment) in self.segments.all().enumerate().take(below) {
            let path = &segment.log().path;
            let metadata = self.dir.fs().metadata(path);
            let metadata = metadata.map_err(|error| Error::io("stat", path, error))?;
            if metadata.modified_ms > written_ms {
                return Ok(at);
            }
        }
        Ok(below)
    }

    /// Checks that each of the first `count` segments, which are durable, ends where the next one begins; only
    /// compaction leaves gaps.
    fn check_sealed(&mut self, count: usize) -> Result<()> {
        for at in 0..count {
            let (Some(segment), Some(next)) = (self.segments.get(at), self.segments.get(at + 1)) else {
                break;
            };
            let (next_base, segment_end, file) = (next.base_offset(), segment.end(), Arc::clone(segment.log()));
            let mut end = segment.base_offset();
            let mut scan = segment.scan(segment.start_for(&**self.dir.fs(), Offset::MAX)?);
            let damage = loop {
                match scan.next_header() {
                    Ok(Some((_, header))) => end = header.next_offset(),
                    Ok(None) => break None,
                    Err(Error::CorruptFile { reason, .. }) => break Some(reason),
                    Err(error) => return Err(error),
                }
            };
            let position = scan.position();
            let has_gap = end < next_base && !self.was_compacted(at, next_base, false)?;
            if damage.is_none() && position == segment_end && !has_gap {
                continue;
            }
            let what = damage.unwrap_or_else(|| "it ends there".to_owned());
            let reason = format!(
                "position {position}: {what}; offset {end} and what follows up to the next segment, {next_base}, were \
                 durable: {} records (offsets {end} to {}) are missing",
                next_base - end,
                next_base - 1
            );
            self.offsets.end_at(end);
            self.lost(&file.path, reason, false)?;
        }
        Ok(())
    }
    /// Reports that durable records behind the log's present end are gone.
    fn lost(&mut self, path: &Path, reason: String, is_short: bool) -> Result<()> {
        let loss = Loss {
            partition: self.dir.partition(),
            path,
            log_end_offset: self.offsets.end(),
            is_short,
            reason,
        };
        loss.judge(self.args, &mut self.report)
    }

    /// The parts, which agree now.
    fn finish(mut self, mut syncs: Syncs) -> Result<Opened> {
        let (start, end) = (self.offsets.start(), self.offsets.end());
        if end < start {
            let note = cut::keep_all(&self.dir, &self.segments, start, end, self.args)?;
            self.report.notes.extend(note);
        }
        self.offsets.distrust_from(end);
        self.epochs.truncate_from_end(end);
        self.epochs.truncate_from_start(start);
        let mut contents = Contents::new(self.dir, self.segments, self.offsets, self.epochs, self.producers);
        if end < start {
            contents.restart_at(start, self.now_ms)?;
            syncs.note_name();
        }
        Ok(Opened {
            contents,
            syncs,
            report: self.report,
        })
    }
}

fn note_recovered(
    header: &BatchHeader,
    control: Option<ControlRecord>,
    segment: &mut Segment,
    epochs: &mut EpochCache,
    producers: &mut ProducerState,
) {
    if epochs
        .latest_epoch()
        .is_none_or(|latest| header.partition_leader_epoch > latest)
    {
        epochs.assign(header.partition_leader_epoch, header.base_offset);
    }
    if let Some(aborted) = producers.update(header, control).and_then(CompletedTxn::aborted) {
        segment.txn_index.append(&aborted);
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

#[cfg(test)]
mod tests;
