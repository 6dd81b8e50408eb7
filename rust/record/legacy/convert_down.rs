//! Batches become a message set of magic 0 or 1, for a consumer that knows nothing newer.
//!
//! | batch | becomes |
//! |---|---|
//! | (a) control batch | nothing: markers mean nothing to an old consumer |
//! | (b) compressed with zstd | an error, `UNSUPPORTED_COMPRESSION_TYPE` |
//! | (c) of the wanted magic or below | the same bytes |
//! | (d) without codec | a message for each record |
//! | (e) with a codec | wrappers with the same codec, each of about [`WRAPPER_BYTES`] inflated bytes |
//!
//! Offsets and, for magic 1, timestamps are kept; headers are dropped. Records below the offset of the fetch are left
//! out in (d) and (e); Kafka leaves them out in (d) only, and consumers drop those of (e).

use std::mem;

use super::message::{Head, Magic, write, write_wrapper};
use super::stream::RecordStream;
use crate::{Batch, BatchError, BatchHeader, Batches, Codec, Record, RecordIter, TimestampType};
use base::place::Offset;

/// Inflated bytes after which a wrapper is finished. A wrapper should fit the smallest fetch of an old consumer, which
/// must fetch a message as a whole; larger wrappers compress hardly better.
const WRAPPER_BYTES: usize = 256 * 1024;
/// The most bytes of one record, and of an old wrapper that is converted to magic 0.
const INFLATE_LIMIT_BYTES: usize = 128 * 1024 * 1024;

/// Whether all batches are of `magic` or below, so that they may be sent as they are. A batch that is cut short at the
/// end does not count.
pub fn fits(batches: &[u8], magic: Magic) -> bool {
    Batches::new(batches).all(|batch| batch.is_ok_and(|batch| batch.header().magic <= magic.to_byte()))
}

/// Converts batch after batch. Beside the output, it holds one record and one wrapper's bytes.
#[derive(Debug)]
pub struct DownConverter {
    magic: Magic,
    /// See [`Self::up_to`].
    limit: usize,
    pending: Pending,
    records: u64,
}

/// The messages of the next wrapper.
#[derive(Debug, Default)]
struct Pending {
    set: Vec<u8>,
    first_offset: i64,
    last_offset: i64,
    max_timestamp: i64,
}

/// The properties of the messages that a batch becomes.
#[derive(Debug, Clone, Copy)]
struct Target {
    magic: Magic,
    timestamp_type: TimestampType,
    first_offset: Offset,
}

impl DownConverter {
    /// Converts to `magic`.
    pub fn new(magic: Magic) -> Self {
        Self {
            magic,
            limit: usize::MAX,
            pending: Pending::default(),
            records: 0,
        }
    }

