//! Records that are handed over: of one partition, in the order of their offsets, as the bytes in which they came.

use std::ops::Range;
use std::sync::Arc;

use base::place::{LeaderEpoch, Offset};
use record::{BatchHeader, Record, RecordIter};

/// Records of one batch that follow each other.
#[derive(Debug, Clone)]
pub struct Run {
    /// Of the batch, but for the number of records, which is that of the run.
    header: BatchHeader,
    bytes: Arc<Vec<u8>>,
    at: Range<usize>,
}

impl Run {
    pub(super) fn new(header: BatchHeader, bytes: Arc<Vec<u8>>, at: Range<usize>) -> Self {
        Self { header, bytes, at }
    }

    /// The records; each was read once before.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let bytes = self.bytes.get(self.at.clone()).unwrap_or_default();
        RecordIter::new(&self.header, bytes).filter_map(Result::ok)
    }

    /// The epoch of the leader that took them; that of an old format is not known.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        if self.header.is_legacy() {
            return LeaderEpoch::NONE;
        }
        self.header.partition_leader_epoch
    }

    /// Whose clock their times are of, as Kafka names it.
    pub fn timestamp_type(&self) -> &'static str {
        match self.header.timestamp_type() {
            _ if self.header.magic == 0 => "NoTimestampType",
            record::TimestampType::CreateTime => "CreateTime",
            record::TimestampType::LogAppendTime => "LogAppendTime",
        }
    }
}

/// See the module. There is at least one record.
#[derive(Debug, Clone)]
pub struct FetchedRecords {
    /// Their topic.
    pub topic: Arc<str>,
    /// Their partition.
    pub partition: i32,
    /// How many there are.
    pub count: usize,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Of the first one.
    pub first_offset: Offset,
    /// Of the last one.
    pub last_offset: Offset,
    /// All of them.
    pub runs: Vec<Run>,
}

impl FetchedRecords {
    /// None yet.
    pub(super) fn of(topic: &Arc<str>, partition: i32) -> Self {
        Self {
            topic: Arc::clone(topic),
            partition,
            count: 0,
            bytes: 0,
            first_offset: Offset(-1),
            last_offset: Offset(-1),
            runs: Vec::new(),
        }
    }

    /// All records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.runs.iter().flat_map(Run::records)
    }
}
