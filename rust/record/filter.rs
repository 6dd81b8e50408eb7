//! Leaves records out of a batch, as compaction does.
//!
//! Two steps: [`RecordFilter::select`] asks the caller about each record, [`RecordFilter::write`] writes the batch with
//! the selected records alone. Offsets, sequences, timestamps, headers, producer, leader epoch and codec stay as they
//! are: the new batch has the base offset, last offset delta and base sequence of the old one, so its range of offsets
//! and its producer's last sequence are unchanged.
//!
//! - (a) The delete horizon stays: the selected records keep their bytes.
//! - (b) The batch gets a delete horizon, which takes the place of the base timestamp: the timestamp delta of each
//!   record is written anew.
//!
//! - (c) A message of magic 0 or 1 stays one, without delete horizon; a wrapper gets the offset of its last record.
//!
//! The memory for inflated records and for the new payload is kept from batch to batch, up to [`KEPT_BYTES`].

use std::iter::Take;
use std::ops::Range;

use super::builder::finish;
use super::header::{CODEC_MASK, DELETE_HORIZON_BIT, MAGIC_V2};
use super::varint::{read_varint, read_varlong, size_of_varlong, write_varint, write_varlong};
use super::{
    BATCH_HEADER, Batch, BatchError, BatchHeader, Codec, Record, RecordIter, TimestampType, compress, decompress,
    legacy,
};

/// Most bytes of memory that a filter keeps between two batches, in each of its buffers.
const KEPT_BYTES: usize = 1 << 20;

/// Most records that a [`Selector`] sees before it decides about the first of them.
pub const LOOK_AHEAD: usize = 64;

/// Decides which records of a batch stay.
pub trait Selector {
    /// Sees the next records, at most [`LOOK_AHEAD`], before it is asked about the first of them.
    fn look_ahead(&mut self, _records: Take<RecordIter<'_>>) {}

    /// Whether the record stays; asked about each record in order.
    fn is_selected(&mut self, record: &Record<'_>) -> bool;
}

/// The outcome of [`RecordFilter::select`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Records that are selected.
    pub selected: i32,
    /// Whether every record is selected.
    pub is_whole: bool,
    /// Whether a selected record has no value.
    pub has_tombstone: bool,
}

/// See the module.
#[derive(Default)]
pub struct RecordFilter {
    inflated: Vec<u8>,
    /// Where runs of selected records stand in the uncompressed payload.
    runs: Vec<Range<usize>>,
    selected: i32,
    max_timestamp: i64,
    payload: Vec<u8>,
    /// The header to which the uncompressed payload belongs.
    header: Option<BatchHeader>,
}

impl RecordFilter {
    /// Asks `selector` about each record of the batch. A compressed batch is inflated to `limit` bytes at most.
    pub fn select(
        &mut self,
        batch: &Batch<'_>,
        limit: usize,
        mut selector: impl Selector,
    ) -> Result<Selection, BatchError> {
        self.begin();
        let mut header = *batch.header();
        let codec = header.codec()?;
        if header.is_legacy() {
            header = legacy::to_records(batch.bytes(), limit, &mut self.inflated)?;
        } else if codec != Codec::None {
            decompress(codec, batch.payload(), limit, &mut self.inflated)?;
        }
        self.header = Some(header);
        let payload = payload_of(batch, codec, &self.inflated);
        let mut records = RecordIter::new(&header, payload);
        let mut has_tombstone = false;
        for at in 0.. {
            if at % LOOK_AHEAD == 0 {
                selector.look_ahead(records.clone().take(LOOK_AHEAD));
            }
            let start = payload.len() - records.rest_bytes();
            let Some(record) = records.next().transpose()? else {
                break;
            };
            if !selector.is_selected(&record) {
                continue;
            }
            has_tombstone |= record.value.is_none();
            self.max_timestamp = self.max_timestamp.max(record.timestamp);
            self.selected += 1;
            let end = payload.len() - records.rest_bytes();
            match self.runs.last_mut() {
                Some(run) if run.end == start => run.end = end,
                _ => self.runs.push(start..end),
            }
        }
        Ok(Selection {
            selected: self.selected,
            is_whole: self.selected == header.record_count,
            has_tombstone,
        })
    }

