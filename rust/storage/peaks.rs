//! The sealed segments whose greatest timestamp exceeds that of all segments before them: a binary search over these
//! *peaks* finds the segment of a timestamp.
//!
//! The first segment whose greatest timestamp is late enough is always a peak, so only peaks are kept. Where timestamps
//! rise from segment to segment, every segment is a peak. [`Peaks`] covers the sealed segments behind the segment that
//! holds the log start offset; the active segment changes with every append, so lookups check it separately.
//!
//! Invariant: base offsets and timestamps both ascend strictly. The first lookup (`super::lookup`) builds the peaks,
//! and `super::segments` keeps and drops them. Never reads a file.

use std::collections::VecDeque;

use base::place::Offset;

/// A segment's base offset and its greatest timestamp.
type Peak = (Offset, i64);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Peaks(VecDeque<Peak>);

impl Peaks {
    /// Adds a segment that lies behind all covered segments.
    pub(super) fn push_back(&mut self, (base_offset, timestamp): Peak) {
        if self.0.back().is_none_or(|last| timestamp > last.1) {
            self.0.push_back((base_offset, timestamp));
        }
    }

    /// Drops the peaks of the segments up to the segment at `base_offset`.
    pub(super) fn drop_front(&mut self, base_offset: Offset) {
        while self.0.front().is_some_and(|first| first.0 <= base_offset) {
            self.0.pop_front();
        }
    }

    /// The base offset of the first peak.
    pub(super) fn first(&self) -> Option<Offset> {
        self.0.front().map(|first| first.0)
    }

    /// Puts the peaks of the segments before the first peak in front of it. The order stays: these segments were no
    /// peaks because a dropped peak was at least as late, and the first peak is later than the dropped one.
    pub(super) fn put_in_front(&mut self, mut uncovered: Self) {
        uncovered.0.append(&mut self.0);
        *self = uncovered;
    }

    /// The base offset of the first segment whose greatest timestamp is at least `timestamp`.
    pub(super) fn first_at_least(&self, timestamp: i64) -> Option<Offset> {
        let at = self.0.partition_point(|peak| peak.1 < timestamp);
        self.0.get(at).map(|peak| peak.0)
    }

    /// The first segment with the greatest timestamp.
    pub(super) fn greatest(&self) -> Option<Offset> {
        self.0.back().map(|last| last.0)
    }
}
