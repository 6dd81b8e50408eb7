//! `ListOffsets`, versions 0 to 11. The answer of version 0, a list of offsets for each partition, is in `oldest`.
//!
//! ```text
//! request   := replica_id:i32 (v2+: isolation_level:i8) [name:string [partition] tags] (v10+: timeout_ms:i32) tags
//! partition := index:i32 (v4+: current_leader_epoch:i32) timestamp:i64 (v0: max_num_offsets:i32) tags
//! response  := (v2+: throttle_time_ms:i32) [name:string [result] tags] tags
//! result    := v1+: index:i32 error:i16 timestamp:i64 offset:i64 (v4+: leader_epoch:i32) tags
//! ```
//! Lengths are compact and tags are there from version 6 on.

mod oldest;

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::topic::TopicKey;
use super::writer::Writer;

pub use oldest::{OldestResult, encode_oldest_response};

/// The first version served.
pub const MIN_VERSION: i16 = 0;
/// The last version.
pub const MAX_VERSION: i16 = 11;
/// The last version whose rows ask for several offsets, and whose answer is that of [`encode_oldest_response`].
pub const SEVERAL_OFFSETS_UNTIL: i16 = 0;
const ISOLATION_FROM: i16 = 2;
const LEADER_EPOCH_FROM: i16 = 4;
const FLEXIBLE_FROM: i16 = 6;
const TIMEOUT_FROM: i16 = 10;
/// Index and timestamp.
const MIN_PARTITION_BYTES: usize = 12;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;

/// The special timestamps, and the first version that has each.
pub mod timestamp {
    /// The log's end, or with read committed the last stable offset.
    pub const LATEST: i64 = -1;
    /// The log's start.
    pub const EARLIEST: i64 = -2;
    /// The record with the highest timestamp (version 7, KIP-734).
    pub const MAX: i64 = -3;
    /// The first offset on local disk (version 8, KIP-405).
    pub const EARLIEST_LOCAL: i64 = -4;
    /// The last offset in remote storage (version 9, KIP-1005).
    pub const LATEST_TIERED: i64 = -5;
    /// The first offset not yet in remote storage (version 11, KIP-1023).
    pub const EARLIEST_PENDING_UPLOAD: i64 = -6;

    /// The first version in which `timestamp` may be asked for; `None` when no version has it.
    pub fn first_version(timestamp: i64) -> Option<i16> {
        match timestamp {
            LATEST | EARLIEST | 0.. => Some(super::MIN_VERSION),
            MAX => Some(7),
            EARLIEST_LOCAL => Some(8),
            LATEST_TIERED => Some(9),
            EARLIEST_PENDING_UPLOAD => Some(11),
            _ => None,
        }
    }
}

/// A decoded `ListOffsets` request; its vector is reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOffsetsRequest {
    /// -1 for a consumer, -2 for a debugging consumer, else the follower.
    pub replica_id: i32,
    /// 0 read uncommitted, 1 read committed; 0 before version 2.
    pub isolation_level: i8,
    /// How long remote storage may take; 0 before version 10.
    pub timeout_ms: i32,
    /// Every partition, in the request's order.
    pub partitions: Vec<ListOffsetsPartition>,
}

/// One partition of a `ListOffsets` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOffsetsPartition {
    /// Its topic, always by name.
    pub topic: TopicKey,
    /// Whether a topic entry of the request starts here.
    pub first_of_topic: bool,
    /// The partition.
    pub index: i32,
    /// The leader epoch that the client knows, or -1.
    pub current_leader_epoch: i32,
    /// Milliseconds, or one of [`timestamp`].
    pub timestamp: i64,
    /// The most offsets that version 0 takes; 1 in later versions.
    pub max_num_offsets: i32,
}

/// The result for one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOffsetsResult {
    /// 0 also when no offset was found: then the other fields are -1.
    pub error: ErrorCode,
    /// The found record's timestamp, or -1.
    pub timestamp: i64,
    /// The found offset, or -1.
    pub offset: i64,
    /// The leader epoch of the found record, or -1.
    pub leader_epoch: i32,
}

impl ListOffsetsResult {
    /// A result without an offset: an error, or no offset found.
    pub fn nothing(error: ErrorCode) -> Self {
        Self {
            error,
            timestamp: -1,
            offset: -1,
            leader_epoch: -1,
        }
    }
}

