//! Where a log starts, where it ends, and below which offset it is durable.
//!
//! Invariants of an open log: log start offset ≤ log end offset, recovery point ≤ log end offset. While a log is opened
//! the end grows from segment to segment and may lie below both. Numbers in memory only; what makes them true is the
//! caller's.

/// See the module.
#[derive(Debug, Default)]
pub struct Offsets {
    start: i64,
    end: i64,
    recovery_point: i64,
}

impl Offsets {
    /// The first offset that may be read.
    #[inline]
    pub fn start(&self) -> i64 {
        self.start
    }

    /// The offset that the next record gets.
    #[inline]
    pub fn end(&self) -> i64 {
        self.end
    }

    /// Everything below is on disk.
    #[inline]
    pub fn recovery_point(&self) -> i64 {
        self.recovery_point
    }

    /// The log ends before `end`: batches up to it were appended, or found.
    #[inline]
    pub fn end_at(&mut self, end: i64) {
        self.end = end;
    }

    /// The log starts at `start`, by what is known while it is opened.
    pub fn start_at(&mut self, start: i64) {
        self.start = start;
    }

    /// Everything below `offset` counts as durable, and nothing above: that is what a checkpoint or a clean stop says
    /// while the log is opened.
    pub fn trust_to(&mut self, offset: i64) {
        self.recovery_point = offset;
    }

    /// Records below `start` are deleted; false when they were before.
    pub fn raise_start(&mut self, start: i64) -> bool {
        let is_higher = start > self.start;
        self.start = self.start.max(start);
        is_higher
    }

    /// Everything below `offset` was synced. A log that was cut meanwhile is durable up to its end at most.
    pub fn flushed_to(&mut self, offset: i64) {
        self.recovery_point = self.recovery_point.max(offset).min(self.end);
    }

    /// What stands at `offset` and behind it is about to be cut off.
    pub fn distrust_from(&mut self, offset: i64) {
        self.recovery_point = self.recovery_point.min(offset);
    }

    /// Everything from `end` on was cut off.
    pub fn cut_to(&mut self, end: i64) {
        self.end = end;
        self.start = self.start.min(end);
        self.recovery_point = self.recovery_point.min(end);
    }

    /// The log is empty and starts at `offset`.
    pub fn start_anew_at(&mut self, offset: i64) {
        *self = Self {
            start: offset,
            end: offset,
            recovery_point: offset,
        };
    }
}
