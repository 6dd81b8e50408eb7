//! Reading: from an offset to a range of one segment's file.
//!
//! Two steps. [`Log::plan_read`] runs under the log's lock and touches memory only, but for an index that is not in
//! memory ([`Log::plan_read_at_once`] does not read that either): it finds the segment and where its index says to
//! start. [`ReadPlan::resolve`] runs without the lock and reads headers until it stands on the batch that holds the
//! offset. Usually that is one read, of 8 KB or, where batches are so large that the index names each of them, of one
//! header. The last few batches of the log, whose places are remembered, need no read, nor does the log's end.
//!
//! An index entry is believed only when the batch at its position ends with its offset; else the scan starts at the
//! segment's beginning, so that a damaged index makes a read slower and never wrong. A read that must pass a damaged
//! header fails with [`Error::CorruptFile`]: to treat that header as the segment's end would skip records.

use std::sync::Arc;

use super::batch_walk::HEADER_PIECE;
use super::header_scan::{HeaderScan, believed, named_by};
use super::last_batches::LastBatch;
use super::log::Log;
use super::segment::{Segment, SegmentFile};
use super::wait::Wait;
use ::io::File;
use base::error::{Error, ErrorCode, Result};
use base::place::{Offset, Position};
use index::OffsetPosition;

/// A range of a segment's file that holds batches; the last one may be cut short by the limit.
#[derive(Clone)]
pub struct FileSlice {
    /// The segment's file.
    pub file: Arc<dyn File>,
    /// The position where the first batch begins.
    pub position: Position,
    /// Bytes; 0 when there is nothing to read, or when not even the first batch fits.
    pub len: usize,
    /// First offset of the first batch, which may lie below the requested offset; the requested offset when `len` is 0.
    pub base_offset: Offset,
}

/// Where the readable part of a segment ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// At a known position.
    At(Position),
    /// Before the first batch that ends at or after `offset`; the search for that batch starts at the index entry
    /// `from`. `end` is the segment's end.
    Before {
        offset: Offset,
        from: OffsetPosition,
        end: Position,
    },
}

/// Where in a segment the wanted batch is.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// Exactly there.
    Batch(LastBatch),
    /// At or after the batch that `entry` names, and no later than the batch that `next` names.
    Index {
        entry: OffsetPosition,
        next: Option<OffsetPosition>,
    },
}

impl Start {
    /// At or after the segment's beginning.
    fn beginning(segment: &Segment) -> Self {
        let entry = OffsetPosition {
            offset: segment.base_offset(),
            position: Position::START,
        };
        Self::Index { entry, next: None }
    }
}

struct Part {
    log: Arc<SegmentFile>,
    start: Start,
    end: End,
    /// Whether the reads of [`Part::resolve`] may wait for the disk.
    wait: Wait,
}

/// The facts about the log that a read needs; see the module.
pub struct ReadPlan {
    offset: Offset,
    part: Part,
    /// The next segment that has batches: for an offset after the last batch of the first one.
    next: Option<Part>,
}

impl Log {
    /// Plans a read from `offset` to `upper_bound` (exclusive: a high watermark, last stable offset or the log's end).
    /// `OFFSET_OUT_OF_RANGE` outside of log start offset..=log end offset.
    pub fn plan_read(&self, offset: Offset, upper_bound: Offset) -> Result<ReadPlan> {
        self.plan(offset, upper_bound, Wait::Yes)
    }

    /// [`plan_read`](Self::plan_read) without waiting for the disk; `resolve` says whether [`ReadPlan::resolve`] may
    /// wait. A read that would wait fails with [`Error::NotAtHand`].
    pub fn plan_read_at_once(&self, offset: Offset, upper_bound: Offset, resolve: Wait) -> Result<ReadPlan> {
        let mut plan = self.plan(offset, upper_bound, Wait::No)?;
        plan.part.wait = resolve;
        if let Some(next) = &mut plan.next {
            next.wait = resolve;
        }
        Ok(plan)
    }

