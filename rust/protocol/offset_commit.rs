//! `OffsetCommit`, versions 0 to 10.
//!
//! ```text
//! request   := group_id:string (v1+: generation_id:i32 member_id:string) (v7+: group_instance_id:nullable)
//!              (v2-4: retention_time_ms:i64) [topic] tags
//! topic     := (v0-9: name:string) (v10+: topic_id:uuid) [partition] tags
//! partition := index:i32 offset:i64 (v6+: leader_epoch:i32) (v1: commit_timestamp:i64) metadata:nullable tags
//! response  := (v3+: throttle_time_ms:i32) [committed] tags
//! committed := (v0-9: name:string) (v10+: topic_id:uuid) [index:i32 error:i16 tags] tags
//! ```
//! Lengths are compact and tags are there from version 8 on.

use std::ops::Range;

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::topic::TopicKey;
use super::writer::Writer;

/// The first version served.
pub const MIN_VERSION: i16 = 0;
/// The last version.
pub const MAX_VERSION: i16 = 10;
/// Version 0 names no member: its commits are those of a consumer without a group.
const MEMBER_FROM: i16 = 1;
/// The only version whose rows have the time of their commit.
const COMMIT_TIMESTAMP_VERSION: i16 = 1;
const RETENTION_FROM: i16 = 2;
const THROTTLE_FROM: i16 = 3;
const RETENTION_UNTIL: i16 = 4;
const LEADER_EPOCH_FROM: i16 = 6;
const INSTANCE_FROM: i16 = 7;
const FLEXIBLE_FROM: i16 = 8;
const TOPIC_ID_FROM: i16 = 10;
/// From this version on clients know `GROUP_ID_NOT_FOUND`.
pub const GROUP_ID_NOT_FOUND_FROM: i16 = 9;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;
/// Index, offset and an empty metadata.
const MIN_PARTITION_BYTES: usize = 13;
/// The retention time that means the broker's own setting.
pub const DEFAULT_RETENTION: i64 = -1;
const NO_LEADER_EPOCH: i32 = -1;
const NO_GENERATION: i32 = -1;
/// The time of a commit that means the time at which the broker takes it.
pub const TIME_OF_ARRIVAL: i64 = -1;

/// One offset to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPartition {
    /// The partition.
    pub index: i32,
    /// The offset to commit.
    pub offset: i64,
    /// The leader epoch of the last record read, or -1.
    pub leader_epoch: i32,
    /// The time of the commit in ms, or [`TIME_OF_ARRIVAL`].
    pub commit_timestamp: i64,
    /// The position of the client's metadata text in the body.
    pub metadata: Option<Range<usize>>,
}

/// A topic and its rows of [`OffsetCommitRequest::partitions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitTopic {
    /// By name before version 10, by id from then on.
    pub topic: TopicKey,
    /// Its rows.
    pub rows: Range<usize>,
}

/// A decoded `OffsetCommit` request; its vectors are reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffsetCommitRequest {
    /// The position of the group's id in the body.
    pub group_id: Range<usize>,
    /// The generation that the member is in; negative without one.
    pub generation_id: i32,
    /// The position of the member's id; empty without a member id.
    pub member_id: Range<usize>,
    /// The position of a static member's instance id.
    pub group_instance_id: Option<Range<usize>>,
    /// How long the offsets are kept, or [`DEFAULT_RETENTION`].
    pub retention_time_ms: i64,
    /// Its topics, in order.
    pub topics: Vec<CommitTopic>,
    /// The partitions of all topics, in order.
    pub partitions: Vec<CommitPartition>,
}

impl OffsetCommitRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.topics.clear();
        self.partitions.clear();
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        self.group_id = reader.string()?;
        (self.generation_id, self.member_id) = if version >= MEMBER_FROM {
            (reader.i32()?, reader.string()?)
        } else {
            (NO_GENERATION, 0..0)
        };
        self.group_instance_id = if version >= INSTANCE_FROM {
            reader.nullable_string()?
        } else {
            None
        };
        self.retention_time_ms = if (RETENTION_FROM..=RETENTION_UNTIL).contains(&version) {
            reader.i64()?
        } else {
            DEFAULT_RETENTION
        };
        let layout = Layout {
            has_topic_id: version >= TOPIC_ID_FROM,
            has_leader_epoch: version >= LEADER_EPOCH_FROM,
            has_commit_timestamp: version == COMMIT_TIMESTAMP_VERSION,
        };
        layout.decode_topics(&mut reader, &mut self.topics, &mut self.partitions)?;
        reader.skip_tags()
    }
}

