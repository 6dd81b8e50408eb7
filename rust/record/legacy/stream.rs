//! The records of a compressed v2 batch, inflated piece by piece: in memory is one record, or 64 KB if that is more.
//!
//! Memory grows with bytes that were inflated, never with a length that a record claims.

use crate::compression::Source;
use crate::record::RawRecord;
use crate::{BatchError, Codec, read_varint};

/// Bytes that are inflated at once.
const STEP_BYTES: usize = 64 * 1024;
/// Most bytes of a record's length.
const MAX_VARINT: usize = 5;

/// See the module.
pub(super) struct RecordStream<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    /// Where the bytes that were not given yet start; they end with the buffer.
    start: usize,
    has_ended: bool,
    /// The most bytes of one record.
    limit: usize,
    index: i32,
}

impl<'a> RecordStream<'a> {
    pub(super) fn new(codec: Codec, payload: &'a [u8], limit: usize) -> Result<Self, BatchError> {
        Ok(Self {
            source: Source::new(codec, payload)?,
            buffer: Vec::new(),
            start: 0,
            has_ended: false,
            limit,
            index: 0,
        })
    }

    /// The next record; `None` at the end of the payload.
    pub(super) fn next_record(&mut self) -> Result<Option<RawRecord<'_>>, BatchError> {
        let index = self.index;
        let invalid = |reason| BatchError::InvalidRecord { index, reason };
        self.fill(MAX_VARINT)?;
        let mut front = self.held(MAX_VARINT);
        let available = front.len();
        if available == 0 {
            return Ok(None);
        }
        let length = read_varint(&mut front).and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or(invalid("its length is invalid"))?;
        let prefix = available - front.len();
        if length > self.limit {
            return Err(BatchError::InflateLimit { limit: self.limit });
        }
        self.fill(prefix + length)?;
        let from = self.start;
        self.start += prefix + length;
        self.index += 1;
        let mut body = self
            .buffer
            .get(from + prefix..from + prefix + length)
            .ok_or(invalid("its length is more than the bytes that are left"))?;
        let record = RawRecord::read_body(&mut body).ok_or(invalid("its structure is invalid"))?;
        Ok(Some(record))
    }

    /// At most `count` bytes of those that are held.
    fn held(&self, count: usize) -> &[u8] {
        let end = self.buffer.len().min(self.start.saturating_add(count));
        self.buffer.get(self.start..end).unwrap_or_default()
    }

    /// Inflates until `count` bytes are held, or the payload ends.
    fn fill(&mut self, count: usize) -> Result<(), BatchError> {
        if self.held(count).len() == count || self.has_ended {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        while self.buffer.len() < count && !self.has_ended {
            let filled = self.buffer.len();
            self.buffer.resize(filled + STEP_BYTES, 0);
            let room = self.buffer.get_mut(filled..).unwrap_or_default();
            let read = self.source.read(room)?;
            self.buffer.truncate(filled + read);
            self.has_ended = read == 0;
        }
        Ok(())
    }
}