    fn plan(&self, offset: Offset, upper_bound: Offset, wait: Wait) -> Result<ReadPlan> {
        if offset < self.offsets.start() || offset > self.offsets.end() {
            return Err(self.out_of_range(offset));
        }
        let upper_bound = upper_bound.min(self.offsets.end());
        if offset >= upper_bound {
            let active = self.segments.active();
            let start = Start::beginning(active);
            let part = Part {
                log: Arc::clone(active.log()),
                start,
                end: End::At(Position::START),
                wait,
            };
            return Ok(ReadPlan {
                offset,
                part,
                next: None,
            });
        }
        let at = self.segments.place_of(offset);
        let segment = self.segments.at(at);
        let is_active = at == self.segments.active_place();
        let start = match self.segments.last_batch_with(offset) {
            Some(batch) if is_active => Start::Batch(batch),
            _ => {
                let (entry, next) = self.entries_for(segment, offset, wait)?;
                Start::Index { entry, next }
            }
        };
        let part = self.part(segment, start, upper_bound, wait)?;
        let next = self
            .segments
            .all_from(at + 1)
            .find(|segment| segment.size() > 0 && segment.base_offset() < upper_bound);
        let next = next
            .map(|segment| self.part(segment, Start::beginning(segment), upper_bound, wait))
            .transpose()?;
        Ok(ReadPlan { offset, part, next })
    }

    /// The index entry at which to start looking for an offset, and the next one.
    fn entries_for(
        &self,
        segment: &Segment,
        offset: Offset,
        wait: Wait,
    ) -> Result<(OffsetPosition, Option<OffsetPosition>)> {
        if wait == Wait::No {
            segment.offset_index.check_lookup_at_hand(offset)?;
        }
        segment.offset_index.lookup_pair(&*self.context.fs, offset)
    }

    fn part(&self, segment: &Segment, start: Start, upper_bound: Offset, wait: Wait) -> Result<Part> {
        let segment_end = segment.end();
        let is_active = segment.base_offset() == self.segments.active().base_offset();
        let end = if upper_bound == self.offsets.end() {
            End::At(segment_end)
        } else if let Some(batch) = is_active.then(|| self.segments.last_batch_with(upper_bound)).flatten() {
            // When the bound lies within a batch (a high watermark never does), the reader gets no part of that batch.
            End::At(batch.position)
        } else {
            let (from, _) = self.entries_for(segment, upper_bound.saturating_sub(1), wait)?;
            End::Before {
                offset: upper_bound,
                from,
                end: segment_end,
            }
        };
        Ok(Part {
            log: Arc::clone(segment.log()),
            start,
            end,
            wait,
        })
    }

    pub(super) fn out_of_range(&self, offset: Offset) -> Error {
        let (start, end, partition) = (self.offsets.start(), self.offsets.end(), &self.topic_partition);
        let message = format!(
            "Received request for offset {offset} for partition {partition}, but we only have log segments from offset \
             {start} up to {end}."
        );
        Error::rejected(ErrorCode::OFFSET_OUT_OF_RANGE, message)
    }
}

impl ReadPlan {
    /// Finds the range, within one segment: from the batch that holds the offset (or the next batch after a gap) up to
    /// the upper bound, at most `max_bytes`. With `min_one_batch` the range holds the first batch even if it is larger.
    pub fn resolve(self, max_bytes: usize, min_one_batch: bool) -> Result<FileSlice> {
        for part in std::iter::once(&self.part).chain(&self.next) {
            if let Some(slice) = part.resolve(self.offset, max_bytes, min_one_batch)? {
                return Ok(slice);
            }
        }
        Ok(FileSlice {
            file: Arc::clone(&self.part.log.file),
            position: Position::START,
            len: 0,
            base_offset: self.offset,
        })
    }
}

