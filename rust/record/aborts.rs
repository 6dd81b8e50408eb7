//! Leaves the records of aborted transactions out of fetched batches, as a consumer does.
//!
//! An answer names the aborted transactions that its offsets touch, each by its producer and first offset. Where each
//! one ends, the abort marker in the log says. A transaction may go on from one answer to the next.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use super::{Batch, BatchError, ControlRecord, ControlType};
use base::place::Offset;

/// An aborted transaction, as Fetch names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedFrom {
    /// Whose it is.
    pub producer_id: i64,
    /// Of its first record.
    pub first_offset: Offset,
}

/// Producers whose transaction at the current offset is aborted.
#[derive(Debug, Default)]
pub struct OpenAborts {
    open: HashSet<i64>,
    /// Those that begin later, in the order of their offsets.
    later: VecDeque<AbortedFrom>,
}

impl OpenAborts {
    /// Takes what an answer names, before its batches.
    pub fn expect(&mut self, mut aborted: Vec<AbortedFrom>) {
        aborted.sort_unstable_by_key(|it| it.first_offset);
        self.later = aborted.into();
    }

    /// Whether a consumer of committed records leaves out the next batch: its transaction was aborted, or it is a
    /// marker.
    pub fn leaves_out(&mut self, batch: &Batch<'_>) -> Result<bool, BatchError> {
        let header = batch.header();
        while let Some(begun) = self.later.pop_front_if(|it| it.first_offset <= header.last_offset()) {
            self.open.insert(begun.producer_id);
        }
        if !header.is_control() {
            return Ok(header.is_transactional() && self.open.contains(&header.producer_id));
        }
        let record = ControlRecord::of_batch(batch)?;
        if record.is_some_and(|it| it.control_type == ControlType::Abort) {
            self.open.remove(&header.producer_id);
        }
        Ok(true)
    }

    /// Moves the batches that are committed to the front of the range; the end of what is left.
    pub fn drop_aborted(
        &mut self,
        memory: &mut [u8],
        range: Range<usize>,
        aborted: Vec<AbortedFrom>,
    ) -> Result<usize, BatchError> {
        self.expect(aborted);
        let (mut at, mut end) = (range.start, range.start);
        while at < range.end {
            let Some((batch, _)) = Batch::split_first(&memory[at..range.end])? else {
                break;
            };
            let size = batch.bytes().len();
            if !self.leaves_out(&batch)? {
                memory.copy_within(at..at + size, end);
                end += size;
            }
            at += size;
        }
        Ok(end)
    }
}

#[cfg(test)]
#[path = "aborts_tests.rs"]
mod tests;
