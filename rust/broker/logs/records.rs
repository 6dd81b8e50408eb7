//! Records of the control plane's own topics, read from the log.

use crate::partition::Partition;
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;
use record::{Batches, ControlType};

/// Most bytes that the records of one batch may inflate to when the control plane's own topics are read.
pub const INFLATE_LIMIT_BYTES: usize = 128 << 20;

/// One record of a control-plane topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Offset.
    pub offset: Offset,
    /// Timestamp, ms.
    pub timestamp: i64,
    /// Key.
    pub key: Option<Vec<u8>>,
    /// Value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The producer whose transaction it belongs to, or ends; -1 outside of transactions.
    pub producer_id: i64,
    /// The type of a control record; `None` for any other record.
    pub control: Option<ControlType>,
}

/// Reads records from `offset` on, about `max_bytes` of batches, up to the log end. Returns them with the offset to
/// go on from.
pub fn read_records(partition: &Partition, offset: Offset, max_bytes: usize) -> Result<(Vec<ReadRecord>, Offset)> {
    let end = partition.offsets().log_end();
    let start = offset.max(partition.offsets().log_start());
    let mut records = Vec::new();
    if start >= end {
        return Ok((records, end));
    }
    let mut bytes = Vec::new();
    read_batches(partition, start, end, max_bytes, &mut bytes)?;
    if bytes.is_empty() {
        return Ok((records, end));
    }
    let mut next = start;
    let mut scratch = Vec::new();
    for batch in Batches::new(&bytes) {
        let corrupt = |e: record::BatchError| Error::rejected(ErrorCode::CORRUPT_MESSAGE, e.to_string());
        let batch = batch.map_err(corrupt)?;
        let header = batch.header();
        let producer_id = if header.is_transactional() {
            header.producer_id
        } else {
            -1
        };
        for record in batch.records(&mut scratch, INFLATE_LIMIT_BYTES).map_err(corrupt)? {
            let record = record.map_err(corrupt)?;
            if record.offset >= start {
                records.push(ReadRecord {
                    offset: record.offset,
                    timestamp: record.timestamp,
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    producer_id,
                    control: header.is_control().then(|| control_type(record.key)),
                });
            }
        }
        next = header.next_offset();
    }
    Ok((records, next))
}

/// Reads whole batches, from the batch with `start` on, and replaces the content of `bytes`: about `max_bytes` and at
/// least one batch; none when there are none before `end`. Blocks on the disk.
pub fn read_batches(
    partition: &Partition,
    start: Offset,
    end: Offset,
    max_bytes: usize,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let plan = partition.log().plan_read(start, end)?;
    let slice = plan.resolve(max_bytes, true)?;
    bytes.clear();
    bytes.resize(slice.len, 0);
    slice
        .file
        .read_exact_at(bytes, slice.position.get())
        .map_err(|e| Error::io("read", &partition.log_dir(), e))
}

/// The type of a control record, by its key. A key that cannot be parsed counts as an unknown type.
pub(super) fn control_type(key: Option<&[u8]>) -> ControlType {
    ControlType::parse_key(key.unwrap_or_default()).unwrap_or(ControlType::Other(-1))
}