impl Part {
    fn scan(&self, position: Position, end: Position) -> HeaderScan<'_> {
        HeaderScan::new(&*self.log.file, &self.log.path, position, end)
            .waiting(self.wait)
            .of_whole_batches()
    }

    /// `None`: no batch of this segment holds the offset or a later one.
    fn resolve(&self, offset: Offset, max_bytes: usize, min_one_batch: bool) -> Result<Option<FileSlice>> {
        let limit = match self.end {
            End::At(position) => position,
            End::Before { end, .. } => end,
        };
        let first = match self.start {
            Start::Batch(batch) => Some(batch),
            Start::Index { entry, next } => match self.find_named(offset, (entry, next), limit)? {
                None => self.find(offset, entry, limit)?,
                named => named,
            },
        };
        let Some(first) = first else { return Ok(None) };
        let end = self.end_of_range(first, max_bytes)?;
        let available = first.position.bytes_to(end);
        let mut len = available.min(max_bytes as u64);
        if len < first.size {
            len = if min_one_batch { first.size.min(available) } else { 0 };
        }
        let (file, position) = (Arc::clone(&self.log.file), first.position);
        Ok(Some(FileSlice {
            file,
            position,
            len: len as usize,
            base_offset: first.base_offset,
        }))
    }

    /// The batch that holds `offset`, when one of the two index entries names that batch: reads only its header. The
    /// next entry is tried only when it lies more than one read behind the first: then the batches between the two are
    /// few and large, most often only the batch of the first entry.
    fn find_named(
        &self,
        offset: Offset,
        (entry, next): (OffsetPosition, Option<OffsetPosition>),
        limit: Position,
    ) -> Result<Option<LastBatch>> {
        let is_far = |next: &OffsetPosition| entry.position.bytes_to(next.position) as usize > HEADER_PIECE;
        let named = Some(entry).filter(|entry| entry.offset == offset);
        let Some(named) = named.or_else(|| next.filter(is_far)) else {
            return Ok(None);
        };
        let header = named_by(&*self.log.file, &self.log.path, named, limit, self.wait)?;
        let header = header.filter(|header| (header.base_offset..=header.last_offset()).contains(&offset));
        Ok(header.map(|header| LastBatch::of(&header, named.position)))
    }

    /// The first batch that ends at or after `offset`.
    fn find(&self, offset: Offset, entry: OffsetPosition, limit: Position) -> Result<Option<LastBatch>> {
        let mut scan = self.scan(Position::START, limit);
        if entry.offset < offset {
            scan.skip_entry(entry)?;
        } else {
            scan = self.scan(self.believed(entry, limit)?, limit);
        }
        while let Some((position, header)) = scan.next_header()? {
            if header.last_offset() >= offset {
                return Ok(Some(LastBatch::of(&header, position)));
            }
        }
        Ok(None)
    }

    fn believed(&self, entry: OffsetPosition, limit: Position) -> Result<Position> {
        believed(&*self.log.file, &self.log.path, entry, limit, self.wait)
    }

    fn end_of_range(&self, first: LastBatch, max_bytes: usize) -> Result<Position> {
        let (offset, from, segment_end) = match self.end {
            End::At(position) => return Ok(position),
            End::Before { offset, from, end } => (offset, from, end),
        };
        let wanted = first.position + (max_bytes as u64).max(first.size);
        let known = self.believed(from, segment_end)?.max(first.position);
        if wanted <= known {
            return Ok(known);
        }
        let mut scan = self.scan(known, segment_end);
        loop {
            let (position, header) = match scan.next_header() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                // The batches before the damaged header are good; the read that starts at it fails.
                Err(Error::CorruptFile { position, .. }) if position > first.position => break,
                Err(error) => return Err(error),
            };
            if header.last_offset() >= offset {
                return Ok(position);
            }
            if scan.position() >= wanted {
                break;
            }
        }
        Ok(scan.position())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