    /// How many records have become messages; those of (c) are none.
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Ends a batch early, behind the message with which `out` reaches this many bytes.
    #[must_use]
    pub fn up_to(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Appends the messages of `batch` to `out`, those from `first_offset` on. Messages take more
    /// bytes than records: up to six times as many when the records are tiny. After an error `out` may hold some of the
    /// batch's messages, all of them whole.
    pub fn push(&mut self, batch: &Batch<'_>, first_offset: Offset, out: &mut Vec<u8>) -> Result<(), BatchError> {
        let header = batch.header();
        if header.is_control() {
            return Ok(()); // (a)
        }
        let codec = header.codec()?;
        if codec == Codec::Zstd {
            return Err(BatchError::NotInLegacy { codec }); // (b)
        }
        if header.magic <= self.magic.to_byte() {
            out.extend_from_slice(batch.bytes()); // (c)
            return Ok(());
        }
        let target = Target {
            magic: self.magic,
            timestamp_type: header.timestamp_type(),
            first_offset,
        };
        self.pending.set.clear();
        if codec != Codec::None && !header.is_legacy() {
            self.push_streamed(batch, codec, target, out)?;
        } else {
            let mut scratch = Vec::new();
            for record in batch.records(&mut scratch, INFLATE_LIMIT_BYTES)? {
                if out.len() >= self.limit {
                    break;
                }
                self.add(&record?, codec, target, out)?;
            }
        }
        self.pending.finish(codec, target, out)
    }

    /// (e) for a v2 batch
    fn push_streamed(
        &mut self,
        batch: &Batch<'_>,
        codec: Codec,
        target: Target,
        out: &mut Vec<u8>,
    ) -> Result<(), BatchError> {
        let header = batch.header();
        let mut records = RecordStream::new(codec, batch.payload(), INFLATE_LIMIT_BYTES)?;
        let mut count = 0;
        while let Some(raw) = records.next_record()? {
            if out.len() >= self.limit {
                return Ok(());
            }
            let timestamp = match target.timestamp_type {
                TimestampType::CreateTime => header.base_timestamp.wrapping_add(raw.timestamp_delta),
                TimestampType::LogAppendTime => header.max_timestamp,
            };
            let record = Record {
                attributes: raw.attributes,
                timestamp,
                offset: Offset(header.base_offset.get().wrapping_add(i64::from(raw.offset_delta))),
                key: raw.key,
                value: raw.value,
                headers: raw.headers,
            };
            self.add(&record, codec, target, out)?;
            count += 1;
        }
        if count != header.record_count {
            let reason = "the batch has more or fewer records than it declares";
            return Err(BatchError::InvalidRecord { index: count, reason });
        }
        Ok(())
    }

    /// One record of (d) or (e).
    fn add(&mut self, record: &Record<'_>, codec: Codec, target: Target, out: &mut Vec<u8>) -> Result<(), BatchError> {
        if record.offset < target.first_offset {
            return Ok(());
        }
        self.records += 1;
        target.write(record, codec, &mut self.pending, out);
        if self.pending.set.len() >= WRAPPER_BYTES {
            self.pending.finish(codec, target, out)?;
        }
        Ok(())
    }
}

/// Appends records, which stand as [`super::to_records`] writes them, as one message or wrapper with the magic, codec
/// and timestamp type of `header`, whose base offset, base timestamp and record count are those of the records.
pub fn to_message(header: &BatchHeader, records: &[u8], out: &mut Vec<u8>) -> Result<(), BatchError> {
    let magic = Magic::from_byte(header.magic).ok_or(BatchError::UnsupportedMagic(header.magic))?;
    let (codec, target) = (
        header.codec()?,
        Target {
            magic,
            timestamp_type: header.timestamp_type(),
            first_offset: header.base_offset,
        },
    );
    let mut pending = Pending::default();
    for record in RecordIter::new(header, records) {
        target.write(&record?, codec, &mut pending, out);
    }
    pending.finish(codec, target, out)
}

impl Target {
    /// Appends the record to `out`, or to the pending wrapper when there is a codec.
    fn write(self, record: &Record<'_>, codec: Codec, pending: &mut Pending, out: &mut Vec<u8>) {
        if codec == Codec::None {
            let head = self.head(record.offset.get(), record.timestamp);
            write(head, record.key, record.value, out);
        } else {
            pending.add(record, self);
        }
    }

    fn head(self, offset: i64, timestamp: i64) -> Head {
        Head {
            magic: self.magic,
            offset,
            timestamp,
            timestamp_type: self.timestamp_type,
        }
    }
}

impl Pending {
    fn add(&mut self, record: &Record<'_>, target: Target) {
        let offset = record.offset.get();
        if self.set.is_empty() {
            (self.first_offset, self.max_timestamp) = (offset, record.timestamp);
        }
        let inner_offset = match target.magic {
            Magic::V0 => offset,
            Magic::V1 => offset.wrapping_sub(self.first_offset),
        };
        write(
            target.head(inner_offset, record.timestamp),
            record.key,
            record.value,
            &mut self.set,
        );
        self.last_offset = offset;
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
    }

    /// Appends the wrapper, if it has messages.
    fn finish(&mut self, codec: Codec, target: Target, out: &mut Vec<u8>) -> Result<(), BatchError> {
        let set = mem::take(&mut self.set);
        if set.is_empty() {
            return Ok(());
        }
        let written = write_wrapper(target.head(self.last_offset, self.max_timestamp), codec, &set, out);
        self.set = set;
        self.set.clear();
        written
    }
}
