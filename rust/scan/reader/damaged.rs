//! Batches that cannot be read: the error that names one, and going on behind it where the options say so.
//!
//! A batch whose header tells its offsets is passed over alone. After a header that cannot be one, or base offsets that
//! contradict each other, nothing tells where the next batch begins: then the rest of the segment is. What brokers give
//! is never passed over, as they have just checked it.

use super::{BATCH_HEADER, Current, Position, Result, ScanError, SplitReader, Step};
use crate::record::{BatchHeader, RecordIter};

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
        let ((from, to), step) = match self.whole {
            Some((from, next)) => ((from.max(start), next.min(end)), Step::Batch(next)),
            None => ((self.due.max(start), end), Step::Slice),
        };
        if matches!(step, Step::Slice) {
            self.read_to = end;
        }
        if from < to {
            self.note_lost((from, to));
        }
        Ok(step)
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
