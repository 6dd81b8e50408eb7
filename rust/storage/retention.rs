//! Deleting old segments: by time, by size, and below the log start offset.
//!
//! Deletes whole segments only, the oldest first, and never a segment that reaches above the high watermark. Files are
//! renamed to `.deleted` at once and unlinked later by a [`Deletion`], so that readers can finish. A start removes
//! `.deleted` files that are left.

use std::path::PathBuf;
use std::sync::Arc;

use super::config::LogConfig;
use super::contents::Contents;
use super::patience::patiently;
use super::segment::Segment;
use super::state_file;
use ::io::FileSystem;
use base::error::Result;
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

/// How many of the oldest segments retention no longer keeps: those below the log start offset, then those beyond
/// `retention.bytes`, then of the rest those past `retention.ms`. When `cleanup.policy` lacks `delete`, only the first
/// of these.
pub(super) fn count_old(contents: &Contents, config: &LogConfig, now_ms: i64, high_watermark: Offset) -> Result<usize> {
    let retained = Retained {
        contents,
        config,
        high_watermark,
    };
    let below_start = retained.below_log_start();
    if !config.is_deleted {
        return Ok(below_start);
    }
    retained.past_retention_ms(now_ms, below_start.max(retained.past_retention_bytes()))
}

/// The segments of a log, by the rules of its topic.
struct Retained<'a> {
    contents: &'a Contents,
    config: &'a LogConfig,
    high_watermark: Offset,
}

impl Retained<'_> {
    /// How many of the oldest segments lie below the high watermark and satisfy `is_old`, which the first `known` do;
    /// never counts an empty active segment.
    fn oldest(
        &self,
        known: usize,
        mut is_old: impl FnMut(&Segment, Option<&Segment>) -> Result<bool>,
    ) -> Result<usize> {
        let mut count = known;
        let segments = self.contents.segments();
        for (at, segment) in segments.all().enumerate().skip(known) {
            let next = segments.get(at + 1);
            let end = next.map_or(self.contents.offsets().end(), Segment::base_offset);
            let is_empty_active = next.is_none() && segment.size() == 0;
            if is_empty_active || end > self.high_watermark || !is_old(segment, next)? {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn below_log_start(&self) -> usize {
        let start = self.contents.offsets().start();
        let is_below = |_: &Segment, next: Option<&Segment>| Ok(next.is_some_and(|next| next.base_offset() <= start));
        self.oldest(0, is_below).unwrap_or(0)
    }

    /// Counts `known` segments whatever their age.
    fn past_retention_ms(&self, now_ms: i64, known: usize) -> Result<usize> {
        let retention_ms = self.config.retention_ms;
        if retention_ms < 0 {
            return Ok(known);
        }
        self.oldest(known, |segment, _| {
            Ok(now_ms.saturating_sub(segment.largest_timestamp(self.contents.fs())?) > retention_ms)
        })
    }

    fn past_retention_bytes(&self) -> usize {
        let (size, most) = (
            self.contents.segments().size_bytes() as i64,
            self.config.retention_bytes,
        );
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
        self.oldest(0, is_over).unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