impl ListOffsetsRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.partitions.clear();
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        self.replica_id = reader.i32()?;
        self.isolation_level = if version >= ISOLATION_FROM { reader.i8()? } else { 0 };
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            self.decode_topic(&mut reader, version)?;
        }
        self.timeout_ms = if version >= TIMEOUT_FROM { reader.i32()? } else { 0 };
        reader.skip_tags()
    }

    fn decode_topic(&mut self, reader: &mut Reader<'_>, version: i16) -> Result<(), WireError> {
        let topic = reader.topic_key(false)?;
        let count = reader.count(MIN_PARTITION_BYTES)?;
        if count > MAX_ROWS - self.partitions.len() {
            return Err(WireError::TooManyElements);
        }
        for nth in 0..count {
            self.partitions.push(ListOffsetsPartition {
                topic: topic.clone(),
                first_of_topic: nth == 0,
                index: reader.i32()?,
                current_leader_epoch: if version >= LEADER_EPOCH_FROM {
                    reader.i32()?
                } else {
                    -1
                },
                timestamp: reader.i64()?,
                max_num_offsets: if version <= SEVERAL_OFFSETS_UNTIL {
                    reader.i32()?
                } else {
                    1
                },
            });
            reader.skip_tags()?;
        }
        reader.skip_tags()
    }
}

/// Appends a response body. `request` is `body` as [`ListOffsetsRequest::decode`] decoded it; `results` has one entry
/// for each partition of the request, in order.
pub fn encode_list_offsets_response(
    out: &mut Vec<u8>,
    version: i16,
    body: &[u8],
    request: &ListOffsetsRequest,
    results: &[ListOffsetsResult],
    throttle_time_ms: i32,
) {
    debug_assert_eq!(request.partitions.len(), results.len(), "one result for each partition");
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.reserve(32 + results.len() * 32);
    if version >= ISOLATION_FROM {
        w.i32(throttle_time_ms);
    }
    let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic);
    w.length(Some(topics.clone().count()));
    let mut results = results.iter();
    for partitions in topics {
        w.string(name_of(partitions, body));
        w.length(Some(partitions.len()));
        for (partition, result) in partitions.iter().zip(&mut results) {
            w.i32(partition.index);
            w.i16(result.error.0);
            w.i64(result.timestamp);
            w.i64(result.offset);
            if version >= LEADER_EPOCH_FROM {
                w.i32(result.leader_epoch);
            }
            w.no_tags();
        }
        w.no_tags();
    }
    w.no_tags();
}

/// The name of the topic that these rows of a request belong to.
fn name_of<'a>(partitions: &[ListOffsetsPartition], body: &'a [u8]) -> &'a str {
    let first = partitions.first();
    first.and_then(|first| first.topic.name(body)).unwrap_or_default()
}

/// The version that followers use.
pub const FOLLOWER_VERSION: i16 = 7;

/// Appends a follower's request for one partition's start or end.
pub fn encode_follower_request(
    out: &mut Vec<u8>,
    replica_id: i32,
    (topic, index): (&str, i32),
    current_leader_epoch: i32,
    timestamp: i64,
) {
    let mut w = Writer::new(out, true);
    w.i32(replica_id);
    w.raw(&[0]);
    w.length(Some(1));
    w.string(topic);
    w.length(Some(1));
    w.i32(index);
    w.i32(current_leader_epoch);
    w.i64(timestamp);
    w.no_tags();
    w.no_tags();
    w.no_tags();
}

/// The one result of a response to [`encode_follower_request`].
pub fn decode_follower_response(body: &[u8]) -> Result<ListOffsetsResult, WireError> {
    let mut reader = Reader::new(body, true);
    let _throttle_time_ms = reader.i32()?;
    let mut result = ListOffsetsResult::nothing(ErrorCode::UNKNOWN_SERVER_ERROR);
    for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
        let _name = reader.string()?;
        for _ in 0..reader.count(MIN_PARTITION_BYTES)? {
            let _index = reader.i32()?;
            result = ListOffsetsResult {
                error: ErrorCode(reader.i16()?),
                timestamp: reader.i64()?,
                offset: reader.i64()?,
                leader_epoch: reader.i32()?,
            };
            reader.skip_tags()?;
        }
        reader.skip_tags()?;
    }
    reader.skip_tags()?;
    Ok(result)
}

#[cfg(test)]
mod tests;
