//! What a log holds: its segments, its offsets, and the leader epochs and producers that follow from its batches.
//!
//! The four change together, and only here once the log is open: every call leaves them in agreement, or says which
//! call must come next. Invariants: those of [`Segments`] and [`Offsets`]; log start offset ≤ recovery point's
//! segment's end ≤ log end offset; offsets below the log end offset are in the files completely; the producers are
//! those of the batches up to the log end offset, the epochs those of the batches from the log start offset to the log
//! end offset.
//!
//! Whether the log may be written is not known here ([`super::log::Log`] checks it before it calls), and nothing here
//! syncs.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::LogContext;
use super::leader_epochs::{EpochCache, EpochFlush};
use super::offsets::Offsets;
use super::partition_dir::PartitionDir;
use super::producer_state::{CompletedTxn, ProducerState};
use super::replay::replay_producers;
use super::segment::Segment;
use super::segments::Segments;
use super::state_file::Durability;
use super::topic_partition::TopicPartition;
use super::wait::Wait;
use ::io::FileSystem;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset, Position};
use index::AbortedTxn;
use record::{BatchHeader, ControlRecord};

/// A batch with its final offsets, which is written or about to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedBatch {
    pub(super) header: BatchHeader,
    /// The control record of a control batch.
    pub(super) control: Option<ControlRecord>,
    /// The version of transactions that a marker was written for; 0 for data, and where it is not known.
    pub(super) transaction_version: i16,
}

/// See the module.
pub struct Contents {
    dir: PartitionDir,
    segments: Segments,
    offsets: Offsets,
    epochs: EpochCache,
    producers: ProducerState,
}

impl Contents {
    /// Nothing, from offset 0 on. Touches no file.
    pub(super) fn empty(context: &LogContext, dir: &Path, partition: TopicPartition) -> Self {
        let segment = Segment::unmade(dir, Offset(0), context.clock.now_ms());
        Self {
            dir: PartitionDir::new(&context.fs, dir, partition),
            segments: Segments::new(segment),
            offsets: Offsets::default(),
            epochs: EpochCache::default(),
            producers: ProducerState::new(context.producers),
        }
    }

    /// The parts must agree.
    pub(super) fn new(
        dir: PartitionDir,
        segments: Segments,
        offsets: Offsets,
        epochs: EpochCache,
        producers: ProducerState,
    ) -> Self {
        Self {
            dir,
            segments,
            offsets,
            epochs,
            producers,
        }
    }

    /// Where the files are.
    pub fn dir(&self) -> &PartitionDir {
        &self.dir
    }

    /// The segments.
    #[inline]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Start, end, recovery point and first dirty offset.
    #[inline]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The leader epochs.
    pub fn epochs(&self) -> &EpochCache {
        &self.epochs
    }

    /// The producers.
    pub fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// The producers, to expire or verify them.
    pub(super) fn producers_mut(&mut self) -> &mut ProducerState {
        &mut self.producers
    }

    pub(super) fn fs(&self) -> &dyn FileSystem {
        &**self.dir.fs()
    }

    /// The first offset of the log's files: the log start offset or one before it. Records between the two are deleted
    /// for readers, but the producer state still counts them (KIP-360): else a repeated batch would pass as a new one.
    fn first_offset(&self) -> Offset {
        self.segments.first().base_offset().min(self.offsets.start())
    }

    /// Up to where a `read_committed` reader may read. Of an open transaction whose first records are deleted, only the
    /// records from the log start offset on hold readers back.
    pub fn last_stable_offset(&self, high_watermark: Offset) -> Offset {
        let unstable = self.producers.first_unstable_offset(high_watermark);
        unstable.map_or(high_watermark, |first| {
            first.max(self.offsets.start()).min(high_watermark)
        })
    }

    /// The transactions whose records a `read_committed` reader of `from..to` must skip.
    pub fn aborted_transactions(&self, from: Offset, to: Offset, wait: Wait) -> Result<Vec<AbortedTxn>> {
        let mut found = Vec::new();
        for segment in self.segments.all_from(self.segments.place_of(from)) {
            if wait == Wait::No {
                segment.txn_index.check_at_hand()?;
            }
            if segment.txn_index.collect(self.fs(), from, to, &mut found)? {
                break;
            }
        }
        Ok(found)
    }

    /// The error for a read at `offset`, which the log does not hold.
    pub(super) fn out_of_range(&self, offset: Offset) -> Error {
        let (start, end, partition) = (self.offsets.start(), self.offsets.end(), self.dir.partition());
        let message = format!(
            "Received request for offset {offset} for partition {partition}, but we only have log segments from offset \
             {start} up to {end}."
        );
        Error::rejected(ErrorCode::OFFSET_OUT_OF_RANGE, message)
    }

    /// Notes the start of a leader's term at the log's end, before its first append.
    pub(super) fn begin_epoch(&mut self, leader_epoch: LeaderEpoch) {
        self.epochs.assign(leader_epoch, self.offsets.end());
    }

