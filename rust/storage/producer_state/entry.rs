//! The state that a partition keeps for one producer.
//!
//! Invariant: `batches` are of `producer_epoch`, oldest first, at most [`BATCHES_TO_RETAIN`]. Fixed size, no heap.

use base::place::Offset;

/// How many of a producer's last batches are kept to recognise retries; clients keep at most as many in flight.
pub const BATCHES_TO_RETAIN: usize = 5;
/// No producer epoch.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// No sequence.
pub const NO_SEQUENCE: i32 = -1;

/// One appended batch of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMetadata {
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Last offset less first offset.
    pub offset_delta: i32,
    /// The batch's greatest timestamp, in ms.
    pub timestamp: i64,
}

impl BatchMetadata {
    pub(super) const NONE: Self = Self {
        last_sequence: NO_SEQUENCE,
        last_offset: Offset::NONE,
        offset_delta: 0,
        timestamp: -1,
    };

    /// Sequence of its first record; counting back from 0 wraps to `i32::MAX`.
    pub const fn first_sequence(&self) -> i32 {
        self.last_sequence.wrapping_sub(self.offset_delta) & i32::MAX
    }

    /// Offset of its first record.
    pub const fn first_offset(&self) -> Offset {
        Offset(self.last_offset.get().wrapping_sub(self.offset_delta as i64))
    }
}

/// The last batches of a producer, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentBatches {
    slots: [BatchMetadata; BATCHES_TO_RETAIN],
    len: usize,
}

impl RecentBatches {
    /// None yet.
    pub const EMPTY: Self = Self {
        slots: [BatchMetadata::NONE; BATCHES_TO_RETAIN],
        len: 0,
    };

    /// The batches, oldest first.
    pub fn as_slice(&self) -> &[BatchMetadata] {
        self.slots.get(..self.len).unwrap_or_default()
    }

    /// The newest batch.
    pub fn last(&self) -> Option<&BatchMetadata> {
        self.as_slice().last()
    }

    /// Adds a batch; the oldest goes when all slots are taken.
    pub fn push(&mut self, batch: BatchMetadata) {
        if self.len == BATCHES_TO_RETAIN {
            self.slots.rotate_left(1);
            self.len -= 1;
        }
        if let Some(slot) = self.slots.get_mut(self.len) {
            *slot = batch;
            self.len += 1;
        }
    }
}

/// The state of one producer id on one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerEntry {
    /// The epoch of its last append; [`NO_PRODUCER_EPOCH`] before any.
    pub producer_epoch: i16,
    /// The epoch of the coordinator that wrote the producer's last marker; −1 before any.
    pub coordinator_epoch: i32,
    /// Timestamp of the last append, in ms.
    pub last_timestamp: i64,
    /// First offset of its open transaction.
    pub current_txn_first_offset: Option<Offset>,
    /// Its last batches.
    pub batches: RecentBatches,
}

impl ProducerEntry {
    /// A producer that has not written here.
    pub const EMPTY: Self = Self {
        producer_epoch: NO_PRODUCER_EPOCH,
        coordinator_epoch: -1,
        last_timestamp: -1,
        current_txn_first_offset: None,
        batches: RecentBatches::EMPTY,
    };

    /// Sequence of the last record; [`NO_SEQUENCE`] without a batch of this epoch.
    pub fn last_sequence(&self) -> i32 {
        self.batches.last().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    /// Offset of the last record; −1 without a batch of this epoch.
    pub fn last_data_offset(&self) -> Offset {
        self.batches.last().map_or(Offset::NONE, |batch| batch.last_offset)
    }

    /// Offset delta of the last batch; 0 without one.
    pub fn last_offset_delta(&self) -> i32 {
        self.batches.last().map_or(0, |batch| batch.offset_delta)
    }

    /// The kept batch with exactly this epoch and these sequences.
    pub fn find_duplicate(&self, epoch: i16, first_sequence: i32, last_sequence: i32) -> Option<BatchMetadata> {
        if epoch != self.producer_epoch {
            return None;
        }
        let is_same =
            |batch: &&BatchMetadata| batch.last_sequence == last_sequence && batch.first_sequence() == first_sequence;
        self.batches.as_slice().iter().find(is_same).copied()
    }

    /// This entry with the batches of `earlier`, an entry of the same producer, before its own, if both have the same
    /// epoch.
    pub(super) fn after(mut self, earlier: &Self) -> Self {
        if earlier.producer_epoch == self.producer_epoch {
            let mut batches = earlier.batches;
            self.batches.as_slice().iter().for_each(|batch| batches.push(*batch));
            self.batches = batches;
        }
        self
    }

    /// Notes an appended batch.
    pub fn add_batch(&mut self, epoch: i16, batch: BatchMetadata) {
        self.set_epoch(epoch);
        self.batches.push(batch);
        self.last_timestamp = batch.timestamp;
    }

    /// Notes a transaction marker and returns the first offset of the transaction that it ends.
    pub fn end_transaction(&mut self, epoch: i16, coordinator_epoch: i32, timestamp: i64) -> Option<Offset> {
        self.set_epoch(epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.last_timestamp = timestamp;
        self.current_txn_first_offset.take()
    }

    /// Sets the epoch. A new epoch starts sequences anew, so the batches of the old epoch are dropped.
    fn set_epoch(&mut self, epoch: i16) {
        if self.producer_epoch != epoch {
            self.producer_epoch = epoch;
            self.batches = RecentBatches::EMPTY;
        }
    }
}
