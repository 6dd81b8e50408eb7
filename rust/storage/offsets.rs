//! The log start offset, the log end offset, the recovery point and the first dirty offset of a log.
//!
//! Invariants of an open log: log start offset, recovery point and first dirty offset ≤ log end offset. While a log is
//! opened the log end offset grows from segment to segment and may lie below both. Numbers in memory only; the caller
//! changes the files to match.

use base::place::Offset;

/// See the module.
#[derive(Debug, Default)]
pub struct Offsets {
    start: Offset,
    end: Offset,
    recovery_point: Offset,
    /// `None` for a log that was never cleaned.
    first_dirty: Option<Offset>,
}

impl Offsets {
    /// The first offset that may be read.
    #[inline]
    pub fn start(&self) -> Offset {
        self.start
    }

    /// The offset that the next record gets.
    #[inline]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The recovery point: all records below it are on disk.
    #[inline]
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// The first dirty offset: the log is compacted below it. `None` for a log that was never cleaned. The
    /// `cleaner-offset-checkpoint` holds it.
    pub fn first_dirty(&self) -> Option<Offset> {
        self.first_dirty
    }

    /// Sets the first dirty offset, from a checkpoint or after a cleaning.
    pub fn cleaned_to(&mut self, offset: Option<Offset>) {
        self.first_dirty = offset;
    }

    /// Sets the log end offset, after batches up to `end` were appended, or found while the log is opened.
    #[inline]
    pub fn end_at(&mut self, end: Offset) {
        self.end = end;
    }

    /// Sets the log start offset while the log is opened.
    pub fn start_at(&mut self, start: Offset) {
        self.start = start;
    }

    /// Sets the recovery point while the log is opened, from a checkpoint or a clean stop.
    pub fn trust_to(&mut self, offset: Offset) {
        self.recovery_point = offset;
    }

    /// Raises the log start offset: records below `start` are deleted. Returns false when it was as high already.
    pub fn raise_start(&mut self, start: Offset) -> bool {
        let is_higher = start > self.start;
        self.start = self.start.max(start);
        is_higher
    }

    /// Raises the recovery point after everything below `offset` was synced, to the log end offset at most: the log may
    /// have been cut meanwhile.
    pub fn flushed_to(&mut self, offset: Offset) {
        self.recovery_point = self.recovery_point.max(offset).min(self.end);
    }

    /// Lowers the recovery point to `offset`: the records from there on are about to be cut off.
    pub fn distrust_from(&mut self, offset: Offset) {
        self.recovery_point = self.recovery_point.min(offset);
    }

    /// Sets the log end offset after all records from `end` on were cut off.
    pub fn cut_to(&mut self, end: Offset) {
        self.end = end;
        self.start = self.start.min(end);
        self.recovery_point = self.recovery_point.min(end);
        self.first_dirty = self.first_dirty.map(|offset| offset.min(end));
    }

    /// The log is empty and starts at `offset`.
    pub fn restart_at(&mut self, offset: Offset) {
        *self = Self {
            start: offset,
            end: offset,
            recovery_point: offset,
            first_dirty: None,
        };
    }
}
