//! Deleting old segments: by time, by size, and below the log start offset.
//!
//! Deletes whole segments only, the oldest first, and never a segment that reaches above the high watermark. Files are
//! renamed to `.deleted` at once and unlinked later by a [`Deletion`], so that readers can finish. A start removes
//! `.deleted` files that are left.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{DELETED_SUFFIX, with_suffix};
use super::log::Log;
use super::patience::patiently;
use super::segment::Segment;
use super::state_file;
use ::io::FileSystem;
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;

/// Files that are out of use and can be unlinked from `due_ms` on.
#[must_use = "the files stay on disk until they are unlinked"]
pub struct Deletion {
    fs: Arc<dyn FileSystem>,
    paths: Vec<PathBuf>,
    segments: usize,
    due_ms: i64,
}

impl Deletion {
    /// Of files that were renamed to `.deleted` at `now_ms`, which belonged to so many segments.
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        paths: Vec<PathBuf>,
        segments: usize,
        now_ms: i64,
        delay_ms: i64,
    ) -> Self {
        Self {
            fs,
            paths,
            segments,
            due_ms: now_ms.saturating_add(delay_ms),
        }
    }

    /// How many segments were deleted.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// The time when `file.delete.delay.ms` is over, in ms.
    pub fn due_ms(&self) -> i64 {
        self.due_ms
    }

    /// Unlinks the files. May wait.
    pub fn run(self) -> Result<()> {
        self.paths
            .iter()
            .try_for_each(|path| patiently(&*self.fs, || state_file::remove(&*self.fs, path)))
    }
}

impl Log {
    /// Raises the log start offset (for `DeleteRecords`, or to the leader's log start offset); returns whether it
    /// moved. `OFFSET_OUT_OF_RANGE` above the high watermark. The next [`Self::delete_old_segments`] deletes the
    /// segments.
    pub fn advance_log_start_offset(&mut self, offset: Offset, high_watermark: Offset) -> Result<bool> {
        self.settle()?;
        if offset > high_watermark {
            let partition = &self.topic_partition;
            let message = format!(
                "Cannot increment the log start offset to {offset} of partition {partition} since it is larger than \
                 the high watermark {high_watermark}"
            );
            return Err(Error::rejected(ErrorCode::OFFSET_OUT_OF_RANGE, message));
        }
        if !self.offsets.raise_start(offset) {
            return Ok(false);
        }
        self.segments.on_log_start_offset_incremented(&*self.context.fs, offset);
        self.epochs.truncate_from_start(offset);
        self.producers.on_log_start_offset_incremented(offset);
        Ok(true)
    }

    /// Deletes the segments that retention no longer keeps: those below the log start offset, then those beyond
    /// `retention.bytes`, then of the rest those past `retention.ms`. When `cleanup.policy` lacks `delete`, only the
    /// first of these.
    pub fn delete_old_segments(&mut self, now_ms: i64, high_watermark: Offset) -> Result<Deletion> {
        self.settle()?;
        let mut count = self.below_log_start(high_watermark);
        if self.config.is_deleted {
            count = count.max(self.past_retention_bytes(high_watermark));
            count = self.past_retention_ms(now_ms, high_watermark, count)?;
        }
        let mut deletion = Deletion::new(self.fs(), Vec::new(), 0, now_ms, self.config.file_delete_delay_ms);
        if count == 0 {
            return Ok(deletion);
        }
        if count == self.segments.count() {
            self.roll_to(self.offsets.end(), now_ms)?;
        }
        let new_start = self
            .segments
            .get(count)
            .map_or(self.offsets.end(), Segment::base_offset);
        self.advance_log_start_offset(new_start, high_watermark)?;
        for _ in 0..count {
            self.delete_first(&mut deletion)?;
        }
        Ok(deletion)
    }

    fn delete_first(&mut self, deletion: &mut Deletion) -> Result<()> {
        let first = self.segments.first();
        let (base_offset, fs) = (first.base_offset(), self.fs());
        let names = fs.hold_names();
        for path in Segment::paths(&self.dir, base_offset) {
            deletion.paths.extend(rename_to_deleted(&*fs, &path)?);
            first.log().file.retire(); // the first of the paths is its own
        }
        drop(names);
        let snapshot = self
            .producers
            .mark_snapshot_deleted(&*self.context.fs, &self.dir, base_offset)?;
        deletion.paths.extend(snapshot);
        self.segments.remove_first();
        deletion.segments += 1;
        Ok(())
    }

    /// How many of the oldest segments lie below the high watermark and satisfy `is_old`, which the first `known` do;
    /// never counts an empty active segment.
    fn oldest(
        &self,
        high_watermark: Offset,
        known: usize,
        mut is_old: impl FnMut(&Segment, Option<&Segment>) -> Result<bool>,
    ) -> Result<usize> {
        let mut count = known;
        for (at, segment) in self.segments.all().enumerate().skip(known) {
            let next = self.segments.get(at + 1);
            let end = next.map_or(self.offsets.end(), Segment::base_offset);
            let is_empty_active = next.is_none() && segment.size() == 0;
            if is_empty_active || end > high_watermark || !is_old(segment, next)? {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn below_log_start(&self, high_watermark: Offset) -> usize {
        let start = self.offsets.start();
        let is_below = |_: &Segment, next: Option<&Segment>| Ok(next.is_some_and(|next| next.base_offset() <= start));
        self.oldest(high_watermark, 0, is_below).unwrap_or(0)
    }

    /// Counts `known` segments whatever their age.
    fn past_retention_ms(&self, now_ms: i64, high_watermark: Offset, known: usize) -> Result<usize> {
        let retention_ms = self.config.retention_ms;
        if retention_ms < 0 {
            return Ok(known);
        }
        self.oldest(high_watermark, known, |segment, _| {
            Ok(now_ms.saturating_sub(segment.largest_timestamp(&*self.context.fs)?) > retention_ms)
        })
    }

    fn past_retention_bytes(&self, high_watermark: Offset) -> usize {
        let (size, most) = (self.size_bytes() as i64, self.config.retention_bytes);
        if most < 0 || size < most {
            return 0;
        }
        let mut excess = size - most;
        let is_over = |segment: &Segment, _: Option<&Segment>| {
            let bytes = segment.size() as i64;
            let fits = excess >= bytes;
            excess -= if fits { bytes } else { 0 };
            Ok(fits)
        };
        self.oldest(high_watermark, 0, is_over).unwrap_or(0)
    }
}

/// Renames a file; returns its new name, or `None` when there is no such file.
pub(super) fn rename_to_deleted(fs: &dyn FileSystem, path: &Path) -> Result<Option<PathBuf>> {
    let renamed = with_suffix(path, DELETED_SUFFIX);
    match fs.rename(path, &renamed) {
        Ok(()) => Ok(Some(renamed)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("rename", path, error)),
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
