//! Which sealed segments are later than all before them: the segment of a timestamp in a binary search. spec: R4.3
//!
//! The first segment whose greatest timestamp is late enough is always such a *peak*: a running maximum rises there. So
//! only peaks are kept, and where time goes on from segment to segment each one is. It covers the sealed segments
//! behind the one that holds the log start offset; the active one changes with every append and is looked at by itself.
//!
//! Invariant: base offsets and timestamps both ascend strictly. Made at the first lookup (`super::lookup`), kept and
//! thrown away by `super::segments`. Never reads a file.

use std::collections::VecDeque;

/// A segment's base offset and its greatest timestamp.
type Peak = (i64, i64);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Peaks(VecDeque<Peak>);

impl Peaks {
    /// A segment behind all of them.
    pub(super) fn push_back(&mut self, (base_offset, timestamp): Peak) {
        if self.0.back().is_none_or(|last| timestamp > last.1) {
            self.0.push_back((base_offset, timestamp));
        }
    }

    /// The segments up to the one at `base_offset` are covered no more.
    pub(super) fn drop_front(&mut self, base_offset: i64) {
        while self.0.front().is_some_and(|first| first.0 <= base_offset) {
            self.0.pop_front();
        }
    }

    /// The base offset of the first one.
    pub(super) fn first(&self) -> Option<i64> {
        self.0.front().map(|first| first.0)
    }

    /// Puts the peaks of the segments before the first one in front: what went away was later than they are, and the
    /// first one is later still.
    pub(super) fn put_in_front(&mut self, mut uncovered: Self) {
        uncovered.0.append(&mut self.0);
        *self = uncovered;
    }

    /// The base offset of the first segment with such a timestamp or a later one.
    pub(super) fn first_at_least(&self, timestamp: i64) -> Option<i64> {
        let at = self.0.partition_point(|peak| peak.1 < timestamp);
        self.0.get(at).map(|peak| peak.0)
    }

    /// The first segment with the greatest timestamp.
    pub(super) fn greatest(&self) -> Option<i64> {
        self.0.back().map(|last| last.0)
    }
}