/// The fields of a commit's topics and partitions that depend on the version, also for `TxnOffsetCommit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Whether topics are named by id.
    pub(super) has_topic_id: bool,
    /// Whether partitions have a leader epoch.
    pub(super) has_leader_epoch: bool,
    /// Whether partitions have the time of their commit.
    pub(super) has_commit_timestamp: bool,
}

impl Layout {
    /// Decodes the array of topics and appends them and their partitions.
    pub(super) fn decode_topics(
        self,
        reader: &mut Reader<'_>,
        topics: &mut Vec<CommitTopic>,
        partitions: &mut Vec<CommitPartition>,
    ) -> Result<(), WireError> {
        let count = reader.count(MIN_TOPIC_BYTES)?;
        if count > MAX_ROWS {
            return Err(WireError::TooManyElements);
        }
        for _ in 0..count {
            topics.push(self.decode_topic(reader, partitions)?);
        }
        Ok(())
    }

    fn decode_topic(
        self,
        reader: &mut Reader<'_>,
        partitions: &mut Vec<CommitPartition>,
    ) -> Result<CommitTopic, WireError> {
        let topic = reader.topic_key(self.has_topic_id)?;
        let count = reader.count(MIN_PARTITION_BYTES)?;
        if count > MAX_ROWS - partitions.len() {
            return Err(WireError::TooManyElements);
        }
        let start = partitions.len();
        for _ in 0..count {
            partitions.push(CommitPartition {
                index: reader.i32()?,
                offset: reader.i64()?,
                leader_epoch: if self.has_leader_epoch {
                    reader.i32()?
                } else {
                    NO_LEADER_EPOCH
                },
                commit_timestamp: if self.has_commit_timestamp {
                    reader.i64()?
                } else {
                    TIME_OF_ARRIVAL
                },
                metadata: reader.nullable_string()?,
            });
            reader.skip_tags()?;
        }
        reader.skip_tags()?;
        Ok(CommitTopic {
            topic,
            rows: start..partitions.len(),
        })
    }
}

/// Appends a response body: the error of each partition, `errors` in the order of the request's rows. With `places` it
/// returns the position of each error in `out`, so that an error can be changed until the body is sent.
pub fn encode_offset_commit_response(
    out: &mut Vec<u8>,
    version: i16,
    body: &[u8],
    request: &OffsetCommitRequest,
    errors: &[ErrorCode],
    places: Option<&mut Vec<usize>>,
) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    if version >= THROTTLE_FROM {
        w.i32(0);
    }
    encode_committed(&mut w, body, (&request.topics, &request.partitions), errors, places);
    w.no_tags();
}

/// Appends the array of committed topics, which `OffsetCommit` and `TxnOffsetCommit` share: the error of each
/// partition, and in `places` the position of each error.
pub(super) fn encode_committed(
    w: &mut Writer<'_>,
    body: &[u8],
    (topics, partitions): (&[CommitTopic], &[CommitPartition]),
    errors: &[ErrorCode],
    mut places: Option<&mut Vec<usize>>,
) {
    debug_assert_eq!(partitions.len(), errors.len(), "one error for each partition");
    w.length(Some(topics.len()));
    for topic in topics {
        match &topic.topic {
            TopicKey::Name(_) => w.string(topic.topic.name(body).unwrap_or_default()),
            TopicKey::Id(id) => w.raw(id),
        }
        w.length(Some(topic.rows.len()));
        for at in topic.rows.clone() {
            let (Some(row), Some(error)) = (partitions.get(at), errors.get(at)) else {
                continue;
            };
            w.i32(row.index);
            if let Some(places) = &mut places {
                places.push(w.out().len());
            }
            w.i16(error.0);
            w.no_tags();
        }
        w.no_tags();
    }
}

#[cfg(test)]
#[path = "offset_commit_tests.rs"]
mod tests;
