//! The positions of the last batches of the active segment: a consumer at the log's end needs no index lookup.
//!
//! Memory only. [`super::segments`] forgets them when another segment becomes active and when a truncation begins.

use base::place::{Offset, Position};
use record::BatchHeader;

const REMEMBERED: usize = 8;

/// A batch and its place in the segment's file.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastBatch {
    /// First offset.
    pub base_offset: Offset,
    /// The offset behind the last one.
    pub next_offset: Offset,
    /// The position where the batch begins.
    pub position: Position,
    /// Its bytes.
    pub size: u64,
}

impl LastBatch {
    /// The batch that begins at `position`.
    #[inline]
    pub fn of(header: &BatchHeader, position: Position) -> Self {
        Self {
            base_offset: header.base_offset,
            next_offset: header.next_offset(),
            position,
            size: header.size_bytes() as u64,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct LastBatches {
    batches: [LastBatch; REMEMBERED],
    pushed: usize,
}

impl LastBatches {
    /// Adds the batch that was appended last.
    #[inline]
    pub fn push(&mut self, header: &BatchHeader, position: Position) {
        self.batches[self.pushed % REMEMBERED] = LastBatch::of(header, position);
        self.pushed += 1;
    }

    /// The batch that holds `offset`, when it is one of the last.
    pub fn find(&self, offset: Offset) -> Option<LastBatch> {
        let used = self.batches.get(..self.pushed.min(REMEMBERED)).unwrap_or_default();
        used.iter()
            .find(|batch| (batch.base_offset..batch.next_offset).contains(&offset))
            .copied()
    }
}
