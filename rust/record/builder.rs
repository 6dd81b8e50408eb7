//! Writes a new batch record by record, as the coordinators, the tests and the rewriting of a codec need it.

use super::header::{CONTROL_BIT, LOG_APPEND_TIME_BIT, MAGIC_V2, TRANSACTIONAL_BIT};
use super::rewrite::seal;
use super::varint::{size_of_varint, size_of_varlong, write_varint, write_varlong};
use super::{BATCH_HEADER, BatchHeader, Codec, LOG_OVERHEAD, TimestampType, compress};
use base::place::{LeaderEpoch, Offset};

/// A record header to write: key and value.
pub type Header<'a> = (&'a [u8], Option<&'a [u8]>);

/// A batch that is being written. Its records are uncompressed until [`BatchBuilder::build`] compresses them.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    codec: Codec,
    level: Option<i32>,
    flags: i16,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    log_append_time: Option<i64>,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
    next_offset_delta: i32,
    record_count: i32,
    /// Room for the header, then the records.
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// An empty batch without producer, of create time.
    pub fn new(codec: Codec) -> Self {
        Self {
            codec,
            level: None,
            flags: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            log_append_time: None,
            base_timestamp: None,
            max_timestamp: -1,
            next_offset_delta: 0,
            record_count: 0,
            bytes: vec![0; BATCH_HEADER],
        }
    }

    /// An empty batch with room for `bytes` of it, so that it does not move while it grows to them.
    pub fn with_capacity(codec: Codec, bytes: usize) -> Self {
        let mut batch = Self::new(codec);
        batch.bytes.reserve_exact(bytes.saturating_sub(BATCH_HEADER));
        batch
    }

    /// Writes into this memory, whose bytes are dropped.
    #[must_use]
    pub fn within(mut self, mut memory: Vec<u8>) -> Self {
        memory.clear();
        memory.resize(BATCH_HEADER, 0);
        self.bytes = memory;
        self
    }

    /// The codec's level; its default otherwise.
    #[must_use]
    pub const fn level(mut self, level: Option<i32>) -> Self {
        self.level = level;
        self
    }

    /// Idempotent: the producer and the sequence of the first record.
    #[must_use]
    pub const fn producer(mut self, producer_id: i64, producer_epoch: i16, base_sequence: i32) -> Self {
        self.producer_id = producer_id;
        self.producer_epoch = producer_epoch;
        self.base_sequence = base_sequence;
        self
    }

    /// Part of a transaction.
    #[must_use]
    pub const fn transactional(mut self, is_transactional: bool) -> Self {
        self.set_flag(TRANSACTIONAL_BIT, is_transactional);
        self
    }

    /// Holds control records.
    #[must_use]
    pub const fn control(mut self, is_control: bool) -> Self {
        self.set_flag(CONTROL_BIT, is_control);
        self
    }

    /// The timestamp type. Under `LogAppendTime` the batch's time is that of its latest record, unless
    /// [`Self::log_append_time`] sets it.
    #[must_use]
    pub const fn timestamp_type(mut self, timestamp_type: TimestampType) -> Self {
        self.set_flag(
            LOG_APPEND_TIME_BIT,
            matches!(timestamp_type, TimestampType::LogAppendTime),
        );
        self
    }

    /// `LogAppendTime` with this time, in ms.
    #[must_use]
    pub const fn log_append_time(mut self, now_ms: i64) -> Self {
        self.log_append_time = Some(now_ms);
        self.timestamp_type(TimestampType::LogAppendTime)
    }

    /// Appends a record at the next offset.
    pub fn append(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) {
        self.append_at(self.next_offset_delta, timestamp, key, value, headers.iter().copied());
    }

    /// Appends a record at an offset relative to the batch's; the next one follows it. For batches with gaps.
    pub fn append_at<'h, H>(&mut self, delta: i32, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: H)
    where
        H: ExactSizeIterator<Item = Header<'h>> + Clone,
    {
        let timestamp_delta = timestamp.wrapping_sub(*self.base_timestamp.get_or_insert(timestamp));
        write_record(timestamp_delta, delta, key, value, headers, &mut self.bytes);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.next_offset_delta = delta.wrapping_add(1);
        self.record_count += 1;
    }

    /// Records so far.
    pub const fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Bytes of the batch so far, before compression.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Finishes the batch. Should the codec's library fail (it is out of memory), the batch is left uncompressed.
    pub fn build(mut self, base_offset: Offset, leader_epoch: LeaderEpoch) -> Vec<u8> {
        let mut codec = self.codec;
        if codec != Codec::None {
            let mut compressed = Vec::with_capacity(BATCH_HEADER + self.bytes.len() / 2);
            compressed.resize(BATCH_HEADER, 0);
            match compress(codec, self.level, &self.bytes[BATCH_HEADER..], &mut compressed) {
                Ok(()) => self.bytes = compressed,
                Err(_) => codec = Codec::None,
            }
        }
        let header = BatchHeader {
            base_offset,
            batch_length: 0,
            partition_leader_epoch: leader_epoch,
            magic: MAGIC_V2,
            crc: 0,
            attributes: self.flags | codec.attribute_bits(),
            last_offset_delta: self.next_offset_delta.wrapping_sub(1),
            base_timestamp: self.base_timestamp.unwrap_or(-1),
            max_timestamp: self.log_append_time.unwrap_or(self.max_timestamp),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
            record_count: self.record_count,
        };
        finish(header, &mut self.bytes);
        self.bytes
    }

    const fn set_flag(&mut self, bit: i16, is_set: bool) {
        self.flags = if is_set { self.flags | bit } else { self.flags & !bit };
    }
}

/// Appends a record with its deltas of timestamp and offset to `out`.
pub(super) fn write_record<'h, H>(
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: H,
    out: &mut Vec<u8>,
) where
    H: ExactSizeIterator<Item = Header<'h>> + Clone,
{
    let body_size = 1
        + size_of_varlong(timestamp_delta)
        + size_of_varint(offset_delta)
        + size_of_bytes(key)
        + size_of_bytes(value)
        + size_of_varint(headers.len() as i32)
        + headers
            .clone()
            .map(|(key, value)| size_of_bytes(Some(key)) + size_of_bytes(value))
            .sum::<usize>();
    out.reserve(body_size + size_of_varint(body_size as i32));
    write_varint(body_size as i32, out);
    out.push(0);
    write_varlong(timestamp_delta, out);
    write_varint(offset_delta, out);
    write_bytes(key, out);
    write_bytes(value, out);
    write_varint(headers.len() as i32, out);
    for (key, value) in headers {
        write_bytes(Some(key), out);
        write_bytes(value, out);
    }
}

/// Writes `header` over the first bytes of `batch` with the right length and CRC.
pub(super) fn finish(mut header: BatchHeader, batch: &mut [u8]) {
    header.batch_length = (batch.len() - LOG_OVERHEAD) as i32;
    if let Some(head) = batch.first_chunk_mut() {
        header.write(head);
    }
    seal(batch);
}

fn size_of_bytes(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| size_of_varint(bytes.len() as i32) + bytes.len())
}

fn write_bytes(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(bytes) = bytes else {
        return write_varint(-1, out);
    };
    write_varint(bytes.len() as i32, out);
    out.extend_from_slice(bytes);
}
