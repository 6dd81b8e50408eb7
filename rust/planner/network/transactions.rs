//! Leaves the records of aborted transactions out of fetched batches, as a consumer does.
//!
//! An answer names the aborted transactions that its offsets touch, each by its producer and first offset. Where each
//! one ends, the abort marker in the log says. A transaction may go on from one answer to the next.

use std::collections::HashSet;
use std::ops::Range;

use base::place::Offset;
use record::{Batch, BatchError, ControlRecord, ControlType};

/// An aborted transaction, as Fetch names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AbortedFrom {
    pub(super) producer_id: i64,
    pub(super) first_offset: Offset,
}

/// Producers whose transaction at the current offset is aborted.
#[derive(Debug, Default)]
pub(super) struct OpenAborts(HashSet<i64>);

impl OpenAborts {
    /// Moves the batches that are committed to the front of the range; the end of what is left.
    pub(super) fn drop_aborted(
        &mut self,
        memory: &mut [u8],
        range: Range<usize>,
        mut aborted: Vec<AbortedFrom>,
    ) -> Result<usize, BatchError> {
        aborted.sort_unstable_by_key(|it| it.first_offset);
        let mut aborted = aborted.into_iter().peekable();
        let (mut at, mut end) = (range.start, range.start);
        while at < range.end {
            let Some((batch, _)) = Batch::split_first(&memory[at..range.end])? else {
                break;
            };
            let header = *batch.header();
            let size = header.size_bytes();
            while let Some(begun) = aborted.next_if(|it| it.first_offset <= header.last_offset()) {
                self.0.insert(begun.producer_id);
            }
            let is_dropped = if header.is_control() {
                let record = ControlRecord::of_batch(&batch)?;
                if record.is_some_and(|it| it.control_type == ControlType::Abort) {
                    self.0.remove(&header.producer_id);
                }
                true
            } else {
                header.is_transactional() && self.0.contains(&header.producer_id)
            };
            if !is_dropped {
                memory.copy_within(at..at + size, end);
                end += size;
            }
            at += size;
        }
        Ok(end)
    }
}

#[cfg(test)]
#[path = "transactions_tests.rs"]
mod tests;