    /// Makes the file of the one segment of a log that was never written.
    pub(super) fn make_file(&mut self) -> Result<()> {
        self.segments.active_mut().make_file(&**self.dir.fs())
    }

    /// Writes batches with one call into the active segment, then notes each. `run` has the batches in `bytes`.
    /// `Err((error, true))`: the segment could not be cut back, and must not be written again.
    pub(super) fn append(
        &mut self,
        bytes: &[u8],
        run: &[PlacedBatch],
        index_interval_bytes: u32,
    ) -> Result<(), (Error, bool)> {
        let active = self.segments.active_mut();
        active
            .write_index_batch(&**self.dir.fs())
            .map_err(|error| (error, false))?;
        let mut position = active.append(bytes)?;
        for batch in run {
            self.note(batch, position, index_interval_bytes);
            position += batch.header.size_bytes() as u64;
        }
        Ok(())
    }

    fn note(&mut self, batch: &PlacedBatch, position: Position, index_interval_bytes: u32) {
        let header = &batch.header;
        self.segments.note(header, position, index_interval_bytes);
        self.offsets.end_at(header.next_offset());
        self.note_epoch(header.partition_leader_epoch, header.base_offset);
        let version = batch.transaction_version;
        let completed = self.producers.update_as_leader(header, batch.control, version);
        if let Some(aborted) = completed.and_then(CompletedTxn::aborted) {
            self.segments.active_mut().txn_index.append(&aborted);
        }
    }

    fn note_epoch(&mut self, epoch: LeaderEpoch, base_offset: Offset) {
        if Some(epoch) != self.epochs.latest_epoch() {
            self.epochs.assign(epoch, base_offset);
        }
    }

    /// Completes the files of the active segment and takes a snapshot of the producers at `end`. May be repeated: it
    /// changes nothing that an append relies on.
    pub(super) fn prepare_roll(&mut self, end: Offset) -> Result<()> {
        self.segments.active_mut().write_indexes(&**self.dir.fs())?;
        self.take_snapshot(end)
    }

    /// As [`Self::prepare_roll`], for a log that closes. The index files of an empty segment hold nothing: the next
    /// start does without them.
    pub(super) fn prepare_close(&mut self) -> Result<()> {
        if self.segments.active().size() > 0 {
            return self.prepare_roll(self.offsets.end());
        }
        self.segments.active_mut().write_pending(&**self.dir.fs())?;
        self.take_snapshot(self.offsets.end())
    }

    fn take_snapshot(&mut self, offset: Offset) -> Result<()> {
        let (fs, path) = (&**self.dir.fs(), self.dir.path());
        self.producers
            .take_snapshot(fs, path, offset, Durability::Lazy)
            .map(drop)
    }

    /// Seals the active segment and begins the next one at `base_offset`. The old segment's files are complete then,
    /// and not synced. Every step may be repeated: a roll that failed half-way changes nothing that an append relies
    /// on.
    pub(super) fn roll_to(&mut self, base_offset: Offset, now_ms: i64) -> Result<()> {
        self.prepare_roll(base_offset)?;
        let fs = &**self.dir.fs();
        let segment = Segment::create(fs, self.dir.path(), base_offset, now_ms)?;
        self.segments.active_mut().seal();
        self.segments.push(fs, segment, self.offsets.start());
        Ok(())
    }

    /// Makes `segment`, whose file has its name already, the active one, and notes its batches. It begins at the log's
    /// end, and takes the place of the active segment when that one is empty.
    pub(super) fn take_in(&mut self, mut segment: Segment, batches: impl Iterator<Item = BatchHeader>) {
        let fs = Arc::clone(self.dir.fs());
        if segment.base_offset() == self.segments.active().base_offset() {
            // It knows whether a file of that name is to be cut.
            std::mem::swap(&mut segment.txn_index, &mut self.segments.active_mut().txn_index);
            self.segments.replace_active(segment).log().file.retire();
        } else {
            self.segments.active_mut().seal();
            self.segments.push(&*fs, segment, self.offsets.start());
        }
        for header in batches {
            self.note_epoch(header.partition_leader_epoch, header.base_offset);
            self.offsets.end_at(header.next_offset());
            self.producers.update(&header, None);
        }
    }

    /// Raises the log start offset; returns whether it moved.
    pub(super) fn raise_start(&mut self, offset: Offset) -> bool {
        if !self.offsets.raise_start(offset) {
            return false;
        }
        self.segments.on_log_start_offset_incremented(&**self.dir.fs(), offset);
        self.epochs.truncate_from_start(offset);
        self.producers.on_log_start_offset_incremented(offset);
        true
    }

