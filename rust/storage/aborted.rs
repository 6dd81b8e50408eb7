//! The aborted transactions that a `read_committed` reader of a slice must skip.
//!
//! A slice may end long before the last stable offset; the next read gets the transactions behind it. The slice's end
//! offset is not known without reading the slice, so the segment's index gives an upper bound: the offset of the first
//! entry at or after the slice's end position. As with reads, [`Log::plan_aborted`] runs under the log's lock and
//! touches memory only, but for an index that is not in memory, and [`AbortedPlan::resolve`] reads without the lock. An
//! index entry is believed only when the batch at its position ends with its offset: a damaged index may add
//! transactions to the answer, and never leaves one out.

use std::sync::Arc;

use super::header_scan::believed;
use super::log::Log;
use super::read::FileSlice;
use super::segment::SegmentFile;
use super::wait::Wait;
use base::error::Result;
use base::place::{Offset, Position};
use index::{AbortedTxn, OffsetPosition};

/// See the module.
pub struct AbortedPlan {
    /// The aborted transactions from the read's offset to the end of the slice's segment.
    found: Vec<AbortedTxn>,
    behind: Option<Behind>,
}

/// A batch behind the slice.
struct Behind {
    log: Arc<SegmentFile>,
    end: Position,
    entry: OffsetPosition,
    wait: Wait,
}

impl Log {
    /// Plans the lookup for the slice that was read from `offset` below `upper_bound` (exclusive).
    /// `OFFSET_OUT_OF_RANGE` when the log start offset has passed `offset` since the read: the index entries of its
    /// transactions may be deleted. `here` and `resolve` say whether this call may wait for the indexes and
    /// [`AbortedPlan::resolve`] for the batch; a read that would wait fails with [`Error::NotAtHand`].
    ///
    /// [`Error::NotAtHand`]: base::error::Error::NotAtHand
    pub fn plan_aborted(
        &self,
        offset: Offset,
        upper_bound: Offset,
        slice: &FileSlice,
        (here, resolve): (Wait, Wait),
    ) -> Result<AbortedPlan> {
        if offset < self.offsets.start() {
            return Err(self.out_of_range(offset));
        }
        if slice.len == 0 {
            return Ok(AbortedPlan {
                found: Vec::new(),
                behind: None,
            });
        }
        let at = self.segments.place_of(slice.base_offset);
        let segment = self.segments.at(at);
        if !Arc::ptr_eq(&segment.log().file, &slice.file) {
            // The slice is of the log as it was before a move to another log directory, with other segment files.
            return Ok(AbortedPlan {
                found: self.aborted_at(offset, upper_bound, here)?,
                behind: None,
            });
        }
        let segment_end = self.segments.next_base(at).unwrap_or(self.offsets.end());
        let found = self.aborted_at(offset, upper_bound.min(segment_end), here)?;
        let behind = if found.is_empty() {
            None
        } else {
            let end = slice.position + slice.len as u64;
            if here == Wait::No {
                segment.offset_index.check_position_at_hand(end)?;
            }
            let entry = segment.offset_index.first_from_position(&*self.context.fs, end)?;
            entry.map(|entry| Behind {
                log: Arc::clone(segment.log()),
                end: segment.end(),
                entry,
                wait: resolve,
            })
        };
        Ok(AbortedPlan { found, behind })
    }
}

impl AbortedPlan {
    /// The transactions, in the order of their markers.
    pub fn resolve(mut self) -> Result<Vec<AbortedTxn>> {
        if let Some(Behind { log, end, entry, wait }) = self.behind
            && believed(&*log.file, &log.path, entry, end, wait)? > Position::START
        {
            self.found.retain(|aborted| aborted.first_offset < entry.offset);
        }
        Ok(self.found)
    }
}