    /// Appends the batch with the records that the last [`Self::select`] of the same batch has selected, at least one,
    /// and returns its header. `new_horizon_ms` sets the delete horizon of a batch that has none.
    pub fn write(
        &mut self,
        batch: &Batch<'_>,
        new_horizon_ms: Option<i64>,
        out: &mut Vec<u8>,
    ) -> Result<BatchHeader, BatchError> {
        let mut header = *batch.header();
        let codec = header.codec()?;
        let source = payload_of(batch, codec, &self.inflated);
        self.payload.clear();
        for run in &self.runs {
            let records = source.get(run.clone()).unwrap_or_default();
            match new_horizon_ms {
                None => self.payload.extend_from_slice(records), // (a)
                Some(horizon_ms) => write_deltas(&header, records, horizon_ms, &mut self.payload), // (b)
            }
        }
        let start = out.len();
        if let Some(full) = self.header.filter(BatchHeader::is_legacy) {
            let record_count = self.selected;
            legacy::to_message(&BatchHeader { record_count, ..full }, &self.payload, out)?; // (c)
            return BatchHeader::parse(&out[start..]);
        }
        out.resize(start + BATCH_HEADER, 0);
        let mut stored = codec;
        if compress(codec, None, &self.payload, out).is_err() {
            // The codec's library is out of memory: the records stay uncompressed.
            out.truncate(start + BATCH_HEADER);
            out.extend_from_slice(&self.payload);
            stored = Codec::None;
        }
        header.attributes = header.attributes & !CODEC_MASK | stored.attribute_bits();
        if let Some(horizon_ms) = new_horizon_ms {
            header.attributes |= DELETE_HORIZON_BIT;
            header.base_timestamp = horizon_ms;
        }
        if header.timestamp_type() == TimestampType::CreateTime {
            header.max_timestamp = self.max_timestamp;
        }
        header.record_count = self.selected;
        finish(header, &mut out[start..]);
        BatchHeader::parse(&out[start..])
    }

    fn begin(&mut self) {
        for buffer in [&mut self.inflated, &mut self.payload] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        self.runs.clear();
        self.runs.shrink_to(KEPT_BYTES / size_of::<Range<usize>>());
        (self.selected, self.max_timestamp) = (0, -1);
    }
}

/// The batch without records: what is left of a batch that must stay for its offsets or its producer's sequence. A
/// message of magic 0 or 1 becomes a batch of magic 2: only those may be empty.
pub fn empty_batch(header: &BatchHeader) -> (BatchHeader, [u8; BATCH_HEADER]) {
    let mut bytes = [0; BATCH_HEADER];
    let empty = BatchHeader {
        magic: MAGIC_V2,
        attributes: header.attributes & !(CODEC_MASK | DELETE_HORIZON_BIT),
        base_timestamp: -1,
        record_count: 0,
        ..*header
    };
    finish(empty, &mut bytes);
    let parsed = BatchHeader::parse(&bytes);
    (parsed.unwrap_or(empty), bytes)
}

fn payload_of<'p>(batch: &Batch<'p>, codec: Codec, inflated: &'p [u8]) -> &'p [u8] {
    if codec == Codec::None && !batch.header().is_legacy() {
        batch.payload()
    } else {
        inflated
    }
}

/// Appends whole records with their timestamps relative to `base_timestamp`. The records were read before.
fn write_deltas(header: &BatchHeader, mut records: &[u8], base_timestamp: i64, out: &mut Vec<u8>) {
    while let Some((attributes, timestamp_delta, body)) = split_timestamp(&mut records) {
        let timestamp = match header.timestamp_type() {
            TimestampType::CreateTime => header.base_timestamp.wrapping_add(timestamp_delta),
            TimestampType::LogAppendTime => header.max_timestamp,
        };
        let delta = timestamp.wrapping_sub(base_timestamp);
        write_varint((1 + size_of_varlong(delta) + body.len()) as i32, out);
        out.push(attributes);
        write_varlong(delta, out);
        out.extend_from_slice(body);
    }
}

/// Takes a record off the front: its attributes, its timestamp delta, and its bytes behind both.
fn split_timestamp<'r>(records: &mut &'r [u8]) -> Option<(u8, i64, &'r [u8])> {
    let length = usize::try_from(read_varint(records)?).ok()?;
    let (mut body, rest) = records.split_at_checked(length)?;
    *records = rest;
    let (&attributes, after) = body.split_first()?;
    body = after;
    let delta = read_varlong(&mut body)?;
    Some((attributes, delta, body))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
