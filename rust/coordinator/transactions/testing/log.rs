//! What the logs of a [`World`] have, and batches of producers.

use std::sync::Arc;

use super::super::records::{read_key, read_value, write_key, write_value};
use super::{STATE_TOPIC, Transaction, World};
use crate::partition_for;
use crate::transactions::table::Producer;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::testing::{START_MS, row, transactional};
use broker::{INFLATE_LIMIT_BYTES, read_batches};
use record::{BatchBuilder, BatchHeader, Batches, Codec, ControlRecord, ControlType, Origin, Room};

/// A marker in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedMarker {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub is_commit: bool,
    pub coordinator_epoch: i32,
}

impl World {
    fn log_bytes(&self, topic: &str, index: i32) -> Vec<u8> {
        let partition = self.partition(topic, index);
        let (mut next, end) = (Offset(0), partition.offsets().log_end());
        let (mut all, mut bytes) = (Vec::new(), Vec::new());
        while next < end {
            read_batches(&partition, next, end, 1 << 20, &mut bytes).unwrap();
            next = Batches::new(&bytes).last().unwrap().unwrap().header().next_offset();
            all.extend_from_slice(&bytes);
        }
        all
    }

    /// All markers in the log of a partition.
    pub fn markers(&self, topic: &str, index: i32) -> Vec<LoggedMarker> {
        let bytes = self.log_bytes(topic, index);
        let mut markers = Vec::new();
        for batch in Batches::new(&bytes).map(Result::unwrap) {
            if let Some(control) = ControlRecord::of_batch(&batch).unwrap() {
                markers.push(LoggedMarker {
                    producer_id: batch.header().producer_id,
                    producer_epoch: batch.header().producer_epoch,
                    is_commit: control.control_type == ControlType::Commit,
                    coordinator_epoch: control.coordinator_epoch,
                });
            }
        }
        markers
    }

    /// The records of a transactional id in the log of its partition; `None` is a tombstone.
    pub fn history(&self, transactional_id: &str) -> Vec<Option<Transaction>> {
        let bytes = self.log_bytes(STATE_TOPIC, home_of(transactional_id));
        let (mut records, mut scratch) = (Vec::new(), Vec::new());
        for batch in Batches::new(&bytes).map(Result::unwrap) {
            for record in batch.records(&mut scratch, INFLATE_LIMIT_BYTES).unwrap() {
                let record = record.unwrap();
                if read_key(record.key.unwrap()) == Ok(Some(transactional_id)) {
                    let value = record.value;
                    records.push(value.map(|value| read_value(value, |name: &str| Arc::from(name)).unwrap()));
                }
            }
        }
        records
    }

    /// The states that the records of a transactional id have, by name.
    pub fn states(&self, transactional_id: &str) -> Vec<&'static str> {
        let name = |value: Option<Transaction>| value.map_or("tombstone", |value| value.state.name());
        self.history(transactional_id).into_iter().map(name).collect()
    }

    /// Appends a record to the partition of a transactional id, as an earlier coordinator did.
    pub fn append_record(&self, transactional_id: &str, value: Option<&Transaction>) {
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        write_key(&mut key, transactional_id);
        if let Some(value) = value {
            write_value(&mut bytes, value, 2);
        }
        self.append_raw(home_of(transactional_id), &key, value.map(|_| &bytes[..]));
    }

    /// Appends any record to a partition of `__transaction_state`.
    pub fn append_raw(&self, index: i32, key: &[u8], value: Option<&[u8]>) {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(START_MS, Some(key), value, &[]);
        let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
        let partition = self.partition(STATE_TOPIC, index);
        partition.append(&mut batch, 1, Origin::Coordinator, START_MS).unwrap();
    }

    /// Writes a batch of one record of the producer's transaction, with the question to the coordinator left out.
    pub fn write(&self, topic: &str, index: i32, producer: Producer, sequence: i32) -> ErrorCode {
        let mut batch = transactional(producer.id, producer.epoch, sequence);
        let header = BatchHeader::parse(&batch).unwrap();
        let partition = self.partition(topic, index);
        let guard = match partition.begin_verification(&header, true, START_MS) {
            Ok(guard) => guard,
            Err(error) => return error.code(),
        };
        let done = partition.append_within(&mut batch, 1, guard, START_MS, &mut Room::unlimited());
        done.err().map_or(ErrorCode::NONE, |error| error.code())
    }

    /// Whether no transaction is open on a partition: readers of committed records see all that is replicated.
    pub fn is_stable(&self, topic: &str, index: i32) -> bool {
        let offsets = self.partition(topic, index).offsets().view();
        offsets.last_stable == offsets.high_watermark
    }
}

/// The partition of `__transaction_state` that keeps an id.
pub fn home_of(transactional_id: &str) -> i32 {
    partition_for(transactional_id, &row(STATE_TOPIC, [0; 16], 2))
}
