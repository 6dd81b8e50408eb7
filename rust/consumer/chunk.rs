//! What one answer to Fetch brought for one partition: whole batches, of which records are handed over bit by bit.
//!
//! Batches are looked into only when their records are wanted: then their checksum is checked, those that no consumer
//! sees are left out, and a compressed one is inflated. Nothing is copied otherwise.

use std::ops::Range;
use std::sync::Arc;

use super::records::{FetchedRecords, Run};
use base::place::Offset;
use record::{AbortedFrom, Batch, BatchError, BatchHeader, OpenAborts, RecordIter};

/// The most that a batch may inflate to.
const MAX_INFLATED_BYTES: usize = 1 << 30;

/// A batch of which records are left.
#[derive(Debug)]
struct OpenBatch {
    /// With the number of records that are left.
    header: BatchHeader,
    next_offset: Offset,
    bytes: Arc<Vec<u8>>,
    rest: Range<usize>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Chunk {
    answer: Arc<Vec<u8>>,
    rest: Range<usize>,
    /// Of `read_committed`.
    aborts: Option<OpenAborts>,
    checks_crcs: bool,
    open: Option<OpenBatch>,
}

impl Chunk {
    /// The whole batches of `records`, which are a range of the answer's bytes, and the offset that follows them;
    /// `None` when not one came whole. `aborted` is given for `read_committed`.
    pub(super) fn of(
        answer: &Arc<Vec<u8>>,
        records: Range<usize>,
        aborted: Option<Vec<AbortedFrom>>,
        checks_crcs: bool,
    ) -> Option<(Self, Offset)> {
        let mut end = records.start;
        let mut next_offset = None;
        while let Some(rest) = answer.get(end..records.end) {
            let Ok(header) = BatchHeader::parse(rest) else { break };
            if header.size_bytes() > rest.len() {
                break;
            }
            end += header.size_bytes();
            next_offset = Some(header.next_offset());
        }
        let aborts = aborted.map(|aborted| {
            let mut aborts = OpenAborts::default();
            aborts.expect(aborted);
            aborts
        });
        let chunk = Self {
            answer: Arc::clone(answer),
            rest: records.start..end,
            aborts,
            checks_crcs,
            open: None,
        };
        next_offset.map(|next_offset| (chunk, next_offset))
    }

    /// Hands over records from `position` on until `taken` has `max_records`, and moves the position behind them;
    /// whether all were handed over. After an error the position is that of the batch that cannot be read.
    pub(super) fn take(
        &mut self,
        position: &mut Offset,
        taken: &mut FetchedRecords,
        max_records: usize,
    ) -> Result<bool, BatchError> {
        while taken.count < max_records {
            if self.open.is_none() && !self.open_next(position)? {
                return Ok(true);
            }
            let Some(open) = &mut self.open else { continue };
            if open.take(position, taken, max_records)? {
                *position = open.next_offset.max(*position);
                self.open = None;
            }
        }
        Ok(false)
    }

    /// Opens the next batch that has records for a consumer; `false` when there is none.
    fn open_next(&mut self, position: &mut Offset) -> Result<bool, BatchError> {
        loop {
            let bytes = self.answer.get(self.rest.clone()).unwrap_or_default();
            let Some((batch, _)) = Batch::split_first(bytes)? else {
                return Ok(false);
            };
            if self.checks_crcs {
                batch.verify_crc()?;
            }
            let header = *batch.header();
            let is_left_out = match &mut self.aborts {
                Some(aborts) => aborts.leaves_out(&batch)?,
                None => header.is_control(),
            };
            let (start, end) = (self.rest.start, self.rest.start + batch.bytes().len());
            if is_left_out || header.next_offset() <= *position {
                self.rest.start = end;
                *position = header.next_offset().max(*position);
                continue;
            }
            let mut inflated = Vec::new();
            let open = match batch.unpack(&mut inflated, MAX_INFLATED_BYTES)? {
                Some(header) => OpenBatch {
                    rest: 0..inflated.len(),
                    bytes: Arc::new(inflated),
                    next_offset: header.next_offset(),
                    header,
                },
                None => OpenBatch {
                    rest: start + (batch.bytes().len() - batch.payload().len())..end,
                    bytes: Arc::clone(&self.answer),
                    next_offset: header.next_offset(),
                    header,
                },
            };
            self.rest.start = end;
            self.open = Some(open);
            return Ok(true);
        }
    }
}

impl OpenBatch {
    /// Whether no record is left. Records before one that cannot be read are handed over before its error.
    fn take(&mut self, position: &mut Offset, taken: &mut FetchedRecords, max: usize) -> Result<bool, BatchError> {
        let bytes = self.bytes.get(self.rest.clone()).unwrap_or_default();
        let mut records = RecordIter::new(&self.header, bytes);
        let (mut start, mut end, mut read, mut count) = (0, 0, 0, 0);
        let mut ended = None;
        while taken.count + count < max {
            let record = match records.next() {
                Some(Ok(record)) => record,
                other => {
                    ended = Some(other.map_or(Ok(true), |one| one.map(|_| true)));
                    break;
                }
            };
            read += 1;
            end = bytes.len() - records.rest_bytes();
            if record.offset < *position {
                start = end;
                continue;
            }
            if taken.count + count == 0 {
                taken.first_offset = record.offset;
            }
            count += 1;
            taken.bytes += (record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)) as u64;
            taken.last_offset = record.offset;
        }
        if count > 0 {
            let at = self.rest.start + start..self.rest.start + end;
            let header = BatchHeader {
                record_count: count as i32,
                ..self.header
            };
            taken.runs.push(Run::new(header, Arc::clone(&self.bytes), at));
            taken.count += count;
            *position = taken.last_offset + 1;
        }
        self.rest.start += end;
        self.header.record_count -= read;
        match ended {
            Some(Err(_)) if count > 0 => Ok(false), // the next call meets it again
            Some(ended) => ended,
            None => Ok(false),
        }
    }
}
