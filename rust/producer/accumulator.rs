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
    /// Bytes of keys and values.
    pub(super) payload_bytes: u64,
    /// How many records were appended when.
    pub(super) appended: Vec<(Instant, i32)>,
    /// How often it was sent: a broker may have it, though none has said so.
    pub(super) attempts: usize,
}

/// A batch that takes records.
struct OpenBatch {
    builder: BatchBuilder,
    created: Instant,
    payload_bytes: u64,
    appended: Vec<(Instant, i32)>,
}

impl OpenBatch {
    fn count(&mut self, now: Instant, key: Option<&[u8]>, value: Option<&[u8]>) {
        let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len) as u64;
        self.payload_bytes += len(key) + len(value);
        match self.appended.last_mut() {
            Some((time, count)) if *time == now => *count += 1,
            _ => self.appended.push((now, 1)),
        }
    }
}

#[derive(Default)]
struct Partition {
    open: Option<OpenBatch>,
    /// Records in full batches.
    records: u64,
    /// Instead of the writer's, since a batch was lost whose sequence a broker may have.
    identity: Option<Identity>,
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
        (self.identity, self.is_transactional) = (identity, is_transactional);
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
        let is_full = |open: &OpenBatch| open.builder.size_bytes() + size > limit;
        let full = match self.partitions.get(at)?.open.as_ref() {
            Some(open) if is_full(open) => self.close(at),
            _ => None,
        };
        let codec = self.options.codec;
        let level = self.options.level;
        let room = limit.max(BATCH_HEADER + size);
        let open = self.partitions.get_mut(at)?.open.get_or_insert_with(|| OpenBatch {
            builder: BatchBuilder::with_capacity(codec, room).level(level),
            created: now,
            payload_bytes: 0,
            appended: Vec::new(),
        });
        open.builder.append(timestamp_ms, row.key, row.value, headers);
        open.count(now, row.key, row.value);
        full
    }

    /// The open batch, which gets its sequence.
    pub(super) fn close(&mut self, at: usize) -> Option<FullBatch> {
        let partition = self.partitions.get_mut(at)?;
        let open = partition.open.take()?;
        let first_record = partition.records;
        partition.records += open.builder.record_count() as u64;
        Some(self.sealed(at, open, first_record))
    }

    /// Partitions whose open batch began before `time`, or that have one.
    pub(super) fn open_since(&self, time: Option<Instant>) -> Vec<usize> {
        let is_due = |(at, partition): (usize, &Partition)| match &partition.open {
            Some(open) if time.is_none_or(|time| open.created <= time) => Some(at),
            _ => None,
        };
        self.partitions.iter().enumerate().filter_map(is_due).collect()
    }

    /// When the oldest open batch was begun.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let open = self.partitions.iter().filter_map(|partition| partition.open.as_ref());
        open.map(|open| open.created).min()
    }

    /// Records in open batches, and the bytes of these.
    pub(super) fn open_records(&self) -> (u64, usize) {
        let open = self.partitions.iter().filter_map(|partition| partition.open.as_ref());
        open.fold((0, 0), |(records, bytes), open| {
            (
                records + open.builder.record_count() as u64,
                bytes + open.builder.size_bytes(),
            )
        })
    }

    fn identity_of(&self, at: usize) -> Option<&Identity> {
        let own = self
            .partitions
            .get(at)
            .and_then(|partition| partition.identity.as_ref());
        own.or(self.identity.as_ref())
    }

    /// The partition begins again as another producer: its next batch has the sequence 0.
    pub(super) fn renew(&mut self, at: usize, identity: Identity) {
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.identity = Some(identity);
            partition.records = 0;
        }
    }

    /// Takes a batch behind all others, with the sequence that follows them.
    pub(super) fn reseal(&mut self, at: usize, batch: &mut FullBatch) {
        let Some(partition) = self.partitions.get_mut(at) else {
            return;
        };
        batch.first_record = partition.records;
        partition.records += batch.records as u64;
        if let Some(identity) = self.identity_of(at) {
            let sequence = next_sequence(0, batch.first_record as i32);
            let bytes = Arc::make_mut(&mut batch.bytes);
            record::set_producer(bytes, identity.producer_id, identity.epoch, sequence);
        }
    }

    /// The next batches follow these records, as if those behind them had never been there.
    pub(super) fn rewind(&mut self, at: usize, first_record: u64) {
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.records = first_record;
        }
    }

    fn sealed(&self, at: usize, open: OpenBatch, first_record: u64) -> FullBatch {
        let OpenBatch {
            builder,
            created,
            payload_bytes,
            appended,
        } = open;
        let records = builder.record_count();
        let mut builder = builder.transactional(self.is_transactional);
        if let Some(identity) = self.identity_of(at) {
            let base_sequence = next_sequence(0, first_record as i32);
            builder = builder.producer(identity.producer_id, identity.epoch, base_sequence);
        }
        FullBatch {
            bytes: Arc::new(builder.build(Offset(0), LeaderEpoch::NONE)),
            records,
            first_record,
            created,
            payload_bytes,
            appended,
            attempts: 0,
        }
    }

    /// Two halves of a batch that is too large for its topic; of several records.
    pub(super) fn split(&self, at: usize, batch: &FullBatch) -> Result<[FullBatch; 2]> {
        let whole = record::Batch::split_first(&batch.bytes).ok().flatten();
        let (whole, _) = whole.ok_or_else(damaged)?;
        let mut scratch = Vec::new();
        let records = whole.records(&mut scratch, usize::MAX).map_err(|_| damaged())?;
        let half = batch.records / 2;
        let mut halves = [0, 1].map(|_| OpenBatch {
            builder: BatchBuilder::new(self.options.codec).level(self.options.level),
            created: batch.created,
            payload_bytes: 0,
            appended: Vec::new(),
        });
        let times = batch.appended.iter();
        let mut times = times.flat_map(|(time, count)| (0..*count).map(move |_| *time));
        for (number, record) in (0..).zip(records) {
            let record = record.map_err(|_| damaged())?;
            let headers: Vec<Header<'_>> = record.headers.collect();
            let open = &mut halves[usize::from(number >= half)];
            open.builder
                .append(record.timestamp, record.key, record.value, &headers);
            open.count(times.next().unwrap_or(batch.created), record.key, record.value);
        }
        let [first, second] = halves;
        Ok([
            self.sealed(at, first, batch.first_record),
            self.sealed(at, second, batch.first_record + half as u64),
        ])
    }
}

fn damaged() -> super::ProducerError {
    failed("this is a bug of kafkastore: a batch that it wrote cannot be read")
}
