//! Produce v8, which brokers serve since Kafka 2.4. The request is written by hand around the batches, which are not
//! copied; the answer is read as what the table says.

use base::error::ErrorCode;
use protocol::messages::Message;
use protocol::messages::produce::{PartitionProduceResponse, ProduceResponse};
use protocol::{WireError, Writer};

pub(super) const KEY: i16 = 0;
pub(super) const VERSION: i16 = 8;

/// What a broker says of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) error: ErrorCode,
    /// Of its first record; -1 when it was refused.
    pub(super) base_offset: i64,
    /// The broker's sentence; empty without one.
    pub(super) message: String,
}

/// A writer of the fields around the batches.
pub(super) fn fields(frame: &mut Vec<u8>) -> Writer<'_> {
    Writer::new(frame, false)
}

/// The fields before the topics.
pub(super) fn put_head(
    frame: &mut Vec<u8>,
    transactional_id: Option<&str>,
    acks: i16,
    timeout_ms: i32,
    topic_count: usize,
) {
    let mut w = fields(frame);
    w.nullable_string(transactional_id);
    w.i16(acks);
    w.i32(timeout_ms);
    w.length(Some(topic_count));
}

/// The outcome of each batch, and for how long the broker wants no more requests, in ms.
pub(super) fn read(answer: &[u8]) -> Result<(Vec<Outcome>, u32), WireError> {
    let answer = ProduceResponse::decode(VERSION, answer)?;
    let outcomes = answer.responses.iter().flat_map(|topic| {
        let partitions = topic.partition_responses.iter();
        partitions.map(|partition| outcome(topic.name, partition))
    });
    let throttle_ms = u32::try_from(answer.throttle_time_ms).unwrap_or_default();
    Ok((outcomes.collect(), throttle_ms))
}

fn outcome(topic: &str, partition: &PartitionProduceResponse<'_>) -> Outcome {
    let of_record = partition
        .record_errors
        .iter()
        .find_map(|one| one.batch_index_error_message);
    Outcome {
        topic: topic.to_owned(),
        partition: partition.index,
        error: partition.error_code,
        base_offset: partition.base_offset,
        message: of_record.or(partition.error_message).unwrap_or_default().to_owned(),
    }
}
