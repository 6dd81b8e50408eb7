//! Records an appended batch in the producer state: after the write, in recovery, and for every replicated batch.

use super::entry::{BatchMetadata, ProducerEntry};
use super::state::ProducerState;
use base::place::Offset;
use index::AbortedTxn;
use record::{BatchHeader, ControlRecord, ControlType};

/// A transaction that a marker has ended; an aborted one belongs into the transaction index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedTxn {
    /// The producer.
    pub producer_id: i64,
    /// The offset of the transaction's first record on this partition.
    pub first_offset: Offset,
    /// The offset of the marker.
    pub last_offset: Offset,
    /// Aborted, not committed.
    pub is_aborted: bool,
    /// The last stable offset once the marker is replicated.
    pub last_stable_offset: Offset,
}

impl CompletedTxn {
    /// The entry of the transaction index; `None` for a committed transaction.
    pub fn aborted(self) -> Option<AbortedTxn> {
        self.is_aborted.then_some(AbortedTxn {
            producer_id: self.producer_id,
            first_offset: self.first_offset,
            last_offset: self.last_offset,
            last_stable_offset: self.last_stable_offset,
        })
    }
}

impl ProducerState {
    /// Records a batch that is in the log now, with its final offsets, and moves the map's end behind it. `control` is
    /// the first record of a control batch; an empty control batch (left by compaction) has none. Returns the
    /// transaction that a marker ended, if it had records in this partition.
    pub fn update(&mut self, header: &BatchHeader, control: Option<ControlRecord>) -> Option<CompletedTxn> {
        self.update_as_leader(header, control, 0)
    }

    /// As [`Self::update`], for a batch that was appended as the leader. `transaction_version` is the version of
    /// transactions that a marker was written for, 0 if it is not known.
    pub fn update_as_leader(
        &mut self,
        header: &BatchHeader,
        control: Option<ControlRecord>,
        transaction_version: i16,
    ) -> Option<CompletedTxn> {
        self.map_end_offset = header.next_offset();
        if !header.is_idempotent() {
            return None;
        }
        if header.is_transactional() {
            self.verifications.end(header, transaction_version);
        }
        match control {
            Some(control) if header.is_control() => self.end_transaction(header, control),
            None if header.is_control() => None,
            _ => {
                self.add_data(header);
                None
            }
        }
    }

    fn add_data(&mut self, header: &BatchHeader) {
        let entry = self.producers.entry(header.producer_id).or_insert(ProducerEntry::EMPTY);
        let batch = BatchMetadata {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        };
        entry.add_batch(header.producer_epoch, batch);
        if header.is_transactional() && entry.current_txn_first_offset.is_none() {
            entry.current_txn_first_offset = Some(header.base_offset);
            self.transactions.start(header.base_offset, header.producer_id);
        }
    }

    fn end_transaction(&mut self, header: &BatchHeader, control: ControlRecord) -> Option<CompletedTxn> {
        let is_aborted = match control.control_type {
            ControlType::Abort => true,
            ControlType::Commit => false,
            ControlType::Other(_) => return None,
        };
        let producer_id = header.producer_id;
        let entry = self.producers.entry(producer_id).or_insert(ProducerEntry::EMPTY);
        // A marker stands alone in its batch, so the batch's timestamp and base offset are the record's.
        let ended = entry.end_transaction(header.producer_epoch, control.coordinator_epoch, header.max_timestamp);
        let first_offset = ended?;
        let last_offset = header.base_offset;
        let last_stable_offset = self.transactions.last_stable_offset(producer_id, last_offset);
        self.transactions.complete(first_offset, last_offset);
        Some(CompletedTxn {
            producer_id,
            first_offset,
            last_offset,
            is_aborted,
            last_stable_offset,
        })
    }
}