    /// Raises the log start offset past the `count` oldest segments and drops them; the active segment is none of
    /// them. Their files, and the snapshots at their base offsets, are renamed to `.deleted`; returns the paths.
    pub(super) fn delete_oldest(&mut self, count: usize) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        if count > 0 {
            let next = self.segments.get(count).map(Segment::base_offset);
            self.raise_start(next.unwrap_or(self.offsets.end()));
        }
        for _ in 0..count {
            let (fs, first) = (&**self.dir.fs(), self.segments.first());
            let base_offset = first.base_offset();
            let names = fs.hold_names();
            paths.extend(self.dir.set_aside(base_offset, &*first.log().file)?);
            drop(names);
            let snapshot = self.producers.mark_snapshot_deleted(fs, self.dir.path(), base_offset)?;
            paths.extend(snapshot);
            self.segments.remove_first();
        }
        Ok(paths)
    }

    /// Puts `new`, whose files have the suffix `from`, in the place of the sealed segments in `old`. Their files, and
    /// the snapshots at base offsets that are no segment's any more, are renamed to `.deleted` before `new` gets its
    /// real names; returns their paths. The caller holds the names. `None` when [`Segments::replace`] refuses; then,
    /// and after an error, memory and disk differ.
    pub(super) fn replace(&mut self, old: Range<Offset>, mut new: Segment, from: &str) -> Result<Option<Vec<PathBuf>>> {
        let fs = &**self.dir.fs();
        let mut paths = Vec::new();
        let replaced = self.segments.sealed_from(self.segments.place_of(old.start));
        let replaced = replaced.iter().take_while(|segment| segment.base_offset() < old.end);
        for (at, segment) in replaced.enumerate() {
            let base_offset = segment.base_offset();
            paths.extend(self.dir.set_aside(base_offset, &*segment.log().file)?);
            if at > 0 {
                let snapshot = self.producers.mark_snapshot_deleted(fs, self.dir.path(), base_offset)?;
                paths.extend(snapshot);
            }
        }
        new.rename_suffix(fs, from, "")?;
        Ok(self.segments.replace(old, vec![new]).is_ok().then_some(paths))
    }

    /// Lowers the recovery point to `offset`, before the records from there on are cut off.
    pub(super) fn distrust_from(&mut self, offset: Offset) {
        self.offsets.distrust_from(offset);
    }

    /// Drops the epochs that begin at the log's end: their leaders wrote nothing, and a follower that asks the leader
    /// for the end of such an epoch would get the same answer for ever.
    pub(super) fn drop_empty_epochs(&mut self) {
        self.epochs.truncate_from_end(self.offsets.end());
    }

    /// Removes every batch that holds `offset` or a later offset, from the end backwards, so that a crash leaves a
    /// shorter log and never a hole. Returns the end of the batches that are left, which may lie below `offset`; then
    /// [`Self::end_at`] must follow.
    pub(super) fn cut_batches(&mut self, offset: Offset, now_ms: i64) -> Result<Offset> {
        self.segments.forget_batches();
        while self.segments.count() > 1 && self.segments.active().base_offset() > offset {
            self.dir.unlink(self.segments.active())?;
            self.segments.pop();
        }
        let fs = &**self.dir.fs();
        let active = self.segments.active_mut();
        active.unseal(fs)?;
        active.truncate_to(fs, offset, now_ms)
    }

    /// Follows [`Self::cut_batches`]: offsets, epochs and producers are those of the batches that are left.
    pub(super) fn end_at(&mut self, end: Offset, now_ms: i64) -> Result<()> {
        self.offsets.cut_to(end);
        self.epochs.truncate_from_end(end);
        let first = self.first_offset();
        let fs = &**self.dir.fs();
        self.producers
            .truncate_and_reload(fs, self.dir.path(), first, end, now_ms)?;
        replay_producers(&mut self.producers, &self.segments, fs, end)
    }

    /// Removes all records, from the end backwards, and starts an empty log at `offset`.
    pub(super) fn restart_at(&mut self, offset: Offset, now_ms: i64) -> Result<()> {
        self.segments.forget_batches();
        loop {
            self.dir.unlink(self.segments.active())?;
            if self.segments.pop().is_none() {
                break;
            }
        }
        let (fs, path) = (&**self.dir.fs(), self.dir.path());
        self.segments.restart(Segment::create(fs, path, offset, now_ms)?);
        self.offsets.restart_at(offset);
        self.epochs.clear();
        self.producers.truncate_fully_and_start_at(fs, path, offset)
    }

    /// The file of the epochs is on disk.
    pub(super) fn complete_epochs(&mut self, epochs: &EpochFlush) {
        self.epochs.complete_flush(epochs);
    }

    /// Raises the recovery point after everything below `offset` was synced.
    pub(super) fn flushed_to(&mut self, offset: Offset) {
        self.offsets.flushed_to(offset);
    }

    /// Sets the first dirty offset, to the log end offset at most.
    pub(super) fn cleaned_to(&mut self, offset: Option<Offset>) {
        let end = self.offsets.end();
        self.offsets.cleaned_to(offset.map(|offset| offset.min(end)));
    }

    /// Renames the directory within its parent directory. Open files stay as they are.
    pub(super) fn rename_dir(&mut self, to: &Path) -> Result<()> {
        let fs = Arc::clone(self.dir.fs());
        let _names = fs.hold_names();
        self.dir.rename_to(to)?;
        self.segments.move_to(to);
        Ok(())
    }
}
