//! The open batch of each partition, and the sequence numbers of batches that are full.
//!
//! Records of a partition get their sequence in the order in which they come; a batch keeps its sequence for as long as
//! it is sent. Nothing here knows leaders or sends.

use std::sync::Arc;
use std::time::Instant;

use super::error::{Result, failed};
use super::options::ProducerOptions;
use super::rows::Row;
use super::transactions::Identity;
use base::place::{LeaderEpoch, Offset};
use record::{self, BATCH_HEADER, BatchBuilder, Header, next_sequence};

/// The most that the lengths of a record's fields take, besides its bytes.
const RECORD_OVERHEAD: usize = 36;
const HEADER_OVERHEAD: usize = 10;

/// A full batch.
#[derive(Debug, Clone)]
pub(super) struct FullBatch {
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) records: i32,
    /// How many records of the partition were before its first one; orders the batches of a partition.
    pub(super) first_record: u64,
    /// The time of its first record.
    pub(super) created: Instant,
}

#[derive(Default)]
struct Partition {
    open: Option<(BatchBuilder, Instant)>,
    /// Records in full batches.
    records: u64,
}

/// See the module.
pub(super) struct Accumulator {
    options: Arc<ProducerOptions>,
    identity: Option<Identity>,
    is_transactional: bool,
    partitions: Vec<Partition>,
}

/// At most this many bytes of a batch are a record with these fields.
pub(super) fn size_of(row: &Row<'_>, headers: &[Header<'_>]) -> usize {
    let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let size_of_header = |(key, value): &Header<'_>| HEADER_OVERHEAD + key.len() + len(*value);
    RECORD_OVERHEAD + len(row.key) + len(row.value) + headers.iter().map(size_of_header).sum::<usize>()
}

impl Accumulator {
    pub(super) fn new(options: Arc<ProducerOptions>) -> Self {
        Self {
            options,
            identity: None,
            is_transactional: false,
            partitions: Vec::new(),
        }
    }

    /// Begins anew as a producer: open batches are dropped, sequences begin at 0.
    pub(super) fn become_producer(&mut self, identity: Option<Identity>, is_transactional: bool) {
        self.identity = identity;
        self.is_transactional = is_transactional;
        for partition in &mut self.partitions {
            *partition = Partition::default();
        }
    }

    /// A partition more; its number.
    pub(super) fn add_partition(&mut self) -> usize {
        self.partitions.push(Partition::default());
        self.partitions.len() - 1
    }

    /// Appends a record of at most `size` bytes. The batch that was open, when there is no room in it.
    pub(super) fn append(
        &mut self,
        at: usize,
        (timestamp_ms, now): (i64, Instant),
        row: &Row<'_>,
        headers: &[Header<'_>],
        size: usize,
    ) -> Option<FullBatch> {
        let limit = self.options.batch_bytes;
        let is_full = |(open, _): &(BatchBuilder, Instant)| open.size_bytes() + size > limit;
        let full = match self.partitions.get(at)?.open.as_ref() {
            Some(open) if is_full(open) => self.close(at),
            _ => None,
        };
        let codec = self.options.codec;
        let level = self.options.level;
        let room = limit.max(BATCH_HEADER + size);
        let (open, _) = self.partitions.get_mut(at)?.open.get_or_insert_with(|| {
            let builder = BatchBuilder::with_capacity(codec, room);
            (builder.level(level), now)
        });
        open.append(timestamp_ms, row.key, row.value, headers);
        full
    }

    /// The open batch, which gets its sequence.
    pub(super) fn close(&mut self, at: usize) -> Option<FullBatch> {
        let partition = self.partitions.get_mut(at)?;
        let (open, created) = partition.open.take()?;
        let first_record = partition.records;
        partition.records += open.record_count() as u64;
        Some(self.sealed(open, first_record, created))
    }

    /// Partitions whose open batch began before `time`, or that have one.
    pub(super) fn open_since(&self, time: Option<Instant>) -> Vec<usize> {
        let is_due = |(at, partition): (usize, &Partition)| match &partition.open {
            Some((_, created)) if time.is_none_or(|time| *created <= time) => Some(at),
            _ => None,
        };
        self.partitions.iter().enumerate().filter_map(is_due).collect()
    }

    fn sealed(&self, builder: BatchBuilder, first_record: u64, created: Instant) -> FullBatch {
        let records = builder.record_count();
        let mut builder = builder.transactional(self.is_transactional);
        if let Some(identity) = &self.identity {
            let base_sequence = next_sequence(0, first_record as i32);
            builder = builder.producer(identity.producer_id, identity.epoch, base_sequence);
        }
        FullBatch {
            bytes: Arc::new(builder.build(Offset(0), LeaderEpoch::NONE)),
            records,
            first_record,
            created,
        }
    }

    /// Two halves of a batch that is too large for its topic; of several records.
    pub(super) fn split(&self, batch: &FullBatch) -> Result<[FullBatch; 2]> {
        let whole = record::Batch::split_first(&batch.bytes).ok().flatten();
        let (whole, _) = whole.ok_or_else(damaged)?;
        let mut scratch = Vec::new();
        let records = whole.records(&mut scratch, usize::MAX).map_err(|_| damaged())?;
        let half = batch.records / 2;
        let mut builders = [0, 1].map(|_| BatchBuilder::new(self.options.codec).level(self.options.level));
        for (number, record) in (0..).zip(records) {
            let record = record.map_err(|_| damaged())?;
            let headers: Vec<Header<'_>> = record.headers.collect();
            let builder = &mut builders[usize::from(number >= half)];
            builder.append(record.timestamp, record.key, record.value, &headers);
        }
        let [first, second] = builders;
        Ok([
            self.sealed(first, batch.first_record, batch.created),
            self.sealed(second, batch.first_record + half as u64, batch.created),
        ])
    }
}

fn damaged() -> super::ProducerError {
    failed("this is a bug of kafkastore: a batch that it wrote cannot be read")
}
