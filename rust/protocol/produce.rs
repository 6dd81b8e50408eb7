//! Produce, versions 0 to 13. Versions 0 to 2 carry message sets of the formats before record batches.
//!
//! ```text
//! request   := (v3+: transactional_id:nullable_string) acks:i16 timeout_ms:i32 [topic] tags
//! topic     := (name:string | v13: id:uuid) [index:i32 records:nullable_bytes tags] tags
//! response  := [(name | id) [partition] tags] (v1+: throttle_time_ms:i32) tags(v10+: 0 = node endpoints)
//! partition := index:i32 error:i16 base_offset:i64 (v2+: log_append_time_ms:i64) (v5+: log_start_offset:i64)
//!              (v8+: record_errors:[batch_index:i32 message:nullable_string tags] error_message:nullable_string)
//!              tags(v10+: 0 = current_leader: leader_id:i32 leader_epoch:i32 tags)
//! ```
//! Lengths are compact and tags are there from version 9 on. Record bytes are not read here.

use std::ops::Range;

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::topic::{NodeEndpoint, TopicKey};
use super::writer::Writer;

/// The first version served.
pub const MIN_VERSION: i16 = 0;
/// The last version.
pub const MAX_VERSION: i16 = 13;
/// From this version on records are batches of magic 2; before, they are message sets of magic 0 or 1.
pub const BATCHES_FROM: i16 = 3;
const THROTTLE_FROM: i16 = 1;
const APPEND_TIME_FROM: i16 = 2;
const TRANSACTIONAL_ID_FROM: i16 = 3;
/// From this version on lengths are compact, and there are tagged fields.
pub const FLEXIBLE_FROM: i16 = 9;
const LOG_START_FROM: i16 = 5;
const RECORD_ERRORS_FROM: i16 = 8;
const LEADER_FROM: i16 = 10;
const TOPIC_ID_FROM: i16 = 13;
/// Index and a records length, the least of both encodings.
const MIN_PARTITION_BYTES: usize = 5;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;

/// A decoded Produce request; its vector is reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProduceRequest {
    /// The position of the transactional id in the body.
    pub transactional_id: Option<Range<usize>>,
    /// 0, 1 or -1; the broker refuses other values.
    pub acks: i16,
    /// How long to wait for replicas.
    pub timeout_ms: i32,
    /// Every partition, in the request's order; a topic without partitions is ignored, as in Kafka.
    pub partitions: Vec<ProducePartition>,
}

/// One partition of a Produce request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducePartition {
    /// Its topic.
    pub topic: TopicKey,
    /// Whether a topic entry of the request starts here.
    pub first_of_topic: bool,
    /// The partition.
    pub index: i32,
    /// The position of the batches in the body; `None` when null.
    pub records: Option<Range<usize>>,
}

/// The result of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceResult {
    /// 0 when appended.
    pub error: ErrorCode,
    /// The first record's offset, or -1.
    pub base_offset: i64,
    /// The append time with `LogAppendTime`, else -1.
    pub log_append_time_ms: i64,
    /// The log's start, or -1.
    pub log_start_offset: i64,
    /// The invalid records: index in the batch, and the reason.
    pub record_errors: Vec<(i32, String)>,
    /// One sentence on the error.
    pub error_message: Option<String>,
    /// Leader id and epoch, with `NOT_LEADER_OR_FOLLOWER` (KIP-951).
    pub current_leader: Option<(i32, i32)>,
}

impl ProduceResult {
    /// A refusal: every offset is -1.
    pub fn refused(error: ErrorCode, error_message: Option<String>) -> Self {
        Self {
            error,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message,
            current_leader: None,
        }
    }
}

impl ProduceRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.partitions.clear();
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        self.transactional_id = if version >= TRANSACTIONAL_ID_FROM {
            reader.nullable_string()?
        } else {
            None
        };
        self.acks = reader.i16()?;
        self.timeout_ms = reader.i32()?;
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            self.decode_topic(&mut reader, version)?;
        }
        reader.skip_tags()
    }

    fn decode_topic(&mut self, reader: &mut Reader<'_>, version: i16) -> Result<(), WireError> {
        let topic = reader.topic_key(version >= TOPIC_ID_FROM)?;
        let count = reader.count(MIN_PARTITION_BYTES)?;
        if count > MAX_ROWS - self.partitions.len() {
            return Err(WireError::TooManyElements);
        }
        for nth in 0..count {
            let index = reader.i32()?;
            let records = reader.nullable_bytes()?;
            reader.skip_tags()?;
            self.partitions.push(ProducePartition {
                topic: topic.clone(),
                first_of_topic: nth == 0,
                index,
                records,
            });
        }
        reader.skip_tags()
    }
}

/// Appends a response body. `request` is `body` as [`ProduceRequest::decode`] decoded it; `results` has one entry for
/// each partition of the request, in order.
pub fn encode_produce_response(
    out: &mut Vec<u8>,
    version: i16,
    body: &[u8],
    request: &ProduceRequest,
    results: &[ProduceResult],
    node_endpoints: &[NodeEndpoint<'_>],
    throttle_time_ms: i32,
) {
    debug_assert_eq!(request.partitions.len(), results.len(), "one result for each partition");
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.reserve(32 + results.len() * 48);
    let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic);
    w.length(Some(topics.clone().count()));
    let mut results = results.iter();
    for partitions in topics {
        if let Some(first) = partitions.first() {
            write_topic(&mut w, body, &first.topic);
        }
        w.length(Some(partitions.len()));
        for (partition, result) in partitions.iter().zip(&mut results) {
            write_partition(&mut w, version, partition.index, result);
        }
        w.no_tags();
    }
    if version >= THROTTLE_FROM {
        w.i32(throttle_time_ms);
    }
    w.node_endpoints(if version >= LEADER_FROM { node_endpoints } else { &[] });
}

fn write_topic(w: &mut Writer<'_>, body: &[u8], topic: &TopicKey) {
    match topic {
        TopicKey::Name(range) => w.string_bytes(body.get(range.clone()).unwrap_or_default()),
        TopicKey::Id(id) => w.raw(id),
    }
}

#[inline]
fn write_partition(w: &mut Writer<'_>, version: i16, index: i32, result: &ProduceResult) {
    // One copy for the fields of fixed width instead of one for each.
    let mut fixed = [0; 30];
    fixed[..4].copy_from_slice(&index.to_be_bytes());
    fixed[4..6].copy_from_slice(&result.error.0.to_be_bytes());
    fixed[6..14].copy_from_slice(&result.base_offset.to_be_bytes());
    fixed[14..22].copy_from_slice(&result.log_append_time_ms.to_be_bytes());
    fixed[22..].copy_from_slice(&result.log_start_offset.to_be_bytes());
    w.raw(match version {
        LOG_START_FROM.. => &fixed,
        APPEND_TIME_FROM.. => &fixed[..22],
        _ => &fixed[..14],
    });
    if version >= RECORD_ERRORS_FROM {
        w.length(Some(result.record_errors.len()));
        for (batch_index, message) in &result.record_errors {
            w.i32(*batch_index);
            w.nullable_string(Some(message));
            w.no_tags();
        }
        w.nullable_string(result.error_message.as_deref());
    }
    match result.current_leader {
        Some((leader_id, leader_epoch)) if version >= LEADER_FROM => {
            w.tag_count(1);
            w.tag(0, |w| {
                w.i32(leader_id);
                w.i32(leader_epoch);
                w.no_tags();
            });
        }
        _ => w.no_tags(),
    }
}
