//! The control plane's calls on a partition: its row of the metrics, its producers, and the deletion of records.

use std::sync::Arc;

use super::{IsrSize, Partition};
use crate::figures::PartitionFigures;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use storage::producer_state::ProducerEntry;

/// A producer, as `DescribeProducers` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerDescription {
    /// Producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// Sequence of its last record, -1 for none.
    pub last_sequence: i32,
    /// Timestamp of its last batch, ms.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that wrote its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// Where its ongoing transaction begins, -1 for none.
    pub current_transaction_start_offset: Offset,
}

impl Partition {
    /// Its row of the metrics, and its replicas if this broker leads it.
    pub fn figures(&self) -> (PartitionFigures, Option<IsrSize>) {
        let (size, segments, min_insync_replicas) = {
            let log = self.log.lock();
            (log.size_bytes(), log.segment_count(), log.config().min_insync_replicas)
        };
        let offsets = self.offsets();
        let row = PartitionFigures {
            topic: Arc::clone(&self.topic),
            index: self.index,
            size,
            log_start: offsets.log_start,
            log_end: offsets.log_end,
            segments,
        };
        let lease = self.leadership.lease();
        let led = self.leadership.led(lease.as_ref());
        (row, led.map(|lease| IsrSize::of(lease, min_insync_replicas)))
    }

    /// Producers with state in this log.
    pub fn describe_producers(&self) -> Result<Vec<ProducerDescription>> {
        self.leading(LeaderEpoch::NONE)?;
        let log = self.log.lock();
        let describe = |(id, entry): (i64, &ProducerEntry)| ProducerDescription {
            producer_id: id,
            producer_epoch: i32::from(entry.producer_epoch),
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_transaction_start_offset: entry.current_txn_first_offset.unwrap_or(Offset::NONE),
        };
        Ok(log.producers().active_producers().map(describe).collect())
    }

    /// The highest producer id that this log knows.
    pub fn highest_producer_id(&self) -> Option<i64> {
        self.log.lock().producers().highest_producer_id()
    }

    /// Moves the log start (`DeleteRecords`); -1 means the high watermark. Returns the new log start, which the
    /// low watermark reaches when all replicas have taken it over.
    pub fn delete_records(&self, before_offset: Offset) -> Result<Offset> {
        self.leading(LeaderEpoch::NONE)?;
        if !self.log.lock().config().is_deleted {
            return Err(Error::rejected(
                ErrorCode::POLICY_VIOLATION,
                format!(
                    "records of {}-{} are compacted, not deleted (cleanup.policy)",
                    self.topic, self.index
                ),
            ));
        }
        let high_watermark = self.offsets.high_watermark();
        let target = if before_offset == Offset::NONE {
            high_watermark
        } else {
            before_offset
        };
        if target.is_none() || target > high_watermark {
            return Err(Error::rejected(
                ErrorCode::OFFSET_OUT_OF_RANGE,
                format!(
                    "{target} is not between 0 and the high watermark {high_watermark} of {}-{}",
                    self.topic, self.index
                ),
            ));
        }
        self.log.lock().advance_log_start_offset(target, high_watermark)?;
        self.refresh();
        Ok(target)
    }
}
