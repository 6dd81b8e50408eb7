//! Batches that cannot be read: the error that names one, and going on behind it where the options say so.
//!
//! A batch with a right checksum, between its neighbours, is passed over alone. The offsets of other batches are not
//! believed: reading goes on with the next sound batch that the lengths in the headers lead to, and all offsets up to
//! it are lost; without one, the rest of the segment. What brokers give is never passed over, as they have just checked
//! it.

use super::{BATCH_HEADER, Current, Offset, Position, Result, ScanError, SplitReader, Step};
use crate::chain::resync;
use record::{BatchHeader, RecordIter};
use storage::format::{LOG_SUFFIX, file_name};

impl SplitReader {
    /// The error for the bytes at the walk's position.
    pub(super) fn corrupt(&self, reason: impl Into<String>) -> ScanError {
        self.corrupt_at(self.workspace.walk.position(), reason)
    }

    pub(super) fn corrupt_at(&self, position: Position, reason: impl Into<String>) -> ScanError {
        ScanError::CorruptBatch {
            topic: self.split.topic.to_string(),
            partition: self.split.partition,
            offset: self.whole.map_or(self.due, |(from, _)| from),
            path: self.slice().path.clone(),
            position,
            reason: reason.into(),
        }
    }

    /// The step behind what cannot be read; the error itself unless that is to be ignored.
    pub(super) fn pass_over(&mut self, error: ScanError) -> Result<Step> {
        let is_ignored = self.options.ignore_corrupt_batches && matches!(error, ScanError::CorruptBatch { .. });
        if !is_ignored || self.elsewhere.is_some() {
            return Err(error);
        }
        let (start, end) = self.range();
        let ((from, to), step) = match (self.whole, self.whole.map_or_else(|| self.resync(), |_| Ok(None))?) {
            (Some((from, next)), _) => ((from.max(start), next.min(end)), Step::Batch(next)),
            (None, Some(next)) => ((self.due.max(start), next.min(end)), Step::Batch(next)),
            (None, None) => ((self.due.max(start), end), Step::Slice),
        };
        if matches!(step, Step::Slice) {
            self.read_to = end;
        }
        if from < to {
            self.note_lost(from..to);
        }
        Ok(step)
    }

    /// The base offset of the batch to go on with, with the walk in front of it.
    fn resync(&mut self) -> Result<Option<Offset>> {
        let walk = &mut self.workspace.walk;
        walk.go_to(walk.position());
        let found = resync(walk, self.due);
        Ok(self.unless_truncated(found)?.flatten())
    }

    /// The last batch of the open slice begins at or behind the slice's end, though offsets before that are due: in a
    /// segment that was compacted, a batch of the next segment, which a cleaner has put here in that segment's place;
    /// as long as that segment is there, a batch of this one with a wrong base offset.
    pub(super) fn check_last(&self, header: &BatchHeader, expected: Offset) -> Result<()> {
        let slice = self.slice();
        let bound = slice.next_base_offset;
        let is_foreign = header.base_offset >= bound && expected < self.range().1 && self.elsewhere.is_none();
        if !is_foreign || self.workspace.walk.rest_behind() > 0 {
            return Ok(());
        }
        let next = slice.path.with_file_name(file_name(bound, LOG_SUFFIX));
        if !self.options.file_system.exists(&next) {
            return Ok(());
        }
        Err(self.corrupt(format!(
            "the base offset {} is not below {bound}, where the next segment begins, and {expected} is due here",
            header.base_offset
        )))
    }

    /// Whether every record of the batch can be read.
    pub(super) fn check_records(&self, header: &BatchHeader, current: &Current) -> Result<()> {
        let payload = if current.is_inflated {
            &self.workspace.inflated[..]
        } else {
            &self.workspace.walk.held()[BATCH_HEADER..current.size]
        };
        let of_current = BatchHeader {
            record_count: current.record_count,
            ..*header
        };
        let bad = RecordIter::new(&of_current, payload).find_map(std::result::Result::err);
        bad.map_or(Ok(()), |error| Err(self.corrupt(error.to_string())))
    }
}
